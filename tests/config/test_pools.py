"""What the configuration says of pools, resources and gathering, and what commands change of it."""

from __future__ import annotations

import pytest

from cronoq_cli.config.live import (
    change_resource,
    override_pool,
    override_resource,
    parse_pool_changes,
)
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.config.pools import (
    AutoscaleSettings,
    GroupSettings,
    LimitSettings,
    PoolSettings,
    Size,
    WorkerRange,
)
from cronoq_cli.config.resources import GatherSettings, ResourceSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.errors import ExitStatus, InvalidError, UsageError

WHOLE = """
[pools.default]
workers = 8
[pools.batch]
workers = { min = 0, start = 2, max = 16 }
weight = 1
max_pending = 100000
overflow = "shed-lowest"
reservable_fraction = 0.25
max_hold = "4m"
default_duration = "30s"
fair_share = true
tenant_weights = { alice = 2, bob = 0.5 }
retries = 0
timeout = "2h"
[pools.batch.autoscale]
interval = "4s"
target_utilization = 0.7
drain_time = "2m"
cooldown = "20s"
stabilization_window = "50s"
max_step_up_ratio = 2.0
max_step_up_abs = 3
max_step_down = 2
slo = { high = "10s", normal = "2m" }
reservation_horizon = "6m"
ewma_alpha = 0.5
cost_per_worker_second = 0.01
[pools.batch.limits]
max_load = 1.5
min_free_memory = "1GiB"
max_memory_pressure = 20
[[pools.batch.groups]]
labels = { gpu = "yes" }
workers = 2
shared = false
[[pools.batch.groups]]
labels = { disk = "fast", zone = "b" }
workers = 1
shared = true
[resources.api]
rate = "10/s"
burst = 20
[resources.gpu]
permits = 2
[daemon]
total_workers = 16
share = "strict"
max_pending = 1000000
[groups.mail]
command = ["send-all"]
grace = "30s"
max_delay = "5m"
max_size = 10
pool = "batch"
"""


def read(text: str) -> Settings:
    return parse_settings(text.encode(), "config.toml")


def refusal(text: str) -> str:
    with pytest.raises(InvalidError) as caught:
        read(text)
    assert caught.value.exit == ExitStatus.INVALID
    return caught.value.line()


def test_every_key_of_a_pool_is_read() -> None:
    settings = read(WHOLE)
    batch = settings.pools["batch"]
    assert batch.workers == WorkerRange(min=0, start=2, max=16)
    assert batch.size == Size(0, 2, 16)
    assert settings.pools["default"].size == Size(8, 8, 8)
    assert (batch.weight, batch.max_pending, batch.overflow) == (1.0, 100_000, "shed-lowest")
    assert (batch.reservable_fraction, batch.max_hold_s, batch.default_duration_s) == (0.25, 240.0, 30.0)
    assert (batch.fair_share, batch.tenant_weights) == (True, {"alice": 2.0, "bob": 0.5})
    assert batch.autoscale == AutoscaleSettings(
        interval_s=4.0, target_utilization=0.7, drain_time_s=120.0, cooldown_s=20.0, stabilization_window_s=50.0,
        max_step_up_ratio=2.0, max_step_up_abs=3, max_step_down=2, slo_s={"high": 10.0, "normal": 120.0},
        reservation_horizon_s=360.0, ewma_alpha=0.5, cost_per_worker_second=0.01,
    )  # fmt: skip
    assert batch.limits == LimitSettings(max_load=1.5, min_free_memory=1 << 30, max_memory_pressure=20.0)
    assert batch.limits.are_set
    assert batch.groups == [
        GroupSettings(labels={"gpu": "yes"}, workers=2),
        GroupSettings(labels={"disk": "fast", "zone": "b"}, workers=1, shared=True),
    ]


