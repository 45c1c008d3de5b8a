"""A daemon's process ahead of need: it loads its modules while this client loads its own, and waits for its words.

Where no daemon listens and the command line is one that wants one, half of the time until the answer is imports, first
the client's, then the daemon's; side by side they take hardly longer than the daemon's alone. Nothing is touched before
the words come (`launch` gives them); without any, when this client ends, or after a while, the process ends as well.
Imports nothing that costs time. The other end is `daemon/detach.await_words`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from cronoq_cli.client.daemon_command import PROGRAM, WORDS_ON_STDIN, build_environment

WANTING = ([b"submit"], [b"run"], [b"daemon", b"start"], [b"recurring", b"add"])
"""How command lines begin that want a daemon, and wait for it."""
HOLDERS = ("CRONOQ_TASK_ID", "CRONOQ_NO_AUTOSTART")
"""Where one of these is set, a command seldom starts a daemon."""


class HeadStart:
    """The process that waits for its words on its standard input. `env`: what it was started with."""

    def __init__(self, home: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it with the environment; `home`: what lists of processes are to show of its home. Raises OSError."""
        self.env = build_environment(env)
        words, self._words = os.pipe()
        self._reading, self._ready = os.pipe()
        try:
            os.set_inheritable(self._ready, True)
            quiet = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2)]
            actions = [(os.POSIX_SPAWN_DUP2, words, 0), *quiet]
            program = [sys.executable, *PROGRAM, *home, WORDS_ON_STDIN]
            self._pid = os.posix_spawn(program[0], program, self.env, file_actions=actions, setsid=True)
        except BaseException:
            self._close()
            raise
        finally:
            os.close(words)

    def give(self, words: Sequence[str], log: str) -> int | None:
        """Give it its words, and the file that takes what it prints early; once it is in the background, the descriptor
        on which it says that it is ready. None when it ended before."""
        said = (log, *words, "--ready-fd", str(self._ready))
        try:
            os.write(self._words, b"\0".join(map(os.fsencode, said)) + b"\n")  # so little a pipe takes at once
            gone = False
        except OSError:
            gone = True
        os.close(self._words)
        os.close(self._ready)
        if os.waitpid(self._pid, 0)[1] == 0 and not gone:
            return self._reading
        os.close(self._reading)
        return None

    def end(self) -> None:
        """End the process, which has no words yet."""
        self._close()
        try:
            os.kill(self._pid, signal.SIGKILL)  # it has nothing to leave in order
        except OSError:
            pass
        os.waitpid(self._pid, 0)

    def _close(self) -> None:
        for descriptor in (self._words, self._ready, self._reading):
            os.close(descriptor)


_waiting: HeadStart | None = None
_turn: int | None = None
"""The descriptor whose lock says that this client is the one with a process that waits."""


def begin(home: bytes | None, words: Sequence[bytes], state_dir: bytes) -> None:
    """Start a process for words that want a daemon, where there is none; one for all clients of a state directory.

    `home`: that which `--home` has named."""
    global _waiting
    wanted = any(words[: len(beginning)] == beginning for beginning in WANTING)
    may_be = bool(sys.executable) and not any(os.environ.get(name) for name in HOLDERS)
    if wanted and may_be and _has_turn(state_dir):
        shown = os.environ.get("CRONOQ_HOME") if home is None else os.fsdecode(home)
        try:
            _waiting = HeadStart(["--home", shown] if shown else [], os.environ)
        except (OSError, NotImplementedError, ValueError):
            pass  # who starts a daemon the usual way tells what is wrong


def _has_turn(state_dir: bytes) -> bool:
    """Whether no other client has begun one there, which holds as long as this process lives."""
    global _turn
    import fcntl

    while state_dir and not os.path.isdir(state_dir):
        state_dir = os.path.dirname(state_dir)
    try:
        _turn = os.open(state_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(_turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take(env: Mapping[str, str]) -> HeadStart | None:
    """The process that was begun for this environment, once."""
    global _waiting
    taken, _waiting = _waiting, None
    if taken is not None and taken.env != build_environment(env):
        taken.end()
        return None
    return taken


def drop() -> None:
    """End the process that was begun and not taken, if there is one."""
    global _waiting
    dropped, _waiting = _waiting, None
    if dropped is not None:
        dropped.end()
