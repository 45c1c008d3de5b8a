"""Many tasks by one submission: batches, one a line, arrays, and what limits them; also keys and sameness."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def one(shared) -> Any:
    shared.configure("[pools.default]\nworkers = 4\n[pools.one]\nworkers = 1\n[pools.shut]\nworkers = 1\n")
    shared.ok("pool", "pause", "shut")
    return shared


def run_of(text: str) -> range:
    first, _, last = text.strip().partition("-")
    return range(int(first), int(last or first) + 1)


def test_each_makes_one_task_a_line_and_the_braces_are_that_line_as_one_argument(one) -> None:
    lines = ["plain", "two words", "$(touch x); 'q'", "", "-n", "ünï"]
    ids = run_of(one.ok("submit", "--each", "-", "--", "printf", "[%s]", "{}", input="\n".join(lines) + "\n"))
    assert one("wait", f"{ids[0]}-{ids[-1]}").returncode == 0
    assert [one.logs(i).decode() for i in ids] == [f"[{text}]" for text in lines if text]
    assert [one.show(i)["batch"] for i in ids] == [f"{ids[0]}-{ids[-1]}"] * len(ids)


def test_in_a_shell_line_the_braces_are_quoted(one, tmp_path) -> None:
    (tmp_path / "list").write_text("a b\n$HOME; echo no\n")
    ids = run_of(one.ok("submit", "--each", str(tmp_path / "list"), "printf '[%s]' {} | tr a-z A-Z"))
    one.ok("wait", f"{ids[0]}-{ids[-1]}")
    assert [one.logs(i).decode() for i in ids] == ["[A B]", "[$HOME; ECHO NO]"]


def test_a_batch_has_all_the_fields_that_options_have(one, tmp_path) -> None:
    lines = [
        {"command": ["sh", "-c", "echo $COLOUR; pwd"], "key": "first", "env": {"COLOUR": "red"}, "cwd": str(tmp_path)},
        {"shell": "echo one two | tr a-z A-Z", "after": "first", "tag": {"kind": "x"}, "priority": "high"},
        {"command": ["sh", "-c", "exit 4"], "name": "fails", "retries": 1, "backoff": "fixed:1ms", "timeout": 5},
        {"command": ["true"], "success_codes": [0, 3], "pool": "one", "nice": 3, "hold": False},
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    ids = run_of(one.ok("submit", "--batch", "-", input=text))
    assert one("wait", f"{ids[0]}-{ids[-1]}").returncode == 1
    assert one.logs(ids[0]).decode() == f"red\n{tmp_path}\n"
    assert one.logs(ids[1]) == b"ONE TWO\n"
    assert (one.show(ids[1])["tags"], one.show(ids[1])["priority"]) == ({"kind": "x"}, "high")
    failed = one.show(ids[2])
    assert (failed["name"], failed["status"], failed["attempt"], failed["timeout_s"]) == (
        "fails",
        "dead_lettered",
        2,
        5,
    )
    assert one.show(ids[3])["pool"] == "one"


def test_a_batch_file_of_a_thousand_tasks_is_one_run_of_ids(one, tmp_path) -> None:
    path = tmp_path / "batch"
    path.write_text("".join(json.dumps({"command": ["true"], "pool": "shut"}) + "\n" for _ in range(1000)))
    ids = run_of(one.ok("submit", "--batch", str(path)))
    assert len(ids) == 1000
    reference = f"{ids[0]}-{ids[-1]}"
    assert len(one.ask("ls", reference, "--limit", "all")["tasks"]) == 1000
    assert one.ok("cancel", reference) == f"cancelled {reference}\n"


def test_an_array_knows_its_index_and_runs_no_more_at_once_than_asked(one, tmp_path) -> None:
    script = (
        f'd={tmp_path}; touch $d/on.$CRONOQ_ARRAY_INDEX; ls $d | grep -c "^on" > $d/at.$CRONOQ_ARRAY_INDEX; '
        "sleep 0.1; rm $d/on.$CRONOQ_ARRAY_INDEX"
    )
    ids = run_of(one.ok("submit", "--array", "3-11/2,20%2", "--", "sh", "-c", script))
    assert one("wait", f"{ids[0]}-{ids[-1]}").returncode == 0
    assert [one.show(i)["array_index"] for i in ids] == [3, 5, 7, 9, 11, 20]
    at_once = [int(path.read_text()) for path in tmp_path.glob("at.*")]
    assert len(at_once) == 6
    assert max(at_once) <= 2


def test_max_fails_ends_the_rest(one) -> None:
    ids = run_of(
        one.ok(
            "submit", "--array", "0-7", "-p", "one", "--max-fails", "2", "--", "sh", "-c", "exit $CRONOQ_ARRAY_INDEX"
        )
    )
    assert one("wait", f"{ids[0]}-{ids[-1]}").returncode == 1
    statuses = [one.show(i)["status"] for i in ids]
    assert statuses[:3] == ["succeeded", "failed", "failed"]
    assert set(statuses[4:]) == {"cancelled"}


def test_dry_run_checks_everything_and_queues_nothing(one) -> None:
    before = one.ask("ls", "--limit", "all")["tasks"]
    assert "3 tasks would be queued" in one.ok("submit", "--dry-run", "--array", "0-2", "--", "true")
    assert one("submit", "--dry-run", "--pool", "nosuch", "--", "true").returncode == 7
    assert [t["id"] for t in one.ask("ls", "--limit", "all")["tasks"]] == [t["id"] for t in before]


# -- sameness ----------------------------------------------------------------------------------------------------------


def test_a_key_is_unique_among_live_tasks_and_the_existing_id_is_printed(one) -> None:
    first = one.submit("--key", "alone", "--hold", "--", "true")
    again = one("submit", "--key", "alone", "--", "true")
    assert (again.returncode, int(again.stdout)) == (0, first)
    assert "there already" in again.stderr
    one.ok("cancel", first)
    assert one.submit("--key", "alone", "--", "true") > first


def test_once_is_unique_among_remembered_tasks_too(one) -> None:
    first = int(one.ok("submit", "--wait", "--key", "ever", "--once", "--", "true"))
    assert one.submit("--key", "ever", "--once", "--", "true") == first


def test_unique_means_the_same_command_directory_and_pool_within_a_time(one, tmp_path) -> None:
    first = one.submit("--unique", "1h", "--", "echo", "same")
    assert one.submit("--unique", "1h", "--", "echo", "same") == first
    assert one.submit("--unique", "1h", "--", "echo", "other") != first
    assert one.submit("--unique", "1h", "-C", str(tmp_path), "--", "echo", "same") != first
    assert one.submit("--unique", "1h", "-p", "one", "--", "echo", "same") != first
    assert one.submit("--", "echo", "same") != first


def test_replace_cancels_the_old_one_and_starts_when_it_is_gone(one, tmp_path) -> None:
    script = f"trap 'sleep 0.3; rm {tmp_path}/on; exit 1' TERM; touch {tmp_path}/on; while :; do sleep 0.02; done"
    old = one.submit("--key", "only", "--", "sh", "-c", script)
    one.wait_until((tmp_path / "on").exists)
    new = one.submit("--key", "only", "--if-exists", "replace", "--", "test", "!", "-e", str(tmp_path / "on"))
    assert one.show(old)["status"] == "cancelled"
    assert one.wait_for(new)["status"] == "succeeded"
    assert one.show("only")["id"] == new


def test_many_submissions_at_once_all_succeed_with_ids_of_their_own(one) -> None:
    ids = set()
    for _ in range(4):  # in waves: starting so many Pythons is what takes the time
        clients = [one.start("submit", "-p", "shut", "--", "true", str(number)) for number in range(25)]
        ends = [client.communicate(timeout=60) for client in clients]
        assert {client.returncode for client in clients} == {0}
        ids |= {int(out) for out, _ in ends}
    assert len(ids) == 100
    one.ok("cancel", "--pool", "shut")
