"""`cronoq top` on a real terminal (a pty) with a real daemon."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.conftest import PATIENCE_S, Cronoq

_ESCAPE = re.compile(r"\x1b(\[[0-9;?<>=$]*[A-Za-z]|\][^\x07]*\x07|.)")


class Terminal:
    """A pty of 80x24 that a command runs on; what it drew is kept."""

    def __init__(self, cronoq: Cronoq, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.drawn = ""
        env = {**cronoq.env, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [*cronoq.command, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            start_new_session=True,
        )

    def read(self, wait_s: float) -> bool:
        """Take in what was drawn; whether anything came."""
        ready, _, _ = select.select([self.ours], [], [], wait_s)
        if ready:
            self.drawn += os.read(self.ours, 1 << 16).decode("utf-8", "replace")
        return bool(ready)

    def see(self, text: str) -> None:
        """Wait until this text was drawn."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text():
            self.read(0.1)
            assert time.monotonic() < deadline, f"{text!r} was not drawn:\n{self.text()[-3000:]}"

    def text(self) -> str:
        """What was drawn, without what moves the cursor and colours."""
        return _ESCAPE.sub("", self.drawn)

    def press(self, keys: str) -> None:
        """Press keys; what was drawn before is forgotten."""
        self.drawn = ""
        os.write(self.ours, keys.encode())

    def wait(self) -> int:
        """The exit status, everything drawn taken in."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.05)
        while self.read(0.0):
            pass
        return self.process.wait(timeout=1)

    def assert_restored(self) -> None:
        """Modes, screen and cursor are as they were."""
        assert termios.tcgetattr(self.theirs) == self.before
        assert self.drawn.rindex("\x1b[?1049l") > self.drawn.rfind("\x1b[?1049h")
        assert self.drawn.rindex("\x1b[?25h") > self.drawn.rfind("\x1b[?25l")


@pytest.fixture
def open_top(cronoq: Cronoq) -> Iterator[Any]:
    made: list[Terminal] = []

    def start(*words: str) -> Terminal:
        made.append(Terminal(cronoq, "top", *words))
        return made[-1]

    yield start
    for terminal in made:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.ours)
        os.close(terminal.theirs)


def test_a_task_is_seen_and_cancelled_by_keys_and_the_terminal_is_restored(cronoq: Cronoq, open_top: Any) -> None:
    number = cronoq.submit("-n", "long\x1b[2J", "--", "sh", "-c", "echo its output; sleep 300")
    top = open_top()
    top.see(r"long\x1b[2J")
    top.see("its output")
    top.press("c")
    top.see(f"Cancel task {number}?")
    assert cronoq.show(number)["status"] == "running"
    top.press("y")
    top.see(f"cancelled {number}")
    cronoq.wait_for(number, "cancelled")
    top.press("/nowhere\r")
    top.see("no task has this text")
    top.press("q")
    assert top.wait() == 0
    top.assert_restored()


def test_it_survives_the_daemon_and_ends_by_sigterm_with_the_terminal_restored(cronoq: Cronoq, open_top: Any) -> None:
    cronoq.submit("-n", "first", "--", "true")
    top = open_top("--read-only")
    top.see("read-only")
    top.see("first")
    daemon = cronoq.find_daemon()
    assert daemon is not None
    top.drawn = ""
    os.kill(daemon, signal.SIGKILL)
    top.see("no daemon")
    top.see("the daemon is back")
    cronoq.submit("-n", "second", "--", "true")
    top.see("second")
    top.process.terminate()
    assert top.wait() == 128 + signal.SIGTERM
    top.assert_restored()


def test_without_a_terminal_it_says_so_in_one_line(shared: Cronoq) -> None:
    done = shared("top")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "cronoq: top needs a terminal, and standard output is none (cronoq ls goes into pipes)\n"
