"""A cronoq of its own for each test: a temporary home, the real command as a subprocess, and at the end a stopped
daemon and no process left. What is tested lives in the test files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")
Done = subprocess.CompletedProcess[str]

ROOT = Path(__file__).parents[2]
FINAL = frozenset({"succeeded", "failed", "dead_lettered", "cancelled", "skipped", "missed", "shed"})
PATIENCE_S = 20.0
"""How long a condition may take on a loaded machine before it counts as never coming."""


def find_command() -> list[str]:
    """The words that are `cronoq`: CRONOQ_COMMAND, else the one beside this Python, else the entry file itself."""
    named = os.environ.get("CRONOQ_COMMAND")
    if named:
        return shlex.split(named)
    beside = Path(sys.executable).with_name("cronoq")
    if beside.exists():
        return [str(beside)]
    return [sys.executable, str(ROOT / "cronoq_cli" / "entry" / "cronoq")]


class Cronoq:
    """One home and the command in it. Calling it runs the command: `cronoq("ls", "--json")`."""

    def __init__(self, home: Path, forced: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.forced = dict(forced or {})
        """Settings of `[daemon]` for whatever does not give them itself."""
        self.command = find_command()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("CRONOQ_")}
        self.env["CRONOQ_HOME"] = str(home)
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), self.env.get("PYTHONPATH"))))

    # -- the command ---------------------------------------------------------------------------------------------

    def __call__(
        self,
        *words: str | bytes | int,
        input: str | None = None,  # noqa: A002  -- the name that subprocess has for it
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        **more: Any,
    ) -> Done:
        """Run the command to its end; text is surrogate-escaped UTF-8, `env` is added to the usual one.

        stdin is empty unless `input` is given. Raises subprocess.TimeoutExpired after `timeout` seconds.
        """
        self._force(*words)
        if input is None:
            more.setdefault("stdin", subprocess.DEVNULL)
        else:
            more["input"] = os.fsencode(input)
        done = subprocess.run(
            [*self.command, *_words(words)],
            env={**self.env, **(env or {})},
            timeout=timeout,
            check=False,
            capture_output=True,
            **more,
        )
        # Decoded here, since subprocess would turn carriage returns into newlines.
        return Done(done.args, done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def start(self, *words: str | bytes | int, env: Mapping[str, str] | None = None, **more: Any) -> Any:
        """The command as a running process with pipes on stdout and stderr (bytes)."""
        self._force(*words)
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*self.command, *_words(words)], env={**self.env, **(env or {})}, **more)

    def ok(self, *words: str | bytes | int, **more: Any) -> str:
        """Run the command, which must succeed; its stdout."""
        done = self(*words, **more)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}{self.log_tail()}"
        return done.stdout

    def output(self, *words: str | bytes | int, **more: Any) -> str:
        """Submit with these words and wait: what the task, which must succeed, has written. Cheaper than `run`."""
        task = self.wait_for(self.submit(*words, **more))
        log = Path(task["log"]).read_bytes()
        assert task["status"] == "succeeded", f"{words}: {task['reason']}\n{log[-2000:]!r}{self.log_tail()}"
        return os.fsdecode(log)

    def ask(self, *words: str | bytes | int, **more: Any) -> dict[str, Any]:
        """Run the command with `--json`; its document."""
        return dict(json.loads(self.ok(*words, "--json", **more)))

    def submit(self, *words: str | bytes | int, **more: Any) -> int:
        """Submit; the id."""
        return int(self.ok("submit", *words, **more))

    def show(self, ref: int | str, *words: str) -> dict[str, Any]:
        """The document of one task."""
        return dict(self.ask("show", ref, *words)["task"])

    def logs(self, ref: int | str, *words: str) -> bytes:
        """What `logs` prints, byte by byte."""
        return self.ok("logs", ref, *words).encode("utf-8", "surrogateescape")

    def read_log(self, ref: int | str) -> bytes:
        """The log of the newest attempt, read from its file: a tenth of what `logs` costs."""
        return Path(self.show(ref)["log"]).read_bytes()

    def status(self) -> dict[str, Any]:
        """The daemon's own document."""
        return dict(self.ask("daemon", "status")["daemon"])

    def configure(self, text: str) -> None:
        """Write the configuration; for before the daemon starts."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        missing = [f'{name} = "{value}"\n' for name, value in self.forced.items() if f"\n{name} = " not in text]
        if missing:
            table = "".join(["[daemon]\n", *missing])
            text = text.replace("[daemon]\n", table, 1) if "[daemon]\n" in text else f"{text}\n{table}"
        (self.home / "config.toml").write_text(text)

    def _force(self, *words: str | bytes | int) -> None:
        """A home without a configuration gets one before a daemon may start in it, where settings are forced."""
        if self.forced and "doctor" not in words[:1] and not (self.home / "config.toml").exists():
            self.configure("")
            (self.home / "config.toml").chmod(0o600)

    # -- waiting -------------------------------------------------------------------------------------------------

    def wait_until(
        self, condition: Callable[[], Value], *, within_s: float = PATIENCE_S, what: str = "the condition"
    ) -> Value:
        """The first true value of `condition`, looked at again and again; fails the test after `within_s`."""
        deadline = time.monotonic() + within_s
        pause_s = 0.01
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"{what} did not come true within {within_s:g} s; last seen {value!r}{self.log_tail()}")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, 0.2)

    def wait_for(self, ref: int | str, *statuses: str, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """The task's document once its status is one of `statuses` (without any: once it is final)."""
        wanted = frozenset(statuses) or FINAL
        if wanted <= FINAL:
            with contextlib.suppress(subprocess.TimeoutExpired):  # without --timeout the fast way answers
                self("wait", "-q", ref, timeout=within_s)
        task = self.show(ref)
        deadline = time.monotonic() + within_s
        while task["status"] not in wanted:
            if time.monotonic() > deadline or task["status"] in FINAL:
                pytest.fail(f"task {ref} is {task['status']} ({task['reason']}), not {set(wanted)}{self.log_tail()}")
            time.sleep(0.05)
            task = self.show(ref)
        return task

    # -- processes -----------------------------------------------------------------------------------------------

    def list_processes(self) -> list[int]:
        """Pids of everything alive that has this home in its words or environment: daemon, runner, clients, tasks."""
        mark = os.fsencode(self.home)
        return [pid for pid in _list_pids() if any(mark in _read(pid, file) for file in ("cmdline", "environ"))]

    def find_daemon(self) -> int | None:
        """The pid of the daemon's process."""
        return next(iter(self._list_parts(b"cronoq_cli.daemon")), None)

    def list_runners(self) -> list[int]:
        """Pids of the runners."""
        return self._list_parts(b"cronoq_cli.runner")

    def _list_parts(self, module: bytes) -> list[int]:
        home = os.fsencode(self.home)
        return [
            p
            for p in _list_pids()
            if module in (words := _read(p, "cmdline").split(b"\0")) and home in b" ".join(words)
        ]

    def log_tail(self) -> str:
        """The end of the daemon's log, for messages of failing tests."""
        try:
            return "\n-- daemon.log --\n" + (self.home / "daemon.log").read_text(errors="replace")[-3000:]
        except OSError:
            return ""

    def finish(self) -> list[int]:
        """Stop the daemon; what was left after that, killed by now."""
        self._stop_daemon()
        deadline = time.monotonic() + 5
        while (left := self.list_processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def _stop_daemon(self) -> None:
        """Ask it to stop; a second later, ask again, which ends what still runs at once."""
        hurry_at = time.monotonic() + 1
        deadline = hurry_at + 10
        if (daemon := self.find_daemon()) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(daemon, signal.SIGTERM)
                while self.find_daemon() == daemon and time.monotonic() < deadline:
                    if time.monotonic() > hurry_at:
                        hurry_at = deadline
                        os.kill(daemon, signal.SIGTERM)
                    time.sleep(0.02)


def _words(words: Sequence[str | bytes | int]) -> list[str | bytes]:
    return [str(word) if isinstance(word, int) else word for word in words]


def _list_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def _making(config: pytest.Config) -> Iterator[Callable[..., Cronoq]]:
    forced = {name: value for name in ("commit", "leases") if (value := config.getoption(name)) != "auto"}
    base = Path(tempfile.mkdtemp(prefix="cronoq-"))
    made: list[Cronoq] = []

    def make(home: Path | None = None) -> Cronoq:
        made.append(Cronoq(home or base / f"h{len(made)}", forced))
        return made[-1]

    yield make
    left = {str(one.home): found for one in made if (found := one.finish())}
    shutil.rmtree(base, ignore_errors=True)
    assert not left, f"processes were left: {left}"


@pytest.fixture
def make_cronoq(pytestconfig: pytest.Config) -> Iterator[Callable[..., Cronoq]]:
    """Makes a cronoq in a directory that is named, or in a new one; all are stopped at the end of the test."""
    with _making(pytestconfig) as make:
        yield make


@pytest.fixture(scope="module")
def shared(pytestconfig: pytest.Config) -> Iterator[Cronoq]:
    """One cronoq for all tests of a file that leave its daemon as they found it: starting one costs a second."""
    with _making(pytestconfig) as make:
        yield make()


@pytest.fixture
def cronoq(make_cronoq: Callable[..., Cronoq]) -> Cronoq:
    """A cronoq of this test alone; the daemon starts with the first command that needs one."""
    return make_cronoq()
