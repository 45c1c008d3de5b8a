"""Recurring schedules as people use them: the real command, a real daemon, a crontab and an editor that PATH finds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.acceptance.conftest import Cronoq

CRONTAB = """#!/bin/sh
case "$1" in
  -l) [ -f "$0.kept" ] || { echo "no crontab for me" >&2; exit 1; }; cat "$0.kept" ;;
  -) cat > "$0.new" && mv "$0.new" "$0.kept" ;;
esac
"""


def put_program(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def output_of_run(cronoq: Cronoq, name: str) -> bytes:
    """What a run now of a schedule, which must succeed, has written."""
    task = cronoq.wait_for(int(cronoq.ok("recurring", "run", name)))
    assert task["status"] == "succeeded", task
    return Path(task["log"]).read_bytes()


def test_a_schedule_runs_is_seen_and_is_gone(shared: Cronoq) -> None:
    added = shared.ok("recurring", "add", "tick", "--every", "200ms", "--", "echo $CRONOQ_REASON $CRONOQ_RECURRING")
    assert added.startswith("added tick: every 200ms of elapsed time\n")

    def ended() -> list[dict[str, object]]:
        runs = shared.ask("recurring", "history", "tick")["runs"]
        return [run for run in runs if run["status"] == "succeeded"]

    run = shared.wait_until(ended)[0]
    assert run["manual"] is False
    assert shared.read_log(int(str(run["id"]))) == b"scheduled tick\n"
    shared.wait_until(lambda: "succeeded" in shared.ok("recurring", "ls"))  # now and then the next run runs
    assert "it is a schedule: --recurring tick selects" in shared("show", "tick").stderr
    assert shared("recurring", "run", "-f", "tick").stdout == "manual tick\n"
    assert shared.ok("recurring", "pause", "tick") == "paused tick\n"
    assert shared.ask("recurring", "show", "tick")["recurring"]["paused"] is True
    assert shared.ok("cron", "rm", "tick") == "removed tick\n"
    assert shared("recurring", "show", "tick").returncode == 3
    assert shared.ask("recurring", "history", "tick")["runs"], "the history stays"


def test_a_reserved_start_is_foretold_and_stands_in_no_queue_before_it(shared: Cronoq) -> None:
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=4)
    (pool,) = shared.ask("pool", "ls")["pools"]
    most = max(1, pool["max"] // 2)  # what may be reserved at one moment
    for name in ("got", "conflict"):
        words = ("--tz", "UTC", "--reserve", "--slots", most, "--", "true")
        shared.ok("recurring", "add", name, f"{at.minute} {at.hour} * * *", *words)
    due = {one["name"]: one["next"] for one in shared.ask("recurring", "ls")["recurring"] if one["reserve"]}
    assert due == {"got": f"{at:%FT%TZ}", "conflict": f"{at + timedelta(days=1):%FT%TZ}"}
    submitted = int(shared.ok("submit", "--", "true"))
    shared.wait_for(submitted)
    assert not any(task["recurring"] in due for task in shared.ask("ls")["tasks"])
    assert [task["recurring"] for task in shared.ask("ls", "--status", "scheduled")["tasks"]] == ["got"]
    assert shared.ask("show", "last")["task"]["id"] == submitted
    assert shared("cancel", "--all").returncode == 3, "there is nothing in the queue"
    shared.ok("recurring", "skip", "got")
    (skipped,) = shared.ask("recurring", "history", "got")["runs"]
    assert (skipped["id"], skipped["status"], skipped["reason"]) == (None, "skipped", "left out as asked")
    document = shared.ask("recurring", "show", "got")["recurring"]
    assert (document["last"], document["skips"]) == (None, [f"{at:%FT%TZ}"])
    shared.ok("recurring", "rm", *due)


def test_what_is_left_out_is_told_as_it_is(shared: Cronoq) -> None:
    shared.ok("recurring", "add", "few", "0 * * * *", "--until", "+150m", "--", "true")
    assert shared.ok("recurring", "skip", "few", "-n", "9") in ("few leaves out 2 runs\n", "few leaves out 3 runs\n")
    refused = shared("recurring", "skip", "few")
    assert (refused.returncode, refused.stderr.split(" (")[0]) == (4, "cronoq: schedule 'few' has no next run to skip")
    shared.ok("recurring", "add", "few", "--every", "1h", "--", "true")
    assert shared.ok("recurring", "skip", "few", "-n", "2").startswith("few leaves out 2 runs; next ")
    shared.ok("recurring", "rm", "few")


def test_a_line_of_a_crontab_runs_as_under_cron(shared: Cronoq, tmp_path: Path) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_bytes(
        b"A = \"x y\"\nB='z'\nC=\nD=a#b\nPATH=/usr/bin:/bin\nHOME=/tmp\n"
        b"@yearly cat%one%two\n@yearly echo a\\%b; pwd; umask\n@yearly env | sort\n61 * * * * never\n"
    )
    report = shared("recurring", "import", str(crontab), "--json", env={"SECRET": "1"})
    assert report.returncode == 1
    lines = json.loads(report.stdout)["lines"]
    assert [line["result"] for line in lines] == ["variable"] * 6 + ["added"] * 3 + ["refused"]
    names = [line["name"] for line in lines if line["name"]]
    assert output_of_run(shared, names[0]) == b"one\ntwo\n"
    assert output_of_run(shared, names[1]) == b"a%b\n/tmp\n0022\n"
    found = dict(line.split("=", 1) for line in output_of_run(shared, names[2]).decode().splitlines())
    assert {name: found[name] for name in "ABCD"} == {"A": "x y", "B": "z", "C": "", "D": "a#b"}
    assert (found["PATH"], found["HOME"], found["SHELL"]) == ("/usr/bin:/bin", "/tmp", "/bin/sh")
    assert "SECRET" not in found


def test_an_export_imports_to_the_same_schedules(shared: Cronoq, tmp_path: Path) -> None:
    shared.ok("recurring", "add", "a", "30 2 * * *", "--tz", "Asia/Tokyo", "--timeout", "1h", "--", "make", "a b")
    before = shared.ask("recurring", "show", "a")
    for form in (["--crontab"], ["--toml", "--env"]):
        exported = shared.ok("recurring", "export", *form, "a")
        shared.ok("recurring", "import", "-", input=exported)
        assert shared.ask("recurring", "show", "a")["recurring"]["spec"] == before["recurring"]["spec"]
    shared.ok("recurring", "rm", "a")
    shared.ok("recurring", "import", "-", input=exported)
    assert shared.ask("recurring", "show", "a")["recurring"]["spec"] == before["recurring"]["spec"]


def test_a_crontab_is_taken_over_edited_and_given_back(shared: Cronoq, tmp_path: Path) -> None:
    program = put_program(tmp_path, "crontab", CRONTAB)
    kept = Path(f"{program}.kept")
    kept.write_text("# mine\n0 1 * * * one\n")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "EDITOR": f"{tmp_path}/editor"}
    taken = shared("recurring", "import", "--crontab", "--takeover", env=env)
    assert taken.returncode == 0, taken.stderr
    assert kept.read_text() == "# mine\n#cronoq# 0 1 * * * one\n"
    (schedule,) = shared.ask("recurring", "ls", "one")["recurring"]
    assert (schedule["paused"], schedule["expr"]) == (False, "0 1 * * *")
    put_program(tmp_path, "editor", "#!/bin/sh\nsed -i 's/0 1 /0 2 /' \"$1\"\n")
    assert shared.ok("recurring", "edit", "one", env=env) == "replaced one\n"
    assert shared.ask("recurring", "show", "one")["recurring"]["spec"]["comment"] == "# mine"
    put_program(tmp_path, "editor", '#!/bin/sh\necho nonsense >> "$1"\n')
    refused = shared("recurring", "edit", "one", env=env)
    assert refused.returncode == 7
    assert "it is not TOML" in refused.stderr
    assert shared("recurring", "import", "--crontab", "--give-back", env=env).returncode == 0
    assert kept.read_text() == "# mine\n0 1 * * * one\n"
    assert shared("recurring", "show", "one").returncode == 3