def test_resources_gathering_and_the_daemons_bounds_are_read() -> None:
    settings = read(WHOLE)
    assert settings.resources == {
        "api": ResourceSettings(rate_s=10.0, burst=20.0),
        "gpu": ResourceSettings(permits=2),
    }
    assert [resource.capacity for resource in settings.resources.values()] == [20.0, 2.0]
    assert (settings.daemon.total_workers, settings.daemon.share) == (16, "strict")
    assert settings.daemon.max_pending == 1_000_000
    assert settings.groups["mail"] == GatherSettings(
        command=["send-all"], grace_s=30.0, max_delay_s=300.0, max_size=10, pool="batch"
    )


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = read("[pools.x]\nworkers = 1\n[groups.mail]\ncommand = 'send | all'")
    pool, daemon = settings.pools["x"], settings.daemon
    assert (pool.weight, pool.max_pending, pool.overflow, pool.reservable_fraction) == (1, 100_000, "wait", 0.5)
    assert (pool.max_hold_s, pool.default_duration_s, pool.fair_share, pool.groups) == (300, 60, False, [])
    assert not pool.limits.are_set
    scale = pool.autoscale
    assert (scale.interval_s, scale.target_utilization, scale.drain_time_s, scale.cooldown_s) == (5, 0.8, 60, 30)
    assert (scale.stabilization_window_s, scale.max_step_up_ratio, scale.max_step_up_abs) == (60, 1.0, 4)
    assert (scale.max_step_down, scale.reservation_horizon_s, scale.ewma_alpha) == (1, 300, 0.3)
    assert (scale.slo_s, scale.cost_per_worker_second) == ({}, 0.0)
    assert (daemon.total_workers, daemon.share, daemon.max_pending) == (None, "weighted", 1_000_000)
    mail = settings.groups["mail"]
    assert (mail.command, mail.grace_s, mail.max_delay_s, mail.max_size) == ("send | all", 60, 600, 100)
    assert mail.pool == "default"


def test_a_range_without_a_start_begins_with_its_least() -> None:
    assert read("[pools.x]\nworkers = { min = 2, max = 4 }").pools["x"].size == Size(2, 2, 4)
    assert read("[pools.x]\nworkers = { max = 4 }").pools["x"].size == Size(0, 0, 4)


@pytest.mark.parametrize(
    ("rate", "per_s"), [("10/s", 10), ("5/m", 5 / 60), ("100/h", 100 / 3600), ("0.5/s", 0.5), ("24/d", 24 / 86400)]
)
def test_rates_are_by_second_minute_hour_and_day(rate: str, per_s: float) -> None:
    assert read(f"[resources.api]\nrate = '{rate}'").resources["api"].rate_s == pytest.approx(per_s)


def test_a_bucket_without_a_burst_holds_what_a_second_brings_and_at_least_one() -> None:
    assert read("[resources.a]\nrate = '10/s'").resources["a"].capacity == 10
    assert read("[resources.a]\nrate = '5/m'").resources["a"].capacity == 1


