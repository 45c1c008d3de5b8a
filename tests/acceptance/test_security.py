"""The defences of SECURITY.md that need real processes: other users, links in our directories, hostile names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

NOBODY = 65534
ASKS = """
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.settimeout(10)
try:
    one.connect(sys.argv[1])
    one.sendall(bytes.fromhex(sys.argv[2]))
    print(len(one.recv(100)))
except OSError as error:
    print(type(error).__name__)
"""
STATUS = b'{"protocol":1,"client":"0.1.0","request":{"type":"daemon-status"}}'
FRAME = (len(STATUS) + 1).to_bytes(4, "big") + b"Q" + STATUS
OPEN = b'[{"order":"open","version":1,"store":"s","epoch":999999,"lanes":{}}]'
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\r\nfake line\u202e"


def ask_as_nobody(path: Path, frame: bytes) -> str:
    """What another user gets from a socket: the number of bytes of an answer, or the name of an error."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable  # ours may lie in a closed directory
    words = ["/usr/bin/env", "-i", python, "-I", "-S", "-c", ASKS, str(path), frame.hex()]
    done = subprocess.run(words, user=NOBODY, group=NOBODY, capture_output=True, text=True, timeout=60, check=False)
    if "Permission denied" in done.stderr:
        pytest.skip("another user cannot run this Python")
    return done.stdout.strip()


def test_another_user_reaches_neither_daemon_nor_runner_even_through_open_directories(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    (daemon_socket,) = cronoq.home.rglob("cronoq.sock")
    (runner_socket,) = cronoq.home.rglob("runner-*.sock")
    sockets = {daemon_socket: FRAME, runner_socket: len(OPEN).to_bytes(4, "big") + OPEN}
    for path, frame in sockets.items():
        assert ask_as_nobody(path, frame) == "PermissionError"
    opened = [path for path in (daemon_socket, *daemon_socket.parents) if str(cronoq.home.parent) in str(path)]
    for path in [*opened, runner_socket]:
        path.chmod(0o777)
    # The modes are gone: who asks is looked at too.
    for path, frame in sockets.items():
        assert ask_as_nobody(path, frame) in ("0", "ConnectionResetError", "BrokenPipeError", "PermissionError")
    cronoq.home.chmod(0o700)
    assert cronoq.wait_for(cronoq.submit("--", "true"))["status"] == "succeeded"


def test_links_that_a_task_puts_in_the_place_of_anothers_files_are_not_followed(cronoq: Any, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    first = cronoq.wait_for(cronoq.submit("--", "true"))
    logs = Path(first["log"]).parent
    for ending in ("log", "report"):
        (logs / f"{first['id'] + 1}.1.{ending}").symlink_to(victim)
    ended = cronoq.wait_for(cronoq.submit("--", "sh", "-c", "echo overwritten; echo a=b >> $CRONOQ_REPORT"))
    assert victim.read_text() == "precious\n"
    assert ended["status"] == "failed"
    assert "cannot" in ended["reason"]
    assert cronoq.wait_for(cronoq.submit("--", "true"))["status"] == "succeeded"


def test_pipes_that_a_task_puts_in_the_place_of_its_files_hold_up_nobody(cronoq: Any, tmp_path: Path) -> None:
    script = (
        "for f in $CRONOQ_REPORT ${CRONOQ_REPORT%report}log; do rm -f $f; mkfifo $f; done; touch made; exec sleep 1000"
    )
    task = cronoq.submit("-C", tmp_path, "--", "sh", "-c", script)
    cronoq.wait_until((tmp_path / "made").exists, what="the pipes")
    for words in (("ls",), ("show", task), ("ls", "--json"), ("metrics",), ("logs", task), ("explain", task)):
        assert cronoq(*words, timeout=20).returncode in (0, 1, 3), words
    cronoq.ok("cancel", task)
    assert cronoq.wait_for(task)["status"] == "cancelled"
    assert cronoq.wait_for(cronoq.submit("--", "true"))["status"] == "succeeded"


def test_what_a_task_puts_among_the_files_of_the_state_directory_is_no_journal_and_no_log(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    cronoq.ok("daemon", "stop")
    precious = cronoq.home.parent / "precious"
    precious.write_text("precious\n")
    runners = cronoq.home / "runners"
    os.mkfifo(runners / "pipe.journal")
    (runners / "link.journal").symlink_to(precious)
    (runners / "directory.journal").mkdir()
    (runners / "text.journal").write_text('{"record":"begin","token":""}\nno record\n[]\n')
    assert cronoq.wait_for(cronoq.submit("--", "true"))["status"] == "succeeded"
    cronoq.ok("daemon", "stop")
    (cronoq.home / "daemon.log").unlink()
    (cronoq.home / "daemon.log").symlink_to(precious)
    refused = cronoq("daemon", "start")
    assert refused.returncode == 5
    assert "daemon.log" in refused.stderr
    (cronoq.home / "daemon.log").unlink()
    cronoq.ok("daemon", "start")
    assert precious.read_text() == "precious\n"


def test_a_task_that_removes_its_files_or_kills_the_runner_costs_no_other_task(cronoq: Any, tmp_path: Path) -> None:
    waits = "until [ -e go ]; do sleep 0.05; done; exit 5"
    other = cronoq.submit("-C", tmp_path, "--on-lost", "requeue", "--", "sh", "-c", waits)
    cronoq.wait_for(other, "running")
    gone = cronoq.submit("--", "sh", "-c", "rm -f $CRONOQ_REPORT ${CRONOQ_REPORT%report}log; echo gone; exit 3")
    assert cronoq.wait_for(gone)["exit_code"] == 3
    assert cronoq("logs", gone).returncode in (0, 3)
    killer = cronoq.submit("--", "sh", "-c", "kill -KILL $PPID; sleep 1000")
    ended = cronoq.wait_for(killer, within_s=60)
    assert "lost" in ended["reason"]
    (tmp_path / "go").touch()
    assert cronoq.wait_for(other, within_s=60)["exit_code"] == 5


@pytest.mark.parametrize("colour", ["never", "always"])
def test_escapes_in_what_others_wrote_are_shown_and_not_obeyed(cronoq: Any, colour: str) -> None:
    script = "printf 'message=%s\\n' \"$1\" | head -1 >> $CRONOQ_REPORT; exit 3"
    task = cronoq.submit("-n", HOSTILE, "-t", f"tag={HOSTILE}", "--", "sh", "-c", script, HOSTILE, HOSTILE)
    cronoq.wait_for(task)
    for words in (("ls",), ("show", task), ("events",), ("explain", task), ("wait", task)):
        done = cronoq(*words, env={"FORCE_COLOR": "1"} if colour == "always" else {"NO_COLOR": "1"})
        shown = done.stdout + done.stderr
        assert "\x1b]0" not in shown, words
        assert "\x1b[31mred" not in shown, words
        assert not {"\x07", "\x9b", "\r", "\u202e"} & set(shown), words
        assert "\nfake line" not in shown, words
    refused = cronoq("show", HOSTILE)
    assert refused.returncode == 2
    assert not {"\x1b", "\x07", "\x9b"} & set(refused.stderr)


def test_the_daemon_listens_on_no_network(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    inodes = set()
    for pid in [cronoq.find_daemon(), *cronoq.list_runners()]:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            target = os.readlink(entry)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    assert inodes
    for table in ("tcp", "tcp6", "udp", "udp6"):
        path = Path("/proc/net") / table
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        assert not inodes & {line.split()[9] for line in lines}
