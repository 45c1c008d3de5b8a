"""What a command costs as a whole process, beside `python -c pass` of the same interpreter."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator

from benchmarks.home import PYTHON, Home, open_home
from benchmarks.measuring import Figure, Seconds, compare, time_call

PASS = [PYTHON, "-c", "pass"]
LINES = {
    "submit": (("submit", "--hold", "--", "/bin/true"), 1.10),
    "ls, piped": (("ls",), 1.20),
    "ls --json": (("ls", "--json"), 1.20),
    "show": (("show", "1"), 1.20),
    "cancel (nothing to do)": (("cancel", "1"), 1.20),
    "wait (already over)": (("wait", "1"), 1.20),
}


def measure(quick: bool) -> Iterator[Figure]:
    """Each everyday command to `pass`."""
    with open_home() as home:
        home.call("run", "--", "/bin/true")
        for number in range(50):
            home.call("submit", "--hold", "--", "/bin/echo", number)
        for name, (words, target) in LINES.items():
            times = 20 if quick else 100
            yield compare(name, _process(home, home.words(*words)), _process(home, PASS), times=times, target=target)


def _process(home: Home, words: list[str]) -> Seconds:
    def call() -> object:
        return subprocess.run(words, env=home.env, capture_output=True, check=False)

    return lambda: time_call(call)


def measure_terminal(quick: bool) -> Iterator[Figure]:
    """`ls` drawn with colours for a terminal, to `pass` on one."""
    with open_home() as home:
        for number in range(50):
            home.call("submit", "--hold", "--", "/bin/echo", number)
        ours, peer = _on_terminal(home, home.words("ls")), _on_terminal(home, PASS)
        yield compare("ls on a terminal", ours, peer, times=8 if quick else 30, target=8.0)


def _on_terminal(home: Home, words: list[str]) -> Seconds:
    def call() -> None:
        leader, follower = pty.openpty()
        env = home.env | {"TERM": "xterm-256color", "COLUMNS": "120"}
        process = subprocess.Popen(words, env=env, stdin=follower, stdout=follower, stderr=follower)
        os.close(follower)
        while _read(leader):
            pass
        process.wait()
        os.close(leader)

    return lambda: time_call(call)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""
