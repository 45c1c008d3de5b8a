"""Tasks that wait for others, with the real command: conditions, skips down the graph, cycles, keys yet to come."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def one(shared) -> Any:
    return shared


def held(cronoq: Any, *options: str, script: str = "exit 0") -> int:
    """A held task that does what `script` says once it is released."""
    return cronoq.submit("--hold", *options, "--", "sh", "-c", script)


def test_a_dependent_runs_after_success_and_is_skipped_at_once_after_failure_and_so_on_down_the_graph(one) -> None:
    good, bad = held(one), held(one, script="exit 3")
    after_good = one.submit("--after", good, "--", "true")
    after_bad = one.submit("--after", bad, "--", "true")
    further = one.submit("--after", after_bad, "--", "true")
    last = one.submit("--after", f"{good},{further}", "--", "true")
    assert one.show(after_good)["status"] == "blocked"
    assert one.show(after_good)["reason"] == f"after {good}"
    one.ok("release", good, bad)
    assert one.wait_for(after_good)["status"] == "succeeded"
    for task_id, reason in ((after_bad, f"{bad} failed"), (further, f"{after_bad} skipped"), (last, f"{further} sk")):
        task = one.wait_for(task_id)
        assert task["status"] == "skipped"
        assert task["reason"].startswith(reason)


def test_after_any_runs_after_every_end_and_after_fail_only_after_a_failure(one) -> None:
    good, bad, gone = held(one), held(one, script="exit 3"), held(one)
    wanted = {}
    for condition, statuses in (("--after-any", ("succeeded",) * 3), ("--after-fail", ("skipped", "succeeded", "sk"))):
        for target, status in zip((good, bad, gone), statuses, strict=True):
            wanted[one.submit(condition, target, "--", "true")] = status
    one.ok("cancel", gone)
    one.ok("release", good, bad)
    for task_id, status in wanted.items():
        assert one.wait_for(task_id)["status"].startswith(status)


def test_a_target_already_final_is_judged_at_once(one) -> None:
    good = int(one.ok("submit", "--wait", "--", "true"))
    bad = one.submit("--", "false")
    one.wait_for(bad)
    assert one.ok("submit", "--wait", "--after", good, "--after-fail", bad, "--", "true")
    late = one.submit("--after", bad, "--", "true")
    assert one.show(late)["status"] == "skipped"


def test_a_dead_letter_meets_after_fail(one) -> None:
    bad = one.submit("--retries", "1", "--backoff", "fixed:1ms", "--", "false")
    after = one.submit("--after-fail", bad, "--", "true")
    assert one.wait_for(after)["status"] == "succeeded"
    assert one.show(bad)["status"] == "dead_lettered"


def test_keys_last_and_whole_batches_can_be_waited_for(one) -> None:
    first = held(one, "--key", "first")
    by_key = one.submit("--after", "first", "--", "true")
    by_last = one.submit("--after", "last", "--", "true")
    assert one.show(by_key)["after"] == [{"ref": "first", "condition": "success", "task": first, "open": True}]
    assert one.show(by_last)["after"] == [
        {"ref": str(by_key), "condition": "success", "task": by_key, "open": True}  # whatever is submitted after that
    ]
    run = one.ok("submit", "--array", "0-2", "--after", by_last, "--", "true").strip()
    joined = one.submit("--after", run, "--", "true")
    assert one.show(joined)["status"] == "blocked"
    one.ok("release", first)
    assert one.wait_for(joined)["status"] == "succeeded"


def test_an_unknown_key_is_waited_for_as_long_as_asked_and_then_skipped(one) -> None:
    waiting = one.submit("--await-deps", "30s", "--after", "yet-to-come", "--", "true")
    late = one.submit("--await-deps", "300ms", "--after", "never-comes", "--", "true")
    assert one.show(waiting)["status"] == "blocked"
    one.ok("submit", "--key", "yet-to-come", "--", "true")
    assert one.wait_for(waiting)["status"] == "succeeded"
    assert one.wait_for(late)["status"] == "skipped"


def test_a_cycle_is_refused_by_its_name_even_through_a_thousand_tasks_and_changes_nothing(one) -> None:
    first = held(one)
    previous, lines = first, []
    for number in range(1000):
        lines.append(json.dumps({"command": ["true"], "key": f"link{number}", "after": str(previous)}))
        previous = f"link{number}"
    one.ok("submit", "--batch", "-", input="\n".join(lines))
    began = time.monotonic()
    done = one("edit", first, "--after", "link999")
    assert time.monotonic() - began < 3
    assert (done.returncode, done.stdout) == (7, "")
    assert "cycle" in done.stderr
    assert len(done.stderr) < 2000
    assert one("edit", first, "--after", first).returncode == 7
    assert one.show(first)["after"] == []
    one.ok("cancel", first)
    assert one.wait_for("link999")["status"] == "skipped"


def test_a_dependency_names_the_task_it_means_also_within_a_batch_and_for_a_key_that_came_later(one) -> None:
    later = one.submit("--await-deps", "1h", "--after", "later", "--", "true")
    lines = [{"command": ["true"], "key": "head", "hold": True}, {"command": ["true"], "after": ["head"]}]
    first, _, second = one.ok("submit", "--batch", "-", input="\n".join(map(json.dumps, lines))).strip().partition("-")
    assert [(edge["ref"], edge["task"], edge["open"]) for edge in one.show(second)["after"]] == [
        ("head", int(first), True)
    ]
    assert f"head (task {first}, open)" in one.ok("show", second)
    assert [(edge["task"], edge["open"]) for edge in one.show(later)["after"]] == [(None, True)]
    holder = held(one, "--key", "later")
    assert [(edge["task"], edge["open"]) for edge in one.show(later)["after"]] == [(holder, True)]
    one.ok("release", holder, first)
    assert one.wait_for(second)["status"] == one.wait_for(later)["status"] == "succeeded"


def test_an_edit_can_add_and_take_back_a_dependency(one) -> None:
    target, task_id = held(one), one.submit("--in", "1h", "--", "true")
    one.ok("edit", task_id, "--after", target)
    assert one.show(task_id)["status"] == "blocked"
    one.ok("edit", task_id, "--after", "none")
    assert one.show(task_id)["status"] == "scheduled"
    one.ok("cancel", task_id, target)


def test_rm_of_what_others_wait_for_is_refused_unless_they_go_too(one) -> None:
    target = held(one)
    waiting = one.submit("--after", target, "--", "true")
    done = one("rm", target)
    assert (done.returncode, f"task {waiting} waits for task {target}" in done.stderr) == (4, True)
    one.ok("rm", "--cascade", target)
    assert one.show(waiting)["status"] == "cancelled"
    assert one("show", target).returncode == 3


def test_forgetting_a_finished_target_changes_nothing_for_those_it_let_start(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 4\n[pools.shut]\nworkers = 1\n")
    target = int(cronoq.ok("submit", "--wait", "--", "true"))
    cronoq.ok("pool", "pause", "shut")
    waiting = cronoq.submit("-p", "shut", "--after", target, "--", "true")
    assert cronoq.ask("prune", "--older-than", "0s")["pruned"] == 0  # a live task depends on it
    cronoq.ok("move", waiting, "--pool", "default")
    assert cronoq.wait_for(waiting)["status"] == "succeeded"
    assert cronoq.ask("prune", "--older-than", "0s")["pruned"] == 2


def test_retry_with_dependents_revives_what_was_skipped_because_of_it(one, tmp_path) -> None:
    bad = one.submit("--", "test", "-e", str(tmp_path / "fixed"))
    after = one.submit("--after", bad, "--", "true")
    further = one.submit("--after", after, "--", "true")
    one.wait_for(further, "skipped")  # the first of them perhaps as soon as it was submitted
    (tmp_path / "fixed").touch()
    note = one("retry", bad)
    assert (note.returncode, "2 skipped" in note.stderr) == (0, True)
    one.wait_for(bad, "succeeded")
    assert one.show(further)["status"] == "skipped"
    one.ok("retry", after, "--with-dependents")
    assert one.wait_for(further)["status"] == "succeeded"


def test_reactions_are_tasks_that_run_when_their_condition_is_met(one, tmp_path) -> None:
    reactions = []
    for option in ("--on-success", "--on-failure", "--on-end"):
        reactions += [option, f"touch {tmp_path}/{{}}{option}".replace("{}", "$0")]
    for script, name in (("exit 0", "good"), ("exit 1", "bad")):
        words = [word.replace("$0", name) for word in reactions]
        one("submit", "--wait", *words, "--", "sh", "-c", script)
    one.wait_until(lambda: len(list(tmp_path.iterdir())) == 4)
    one("wait", "--all")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bad--on-end", "bad--on-failure", "good--on-end", "good--on-success",
    ]  # fmt: skip


def test_a_graph_runs_in_an_order_that_every_edge_agrees_with(one, tmp_path) -> None:
    edges = {"a": "", "b": "a", "c": "a", "d": "b,c", "e": "a", "f": "d,e"}
    lines = [
        json.dumps({"shell": f"echo {name} >> {tmp_path}/order", "key": f"graph.{name}"}
                   | ({"after": ",".join(f"graph.{dep}" for dep in deps.split(","))} if deps else {}))
        for name, deps in reversed(edges.items())
    ]  # fmt: skip
    run = one.ok("submit", "--batch", "-", input="\n".join(lines)).strip()
    assert one("wait", run).returncode == 0
    order = (tmp_path / "order").read_text().split()
    assert sorted(order) == sorted(edges)
    for name, deps in edges.items():
        assert all(order.index(dep) < order.index(name) for dep in deps.split(",") if dep)