@pytest.mark.parametrize(
    ("text", "place", "near"),
    [
        ("[pools.x]\nmax_pendin = 1", "pools.x.max_pendin", "did you mean max_pending?"),
        ("[pools.x]\nworkers = { mim = 1, max = 2 }", "pools.x.workers.mim", "did you mean min?"),
        ("[pools.x.autoscale]\ncool_down = 1", "pools.x.autoscale.cool_down", "did you mean cooldown?"),
        ("[pools.x.autoscale]\nslo = { hihg = 1 }", "pools.x.autoscale.slo", "did you mean high?"),
        ("[pools.x.limits]\nmax_loads = 1", "pools.x.limits.max_loads", "did you mean max_load?"),
        (
            "[[pools.x.groups]]\nlabels = { a = 'b' }\nworkers = 1\n[[pools.x.groups]]\nlabel = 1",
            "pools.x.groups, entry 2.label",
            "did you mean labels?",
        ),
        ("[pools.x]\noverflow = 'shed-lowst'", "pools.x.overflow", "did you mean shed-lowest?"),
        ("[resources.x]\npermit = 1", "resources.x.permit", "did you mean permits?"),
        ("[groups.x]\ncomand = 'a'", "groups.x.comand", "did you mean command?"),
        ("[groups.x]\ncommand = 'a'\npool = 'defalt'", "groups.x.pool", "did you mean default?"),
        ("[daemon]\nshare = 'strickt'", "daemon.share", "did you mean strict?"),
    ],
)
def test_an_unknown_name_is_refused_with_its_place_and_the_nearest(text: str, place: str, near: str) -> None:
    line = refusal(text)
    assert line.startswith(f"config.toml: {place}: ")
    assert near in line


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[pools.x]\nworkers = { min = 3, max = 2 }", "pools.x.workers"),
        ("[pools.x]\nworkers = { min = 1, start = 9, max = 2 }", "pools.x.workers"),
        ("[pools.x]\nworkers = { min = 1 }", "pools.x.workers"),
        ("[pools.x]\nworkers = '4'", "pools.x.workers"),
        ("[pools.x]\nworkers = [4]", "pools.x.workers"),
        ("[pools.x]\nweight = 0", "pools.x.weight"),
        ("[pools.x]\nmax_pending = 0", "pools.x.max_pending"),
        ("[pools.x]\nreservable_fraction = 1.5", "pools.x.reservable_fraction"),
        ("[pools.x]\nreservable_fraction = nan", "pools.x.reservable_fraction"),
        ("[pools.x]\ndefault_duration = 0", "pools.x.default_duration"),
        ("[pools.x]\nfair_share = 1", "pools.x.fair_share"),
        ("[pools.x]\ntenant_weights = { a = 0 }", "pools.x.tenant_weights"),
        ("[pools.x]\ntenant_weights = 2", "pools.x.tenant_weights"),
        ("[pools.x]\nautoscale = true", "pools.x.autoscale"),
        ("[pools.x.autoscale]\ntarget_utilization = 0", "pools.x.autoscale.target_utilization"),
        ("[pools.x.autoscale]\newma_alpha = 1.01", "pools.x.autoscale.ewma_alpha"),
        ("[pools.x.autoscale]\nmax_step_down = 0", "pools.x.autoscale.max_step_down"),
        ("[pools.x.autoscale]\nslo = { high = 0 }", "pools.x.autoscale.slo"),
        ("[pools.x.limits]\nmax_load = 0", "pools.x.limits.max_load"),
        ("[pools.x.limits]\nmax_memory_pressure = 101", "pools.x.limits.max_memory_pressure"),
        ("[pools.x]\ngroups = {}", "pools.x.groups"),
        ("[pools.x]\ngroups = [1]", "pools.x.groups, entry 1"),
        ("[[pools.x.groups]]\nworkers = 1", "pools.x.groups, entry 1"),
        ("[[pools.x.groups]]\nlabels = {}\nworkers = 1", "pools.x.groups, entry 1"),
        ("[[pools.x.groups]]\nlabels = { gpu = true }\nworkers = 1", "pools.x.groups, entry 1.labels"),
        ("[[pools.x.groups]]\nlabels = { 'a=b' = 'c' }\nworkers = 1", "pools.x.groups, entry 1.labels"),
        ("[resources.x]", "resources.x"),
        ("[resources.x]\npermits = 1\nrate = '1/s'", "resources.x"),
        ("[resources.x]\npermits = 1\nburst = 2", "resources.x"),
        ("[resources.x]\nrate = 10", "resources.x.rate"),
        ("[resources.x]\nrate = '10'", "resources.x.rate"),
        ("[resources.x]\nrate = '10/w'", "resources.x.rate"),
        ("[resources.x]\nrate = '0/s'", "resources.x.rate"),
        ("[resources.x]\nrate = '-1/s'", "resources.x.rate"),
        ("[resources.x]\nrate = 'nan/s'", "resources.x.rate"),
        ("[resources.x]\nrate = '1/s'\nburst = 0", "resources.x.burst"),
        ("[resources.x]\npermits = 1.5", "resources.x.permits"),
        ("[resources.'a b']\npermits = 1", "resources"),
        ("[resources.gpu]\npermits = 1\n[resources.GPU]\npermits = 1", "resources.GPU"),
        ("[resources]\nx = 1", "resources.x"),
        ("[groups.mail]", "groups.mail"),
        ("[groups.mail]\ncommand = []", "groups.mail.command"),
        ("[groups.mail]\ncommand = ' '", "groups.mail.command"),
        ("[groups.mail]\ncommand = ['a', 1]", "groups.mail.command"),
        ("[groups.mail]\ncommand = 'a'\nmax_size = 0", "groups.mail.max_size"),
        ("[groups.'1']\ncommand = 'a'", "groups"),
        ("[daemon]\ntotal_workers = 0", "daemon.total_workers"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place_and_what_is_right(text: str, place: str) -> None:
    line = refusal(text)
    assert line.startswith(f"config.toml: {place}: ")
    assert line.endswith(")")
    assert "\n" not in line


def test_a_wrong_number_of_workers_says_that_a_table_would_do_too() -> None:
    assert "a whole number from 0 on, or a table" in refusal("[pools.x]\nworkers = 'many'")


# -- changed by command ------------------------------------------------------------------------------------------------


def test_pool_settings_are_changed_by_key_and_value() -> None:
    words = ["workers=1..8", "max_pending=5", "overflow=reject", "fair_share=true", "weight=2.5", "max_hold=10m"]
    changes = parse_pool_changes([*words, "reservable_fraction=0.25", "default_duration=90"])
    pool = override_pool(PoolSettings(workers=3, shell="/bin/bash"), {**changes, "paused": True})
    assert pool.size == Size(1, 1, 8)
    assert (pool.max_pending, pool.overflow, pool.fair_share, pool.weight) == (5, "reject", True, 2.5)
    assert (pool.max_hold_s, pool.reservable_fraction, pool.default_duration_s) == (600.0, 0.25, 90.0)
    assert pool.shell == "/bin/bash"


def test_a_bound_can_be_taken_away() -> None:
    changes = parse_pool_changes(["max_pending=none", "workers=4"])
    pool = override_pool(PoolSettings(workers=WorkerRange(min=1, max=9), max_pending=5), changes)
    assert (pool.max_pending, pool.workers) == (None, 4)
    settings = read('[daemon]\nmax_pending = "none"\n[pools.x]\nmax_pending = "none"')
    assert (settings.daemon.max_pending, settings.pools["x"].max_pending) == (None, None)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("worker=3", "did you mean workers?"),
        ("shell=/bin/sh", "'shell' is not a setting that can be changed"),
        ("workers", "sets nothing"),
        ("workers=many", "'many' is no number of workers"),
        ("workers=8..1", "runs backwards"),
        ("workers=-1", "'-1' is no number of workers"),
        ("weight=0", "weight: 0 does not fit here"),
        ("weight=heavy", "weight: 'heavy' does not fit here"),
        ("overflow=shed", "overflow: 'shed' is none of"),
        ("max_hold=soon", "max_hold: 'soon' is not a duration"),
        ("max_pending=0", "max_pending: 0 does not fit here"),
        ("fair_share=yes", "fair_share: 'yes' does not fit here"),
        ("reservable_fraction=2", "reservable_fraction: 2 does not fit here"),
    ],
)
def test_a_wrong_change_of_a_pool_is_refused(word: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pool_changes([word])
    assert message in caught.value.line()


def test_a_setting_stands_once() -> None:
    with pytest.raises(UsageError, match="weight stands twice"):
        parse_pool_changes(["weight=1", "weight=2"])


def test_a_resource_is_changed_within_its_kind() -> None:
    bucket, semaphore = ResourceSettings(rate_s=1.0, burst=5.0), ResourceSettings(permits=2)
    assert change_resource("api", bucket, rate_s=2.0) == ResourceSettings(rate_s=2.0, burst=5.0)
    assert change_resource("gpu", semaphore, permits=0) == ResourceSettings(permits=0)
    with pytest.raises(InvalidError, match="api is a token bucket"):
        change_resource("api", bucket, permits=1)
    with pytest.raises(InvalidError, match="gpu is a semaphore"):
        change_resource("gpu", semaphore, burst=1.0)


def test_a_stored_change_of_another_kind_counts_no_more() -> None:
    bucket, semaphore = ResourceSettings(rate_s=1.0, burst=5.0), ResourceSettings(permits=2)
    assert override_resource(bucket, {"rate_s": 2.0, "burst": 9}) == ResourceSettings(rate_s=2.0, burst=9)
    assert override_resource(bucket, {"permits": 7}) == bucket
    assert override_resource(semaphore, {"permits": 7}) == ResourceSettings(permits=7)
    assert override_resource(semaphore, {"rate_s": 2.0}) == semaphore
