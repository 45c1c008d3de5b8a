"""What a configuration file means, and how a wrong one is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronoq_cli.config.loading import load_settings, parse_settings
from cronoq_cli.config.settings import Settings
from cronoq_cli.errors import ExitStatus, InvalidError
from cronoq_cli.model.task import Backoff, OnLost


def read(text: str) -> Settings:
    return parse_settings(text.encode(), "config.toml")


def refusal(text: str) -> str:
    with pytest.raises(InvalidError) as caught:
        read(text)
    assert caught.value.exit == ExitStatus.INVALID
    return caught.value.line()


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    settings = load_settings(str(tmp_path / "none" / "config.toml"))
    assert settings == read("")
    assert settings.daemon.autostart
    assert settings.daemon.auto_upgrade
    assert settings.daemon.stop_timeout_s == 30
    assert settings.daemon.synchronous == "full"
    assert settings.pools["default"].workers == len(os.sched_getaffinity(0))
    assert settings.retention.succeeded_s == 7 * 86_400
    assert settings.retention.failed_s == 30 * 86_400
    assert settings.retention.dead_lettered_s == 90 * 86_400
    assert settings.retention.max_finished == 100_000
    assert settings.logs.min_free is None
    assert settings.priorities.critical == 10_000


def test_every_key_is_read() -> None:
    settings = read(
        """
        [daemon]
        autostart = false
        auto_upgrade = false
        stop_timeout = 2.5
        synchronous = "normal"
        log_level = "debug"
        [pools.net]
        workers = 0
        shell = "/bin/bash"
        backoff = "linear:1s..1m"
        retries = 3
        timeout = "2h"
        heartbeat = "30s"
        on_lost = "requeue"
        leftovers = "kill"
        await_deps = 60
        keep = "0s"
        rlimits = { nofile = 1024, as = "1GiB", core = "unlimited" }
        [retention]
        succeeded = "1d"
        failed = "2d"
        dead_lettered = "3d"
        max_finished = 5
        [logs]
        min_free = "1GiB"
        [priorities]
        low = 1
        normal = 2
        high = 3
        critical = 9000.5
        rate = 0.5
        cap = 10
        """
    )
    assert not settings.daemon.autostart
    assert (settings.daemon.stop_timeout_s, settings.daemon.log_level) == (2.5, "debug")
    net = settings.pools["net"]
    assert (net.workers, net.shell, net.retries, net.leftovers) == (0, "/bin/bash", 3, "kill")
    assert net.backoff == Backoff("linear", 1, 60)
    assert net.on_lost is OnLost.REQUEUE
    assert (net.timeout_s, net.heartbeat_s, net.await_deps_s, net.keep_s) == (7200, 30, 60, 0)
    assert net.rlimits == {"nofile": 1024, "as": 1 << 30, "core": -1}
    assert set(settings.pools) == {"net", "default"}
    assert (settings.retention.dead_lettered_s, settings.retention.max_finished) == (3 * 86_400, 5)
    assert settings.logs.min_free == 1 << 30
    assert (settings.priorities.critical, settings.priorities.rate) == (9000.5, 0.5)


@pytest.mark.parametrize(
    ("text", "place", "near"),
    [
        ("[daemn]", "daemn", "did you mean daemon?"),
        ("[pools.x]\nwrokers = 1", "pools.x.wrokers", "did you mean workers?"),
        ("[daemon]\nauto_start = true", "daemon.auto_start", "did you mean autostart?"),
        ("[pools.x]\nrlimits = { nofiles = 1 }", "pools.x.rlimits", "did you mean nofile?"),
        ("[pools.x]\non_lost = 'hol'", "pools.x.on_lost", "did you mean hold?"),
        ("[daemon]\nzzz = 1", "daemon.zzz", "known are: autostart"),
    ],
)
def test_an_unknown_name_is_refused_with_its_place_and_the_nearest(text: str, place: str, near: str) -> None:
    line = refusal(text)
    assert line.startswith(f"config.toml: {place}: ")
    assert near in line


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[pools.x]\nworkers = 'a'", "pools.x.workers"),
        ("[pools.x]\nworkers = true", "pools.x.workers"),
        ("[pools.x]\nworkers = -1", "pools.x.workers"),
        ("[pools.x]\nworkers = 1.5", "pools.x.workers"),
        ("[pools.x]\nworkers = 99999999999999999999999999", "pools.x.workers"),
        ("[pools.x]\nshell = 'bash'", "pools.x"),
        ("[pools.x]\ntimeout = 0", "pools.x.timeout"),
        ("[pools.x]\ntimeout = '5x'", "pools.x.timeout"),
        ("[pools.x]\nbackoff = 3", "pools.x.backoff"),
        ("[pools.x]\nbackoff = { kind = 'fixed' }", "pools.x.backoff"),
        ("[pools.x]\nrlimits = 3", "pools.x.rlimits"),
        ("[pools.x]\nrlimits = { nofile = -2 }", "pools.x.rlimits"),
        ("[pools]\nx = 1", "pools.x"),
        ("pools = 1", "pools"),
        ("daemon = []", "daemon"),
        ("[pools.'a b']", "pools"),
        ("[daemon]\nautostart = 1", "daemon.autostart"),
        ("[daemon]\nautostart = 'true'", "daemon.autostart"),
        ("[daemon]\nsynchronous = 'off'", "daemon.synchronous"),
        ("[daemon]\nstop_timeout = '-1s'", "daemon.stop_timeout"),
        ("[daemon]\nstop_timeout = nan", "daemon.stop_timeout"),
        ("[daemon]\nstop_timeout = 1979-05-27", "daemon.stop_timeout"),
        ("[retention]\nsucceeded = inf", "retention.succeeded"),
        ("[logs]\nmin_free = '1X'", "logs.min_free"),
        ("[logs]\nmin_free = true", "logs.min_free"),
        ("[priorities]\nrate = -1", "priorities.rate"),
        ("[priorities]\nrate = inf", "priorities.rate"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place_and_what_is_right(text: str, place: str) -> None:
    line = refusal(text)
    assert line.startswith(f"config.toml: {place}: ")
    assert line.endswith(")")
    assert "\n" not in line


def test_a_syntax_error_is_refused_with_its_line() -> None:
    assert "line 2" in refusal("[daemon]\nautostart = yes\n")
    assert "line 2" in refusal("[daemon]\n[daemon]\n")


def test_what_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidError, match="line 2 is not UTF-8"):
        parse_settings(b"[daemon]\n# \xff\n", "config.toml")


def test_priorities_that_let_something_pass_a_fresh_critical_are_refused() -> None:
    assert "fresh critical" in refusal("[priorities]\ncritical = 9800")
    assert read("[priorities]\ncritical = 9801").priorities.critical == 9801
    assert "fresh critical" in refusal("[priorities]\ncap = 1000")
    assert "must rise" in refusal("[priorities]\nlow = 100")


def test_a_pool_without_workers_has_one_for_each_cpu() -> None:
    assert read("[pools.x]").pools["x"].workers == len(os.sched_getaffinity(0))


def test_two_readings_share_no_state() -> None:
    read("[pools.x]\nworkers = 1")
    assert set(Settings().pools) == {"default"}


def test_a_configuration_that_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="cannot read"):
        load_settings(str(tmp_path))
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (2 << 20))
    with pytest.raises(InvalidError, match="larger than"):
        load_settings(str(large))


@given(st.binary(max_size=200))
def test_any_bytes_are_settings_or_an_invalid_configuration(content: bytes) -> None:
    try:
        settings = parse_settings(content, "config.toml")
    except InvalidError:
        return
    assert "default" in settings.pools


VALUES = st.sampled_from([True, False, -5, 0, 5, "1.5", "nan", "'1s'", "''", "[]", "{ a = 1 }", "1979-05-27"])
KEYS = st.sampled_from(
    [
        "workers",
        "shell",
        "backoff",
        "retries",
        "timeout",
        "keep",
        "on_lost",
        "leftovers",
        "rlimits",
        "heartbeat",
    ]
)


@given(KEYS, VALUES)
def test_a_value_of_any_kind_is_taken_or_refused_with_its_key(key: str, value: object) -> None:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        read(f"[pools.x]\n{key} = {text}")
    except InvalidError as error:
        assert "pools.x" in error.message
        assert error.hint
