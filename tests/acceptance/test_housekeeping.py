"""The daemon as a service manager sees it, the doctor, the configuration, and the store copied and put back."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import PATIENCE_S, Cronoq

pytestmark = pytest.mark.acceptance


def findings(cronoq: Cronoq) -> dict[str, list[tuple[str, str]]]:
    """Level and message of the doctor's findings, by subject."""
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(cronoq("doctor", "--json").stdout)["findings"]:
        found.setdefault(finding["subject"], []).append((finding["level"], finding["message"]))
        assert finding["level"] in ("ok", "note") or finding["hint"], f"{finding} does not say what to do"
    return found


def test_a_service_manager_hears_of_readiness_life_reload_and_stop(cronoq: Cronoq, tmp_path: Path) -> None:
    cronoq.configure("")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE_S)

        def hear(word: str) -> list[str]:
            while word not in (said := manager.recv(4096).decode().split("\n")):
                pass
            return said

        env = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
        daemon = cronoq.start("daemon", "run", env=env)
        assert f"MAINPID={daemon.pid}" in hear("READY=1")
        assert cronoq.status()["pid"] == daemon.pid
        hear("WATCHDOG=1")
        hear("WATCHDOG=1")
        os.kill(daemon.pid, signal.SIGHUP)
        assert hear("RELOADING=1")
        assert "STATUS=running" in hear("READY=1")
        (cronoq.home / "config.toml").write_text("[daemno]")
        assert cronoq("daemon", "reload").returncode == 7
        assert any("was not taken" in line for line in hear("READY=1"))
        assert "NOTIFY_SOCKET" not in cronoq.output("env")
        os.kill(daemon.pid, signal.SIGTERM)
        assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in hear("STOPPING=1"))
        daemon.communicate(timeout=PATIENCE_S)
        assert daemon.returncode == 0


def test_the_doctor_finds_nothing_wrong_and_then_what_was_made_wrong(cronoq: Cronoq) -> None:
    assert cronoq("doctor").returncode == 0, "nothing is there yet, and that is not wrong"
    assert not cronoq.home.exists(), "the doctor makes nothing"
    cronoq.ok("submit", "-w", "--", "true")
    assert cronoq("doctor").returncode == 0
    found = findings(cronoq)
    assert found["lock"] == [("ok", f"held by process {cronoq.find_daemon()}")]
    assert {level for all_ in found.values() for level, _ in all_} <= {"ok", "note"}

    (cronoq.home / "config.toml").write_text("[pools.default]\nworkesr = 1\n")
    cronoq.home.chmod(0o755)
    (cronoq.home / "cronoq.sock").unlink()
    done = cronoq("doctor", "-q")
    assert done.returncode == 1
    found = findings(cronoq)
    assert [level for level, _ in found["configuration"]] == ["problem"]
    assert [level for level, _ in found["directories"]] == ["problem"]
    assert found["socket"] == [("problem", f"a daemon runs, with pid {cronoq.find_daemon()}, but listens nowhere")]
    assert "kill -HUP" in done.stdout
    assert "did you mean workers" in done.stdout


def test_a_path_and_a_configuration_the_daemon_does_not_have_are_noted(shared: Cronoq) -> None:
    shared.ok("daemon", "start")
    wider = {"PATH": f"/opt/only/here:{os.environ['PATH']}"}
    done = shared("doctor", "-q", env=wider)
    assert done.returncode == 0
    assert "/opt/only/here" in done.stdout
    (shared.home / "config.toml").write_text("")
    os.utime(shared.home / "config.toml", (4e9, 4e9))
    assert ("note", "it was changed since the daemon read it") in findings(shared)["configuration"]


