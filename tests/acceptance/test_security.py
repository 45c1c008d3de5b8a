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
