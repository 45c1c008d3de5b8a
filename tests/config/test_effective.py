"""What the configuration comes to, where each value comes from, and in which line something wrong stands."""

from __future__ import annotations

import tomllib

import pytest

from cronoq_cli.config.effective import Changes, list_values
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.config.written import format_toml, plain_table
from cronoq_cli.errors import InvalidError

TEXT = """\
[daemon]
log_level = "debug"
[pools.default]
workers = 4
backoff = "fixed:30s"
[pools.default.autoscale]
interval = "1m30s"
slo = { high = 10 }
[pools.batch]
workers = { min = 1, max = 3 }
rlimits = { nofile = "unlimited" }
max_pending = "none"
[[pools.batch.groups]]
labels = { gpu = "yes" }
workers = 2
[resources.api]
rate = "5/m"
[resources."disk"]
permits = 1
[logs]
min_free = "64MiB"
"""


def find_all(changes: Changes | None = None) -> dict[str, tuple[object, str]]:
    values = list_values(parse_settings(TEXT.encode(), "x"), tomllib.loads(TEXT), changes or Changes())
    return {value.place: (value.value, value.source) for value in values}


def test_values_are_as_the_file_could_have_them_with_their_source() -> None:
    found = find_all()
    assert found["daemon.log_level"] == ("debug", "file")
    assert found["daemon.stop_timeout"] == ("30s", "default")
    assert found["daemon.total_workers"] == (None, "default")
    assert found["pools.default.workers"] == (4, "file")
    assert found["pools.default.backoff"] == ("fixed:30s", "file")
    assert found["pools.default.autoscale.interval"] == ("1m30s", "file")
    assert found["pools.default.autoscale.slo"] == ({"high": "10s"}, "file")
    assert found["pools.default.autoscale.cooldown"] == ("30s", "default")
    assert found["pools.batch.workers"] == ({"min": 1, "max": 3}, "file")
    assert found["pools.batch.rlimits"] == ({"nofile": "unlimited"}, "file")
    assert found["pools.batch.groups"] == ([{"labels": {"gpu": "yes"}, "workers": 2, "shared": False}], "file")
    assert found["resources.api.rate"] == ("5/m", "file")
    assert found["logs.min_free"] == ("64MiB", "file")


def test_what_a_command_changed_says_so_and_only_that() -> None:
    changes = Changes(
        pools={"batch": {"workers": 7, "max_pending": None}, "gone": {"workers": 1}, "default": {"workers": "many"}},
        resources={"api": {"rate_s": 2.0}, "disk": {"rate_s": 1.0}},
    )
    found = find_all(changes)
    assert found["pools.batch.workers"] == (7, "command")
    assert found["pools.batch.max_pending"] == ("none", "command")
    assert found["pools.batch.rlimits"][1] == "file"
    assert found["pools.default.workers"] == (4, "file"), "what fits no more counts no more"
    assert found["resources.api.rate"] == ("2/s", "command")
    assert found["resources.disk.permits"] == (1, "file")


def test_every_table_can_be_written_and_read_again() -> None:
    settings = parse_settings(TEXT.encode(), "x")
    text = "\n".join(f"{key} = {format_toml(value)}" for key, value in plain_table(settings).items())
    assert parse_settings(text.encode(), "again") == settings


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[daemon]\nautostart = true\nautostrat = true\n", 3),
        ("[pools.a]\nworkers = 1\n[pools.b]\nwrokers = 1\n", 4),
        ("pools = { a = { wrokers = 1 } }\n", 1),
        ("# one\n[pools.'odd']\n\nworkers = -1\n", 4),
        (
            "[pools.a]\n[[pools.a.groups]]\nlabels={a='b'}\nworkers=1\n[[pools.a.groups]]\nlabels={}\nworkers=1",
            5,
        ),
        ("[daemno]\n", 1),
        ("[groups.mail]\ncommand = 'x'\npool = 'nowhere'\n", 3),
        ("[pools.default]\nlimits.max_load = 0\n", 2),
        ("[daemon]\nlog_level = {}\n", 2),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidError, match=rf", in line {line}$"):
        parse_settings(text.encode(), "cfg")