def test_a_backup_is_whole_and_is_put_back_while_nothing_is_lost(cronoq: Cronoq, tmp_path: Path) -> None:
    first = cronoq.submit("-w", "--", "true")
    held = cronoq.submit("--hold", "--key", "kept", "--", "true")
    copy = tmp_path / "copy.db"
    assert cronoq("backup", str(copy)).stdout == f"{copy}\n"
    assert copy.stat().st_mode & 0o777 == 0o600
    again = cronoq("backup", str(copy))
    assert (again.returncode, "exists already" in again.stderr) == (4, True)
    assert cronoq("backup", "--check").returncode == 0

    later = cronoq.submit("-w", "--", "echo", "later")
    refused = cronoq("restore", str(copy))
    assert (refused.returncode, "a daemon runs" in refused.stderr) == (4, True)
    cronoq.ok("daemon", "stop")
    restored = cronoq.ask("restore", str(copy))["restore"]
    assert restored["path"] == str(copy)
    with sqlite3.connect(f"file:{restored['set_aside']}?mode=ro&immutable=1", uri=True) as aside:
        assert aside.execute("SELECT count(*) FROM tasks WHERE id = ?", (later,)).fetchone() == (1,)
    assert cronoq("show", later).returncode == 3
    cronoq.ok("daemon", "start")
    assert cronoq.show(first)["status"] == "succeeded"
    assert cronoq.show("kept")["id"] == held
    assert cronoq.submit("--", "true") > later, "an id is never given twice"


def test_a_damaged_backup_and_a_store_with_running_tasks_are_refused(
    make_cronoq: Callable[..., Cronoq], tmp_path: Path
) -> None:
    cronoq = make_cronoq()
    cronoq.ok("submit", "--", "sleep", "100")
    cronoq.wait_for("last", "running")
    copy = tmp_path / "copy.db"
    cronoq.ok("backup", str(copy))
    pid = cronoq.find_daemon()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cronoq.wait_until(lambda: cronoq.find_daemon() is None)
    refused = cronoq("restore", str(copy))
    assert (refused.returncode, "still run" in refused.stderr) == (4, True)
    assert ("note", "tasks go on without a daemon") in findings(cronoq)["runner"]
    broken = bytearray(copy.read_bytes())
    broken[4096:12288] = os.urandom(8192)
    (tmp_path / "broken.db").write_bytes(broken)
    assert cronoq("restore", str(tmp_path / "broken.db")).returncode == 7
    assert [path.name for path in cronoq.home.glob("cronoq.db.*aside*")] == []
    cronoq.ok("daemon", "start")  # which ends what runs, at the end of the test


def test_what_is_changed_by_command_and_by_a_file_is_told_with_a_daemon_and_without_one(
    make_cronoq: Callable[..., Cronoq],
) -> None:
    cronoq = make_cronoq()
    assert cronoq("__complete", "task", "").returncode == 0
    assert cronoq.find_daemon() is None
    cronoq.configure("[daemon]\nlog_level = 'debug'\n")
    number = cronoq.submit("--hold", "--key", "later", "--name", "sleepy", "--", "true")
    file = cronoq.home / "queue.toml"
    file.write_text("[pools.default]\nworkers = 3\n[recurring.nightly]\nwhen = '0 3 * * *'\nshell = 'x'\n")
    changes = cronoq.ask("apply", str(file))["changes"]
    assert [change["key"] for change in changes] == ["pools.default.workers", "recurring.nightly"]
    file.write_text(cronoq.ok("export"))
    completed = cronoq.ok("__complete", "live,pool,schedule", "")
    assert f"{number}\tblocked sleepy\n" in completed
    assert "later\tblocked sleepy\ndefault\t" in completed
    assert "nightly\t0 3 * * *\n" in completed
    cronoq.ok("daemon", "stop")
    assert cronoq.ok("__complete", "live,pool,schedule", "") == completed
    assert cronoq.ok("apply", "--dry-run", str(file)) == "nothing to change\n"
    rows = {row["key"]: (row["value"], row["source"]) for row in cronoq.ask("config", "show")["config"]["values"]}
    assert rows["daemon.log_level"] == ("debug", "file")
    assert rows["pools.default.workers"] == (3, "command")
    assert rows["daemon.share"] == ("weighted", "default")
