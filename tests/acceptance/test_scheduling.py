"""Resources, groups, fixed starts, bounds and scaling with the real daemon: what the engine decides is what happens."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.conftest import Cronoq

pytestmark = pytest.mark.acceptance

SLEEP = ("sh", "-c", "sleep 30")


def test_units_of_a_semaphore_are_handed_to_the_task_and_come_back(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 4\n[resources.gpu]\npermits = 2\n")
    first = cronoq.submit("--use", "gpu=1", "--", *SLEEP)
    cronoq.wait_for(first, "running")
    both = cronoq.submit("--use", "gpu=2", "--", "sh", "-c", "echo $CRONOQ_RESOURCE_GPU")
    later = cronoq.submit("--use", "gpu=1", "--", "sh", "-c", "echo $CRONOQ_RESOURCE_GPU")
    free = cronoq.submit("--", "true")
    assert cronoq.wait_for(free)["status"] == "succeeded"
    assert cronoq.show(both)["reason"] == "waits for gpu"
    assert cronoq.show(later)["status"] == "ready", "a small request must not pass the one that waits for all permits"
    cronoq.ok("cancel", first)
    cronoq.wait_for(later)
    assert cronoq.read_log(both) == b"0,1\n"
    assert cronoq.read_log(later) in (b"0\n", b"1\n")
    assert cronoq.show(both)["finished_at"] <= cronoq.show(later)["started_at"]


def test_units_survive_the_death_of_the_daemon(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 4\n[resources.gpu]\npermits = 1\n")
    holder = cronoq.submit("--use", "gpu=1", "--", *SLEEP)
    cronoq.wait_for(holder, "running")
    cronoq.ok("daemon", "restart")
    waiting = cronoq.submit("--use", "gpu=1", "--", "true")
    (gpu,) = cronoq.ask("resource", "ls")["resources"]
    assert gpu["free"] == 0
    assert cronoq.show(waiting)["status"] == "ready"
    cronoq.ok("cancel", holder)
    assert cronoq.wait_for(waiting)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--use", "nix=1"), 7),
        (("--use", "gpu=3"), 7),
        (("--use", "gpu"), 2),
        (("--on", "gpu=yes"), 7),
        (("--group", "nobody"), 7),
        (("--slots", "99"), 7),
    ],
)
def test_what_can_never_be_had_is_refused(cronoq: Cronoq, words: tuple[str, ...], status: int) -> None:
    cronoq.configure("[pools.default]\nworkers = 4\n[resources.gpu]\npermits = 2\n")
    assert cronoq("submit", *words, "--", "true").returncode == status
    assert cronoq.ask("ls")["tasks"] == []


def test_a_labelled_task_runs_only_among_its_workers(cronoq: Cronoq) -> None:
    cronoq.configure('[pools.default]\nworkers = 1\n[[pools.default.groups]]\nlabels = { gpu = "yes" }\nworkers = 1\n')
    plain = cronoq.submit("--", *SLEEP)
    labelled = cronoq.submit("--on", "gpu=yes", "--", *SLEEP)
    cronoq.wait_for(plain, "running")
    cronoq.wait_for(labelled, "running")
    second = cronoq.submit("--on", "gpu=yes", "--", "true")
    third = cronoq.submit("--", "true")
    assert {cronoq.show(second)["status"], cronoq.show(third)["status"]} == {"ready"}
    cronoq.ok("cancel", labelled)
    assert cronoq.wait_for(second)["status"] == "succeeded"
    assert cronoq.show(third)["status"] == "ready"


def test_gathered_tasks_are_run_by_one_and_end_as_it_does(cronoq: Cronoq) -> None:
    cronoq.configure('[groups.mail]\ncommand = ["cat"]\nmax_size = 3\n')
    members = [cronoq.submit("--group", "mail", "-t", f"n={n}", "--", "echo", f"m{n}") for n in range(3)]
    ends = [cronoq.wait_for(member) for member in members]
    assert {end["status"] for end in ends} == {"succeeded"}
    (letter,) = [task for task in cronoq.ask("ls")["tasks"] if task["id"] not in members]
    lines = [json.loads(line) for line in cronoq.read_log(letter["id"]).splitlines()]
    assert [(line["id"], line["command"], line["tags"]) for line in lines] == [
        (member, ["echo", f"m{n}"], {"n": str(n)}) for n, member in enumerate(members)
    ]


def test_a_fixed_start_that_cannot_be_reserved_is_refused(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 2\n")
    first = cronoq.submit("--start-at", "+1h", "--", "true")
    assert cronoq("submit", "--start-at", "+1h", "--", "true").returncode == 4
    cronoq.ok("cancel", first)
    assert cronoq("submit", "--start-at", "+1h", "--", "true").returncode == 0


def test_a_fixed_start_begins_then_and_not_before(cronoq: Cronoq) -> None:
    task = cronoq.submit("--start-at", "+1s", "--tolerance", "20s", "--on-miss", "skip", "--", "true")
    end = cronoq.wait_for(task)
    assert end["status"] == "succeeded"
    assert end["started_at"] >= end["start_at"]


def test_what_is_not_started_by_its_expiry_is_missed(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 1\n")
    cronoq.wait_for(cronoq.submit("--", *SLEEP), "running")
    late = cronoq.submit("--expires", "+1s", "--", "true")
    assert cronoq.wait_for(late)["status"] == "missed"


def test_a_full_pool_lets_the_submitter_wait_or_refuses(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 1\nmax_pending = 1\n")
    running = cronoq.submit("--", *SLEEP)
    cronoq.wait_for(running, "running")
    cronoq.submit("--", "true")
    assert cronoq("submit", "--no-wait", "--", "true").returncode == 75
    parked = cronoq.start("submit", "--", "true")
    assert cronoq("ls").returncode == 0
    assert parked.poll() is None
    cronoq.ok("cancel", running)
    out, _ = parked.communicate(timeout=30)
    assert parked.returncode == 0
    assert cronoq.wait_for(int(out))["status"] == "succeeded"


def test_a_full_pool_sheds_the_newest_of_the_lowest_class(cronoq: Cronoq) -> None:
    cronoq.forced.pop("leases", None)  # what stands at the runner is not shed
    cronoq.configure('[pools.default]\nworkers = 1\nmax_pending = 2\noverflow = "shed-lowest"\n')
    cronoq.wait_for(cronoq.submit("--", *SLEEP), "running")
    low = [cronoq.submit("-P", "low", "--", "true") for _ in range(2)]
    kept = cronoq.submit("--", "true")
    assert cronoq.show(low[1])["status"] == "shed"
    assert cronoq.show(low[0])["status"] == "ready"
    assert cronoq.show(kept)["status"] == "ready"
    assert cronoq("submit", "-P", "low", "--", "true").returncode == 75


def test_a_pool_with_a_range_grows_with_its_work_and_rests_when_idle(cronoq: Cronoq) -> None:
    cronoq.configure(
        "[pools.default]\nworkers = { min = 0, start = 0, max = 3 }\n"
        '[pools.default.autoscale]\ninterval = "200ms"\ncooldown = "300ms"\nstabilization_window = "300ms"\n'
        'drain_time = "1s"\n'
    )
    ids = [cronoq.submit("--", "sleep", "0.3") for _ in range(6)]
    assert {cronoq.wait_for(task)["status"] for task in ids} == {"succeeded"}
    cronoq.wait_until(lambda: cronoq.ask("pool", "show", "default")["pool"]["workers"] == 0)


def test_settings_changed_by_command_outlive_a_restart_until_they_are_reset(cronoq: Cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 1\n[resources.gpu]\npermits = 1\n")
    cronoq.ok("pool", "scale", "default", "3")
    cronoq.ok("resource", "set", "gpu", "--permits", "4")
    cronoq.ok("daemon", "restart")
    assert cronoq.ask("pool", "show", "default")["pool"]["workers"] == 3
    assert cronoq.ask("resource", "show", "gpu")["resource"]["permits"] == 4
    cronoq.ok("pool", "reset", "default")
    assert cronoq.ask("pool", "show", "default")["pool"]["workers"] == 1
