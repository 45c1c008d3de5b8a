"""A small daemon for tests: starts a runner in a directory of its own and speaks the protocol with it."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cronoq_cli.wire.runner import VERSION, Decoder, Message, encode_frame
from cronoq_cli.wire.sockets import connect_unix

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 20.0


def eventually(condition: Callable[[], Any], within_s: float = PATIENCE_S) -> Any:
    """The first true value of the condition; fails when there is none in time."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def list_of_attempt(token: str) -> list[int]:
    """Pids of living processes whose environment says that they belong to an attempt, or to several when only
    the beginning of a token is given.
    """
    wanted = f"\0CRONOQ_TOKEN={token}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in b"\0" + Path(f"/proc/{entry}/environ").read_bytes():
                    found.append(int(entry))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process of that pid runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class Runner:
    """One runner process, a connection to it, and everything it has said on it."""

    def __init__(self, home: Path, name: str = "r1", **options: Any) -> None:
        self.home = home
        self.journal = home / f"{name}.journal"
        self.socket = home / f"runner-{name}.sock"
        self.seen: list[Message] = []
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.store = f"{home.name}-{os.getpid()}-{name}"
        self._numbers = itertools.count(1)
        self._sent_environments: set[str] = set()
        reader, writer = os.pipe()
        words = ["--id", name, "--journal", str(self.journal), "--socket", str(self.socket)]
        words += ["--ready-fd", str(writer)]
        self.process = subprocess.Popen(
            [sys.executable, *options.pop("flags", ()), "-m", "cronoq_cli.runner", *words],
            cwd=PACKAGE_ROOT,
            pass_fds=(writer, *options.pop("kept_descriptors", ())),
            **options,
        )
        os.close(writer)
        with open(reader, "rb") as stream:
            self.ready = stream.read()
        self.connection: Any = None
        self._connections: list[Any] = []
        self._decoder = Decoder()

    def connect(self, epoch: int = 1, **lanes: int) -> Message:
        """Open a connection; the hello."""
        self.connection = connect_unix(str(self.socket), timeout_s=PATIENCE_S)
        self._connections.append(self.connection)
        self._decoder = Decoder()
        self.seen.clear()
        self._sent_environments.clear()
        self.send({"order": "open", "version": VERSION, "store": "s", "epoch": epoch, "lanes": lanes})
        return self.wait(lambda message: message["event"] in ("hello", "refused"))

    def send(self, *orders: Message) -> None:
        """Send orders in one frame."""
        self.connection.sendall(encode_frame(orders))

    def start(self, *argv: str, token: str | None = None, **fields: Any) -> str:
        """Order a start with plain defaults; its token."""
        token = token or self.get_token(next(self._numbers))
        self.send(*self.build_start(token, argv, **fields))
        return token

    def get_token(self, number: int) -> str:
        """The token of the start with that number, counted from 1."""
        return f"{self.store}:{number}:1"

    def get_report(self, number: int) -> str:
        """The report file of the start with that number."""
        return str(self.home / "reports" / self.get_token(number))

    def shell(self, line: str, **fields: Any) -> str:
        """Order a start of a shell line; its token."""
        return self.start("/bin/sh", "-c", line, **fields)

    def build_start(self, token: str, argv: tuple[str, ...], **fields: Any) -> list[Message]:
        """The messages of a start: the environment too when it was not sent yet."""
        orders: list[Message] = []
        if "env" not in fields and "e" not in self._sent_environments:
            self._sent_environments.add("e")
            variables = [f"{name}={value}" for name, value in self.environment.items()]
            orders.append({"order": "env", "id": "e", "vars": variables})
        start = {
            "order": "start",
            "token": token,
            "lane": "default",
            "width": 1,
            "argv": list(argv),
            "env": "e",
            "vars": {},
            "cwd": str(self.home),
            "umask": 0o022,
            "nice": None,
            "stdin": None,
            "log": str(self.get_log(token)),
            "stderr_log": None,
            "stdout": None,
            "stderr": None,
            "report": str(self.home / "reports" / token),
            "timeout_s": None,
            "kill_at": None,
            "heartbeat_s": None,
            "stop_signal": 15,
            "grace_s": 5.0,
            "leftovers": "leave",
        }
        return [*orders, start | fields]

    def get_log(self, token: str) -> Path:
        """Where a task's output goes."""
        return self.home / "logs" / f"{token}.log"

    def read_log(self, token: str) -> str:
        """A task's output so far."""
        try:
            return self.get_log(token).read_text()
        except FileNotFoundError:
            return ""

    def receive(self) -> None:
        """Take in what comes next on the connection; fails when it was closed."""
        data = self.connection.recv(1 << 20)
        assert data, "the runner closed the connection"
        self.seen += self._decoder.feed(data)

    def wait(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message, seen or to come, that is wanted."""
        looked = 0
        while True:
            while looked < len(self.seen):
                if wanted(self.seen[looked]):
                    return self.seen[looked]
                looked += 1
            self.receive()

    def wait_for(self, event: str, token: str) -> Message:
        """The first such event of a token."""
        return self.wait(lambda message: message["event"] == event and message.get("token") == token)

    def wait_ended(self, token: str) -> Message:
        """The end of an attempt."""
        return self.wait_for("ended", token)

    def run(self, *argv: str, **fields: Any) -> Message:
        """Start something and wait for its end."""
        return self.wait_ended(self.start(*argv, **fields))

    def run_shell(self, line: str, **fields: Any) -> Message:
        """Run a shell line and wait for its end."""
        return self.wait_ended(self.shell(line, **fields))

    def disconnect(self) -> None:
        """Close the connection as a dying daemon does."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def kill(self) -> None:
        """SIGKILL the runner."""
        self.disconnect()
        for connection in self._connections:
            connection.close()
        self.process.kill()
        self.process.wait()

    def read_trouble(self) -> str:
        """What the runner wrote about errors of its own."""
        path = self.journal.with_suffix(".log")
        return path.read_text() if path.exists() else ""

    def list_children(self) -> list[int]:
        """Pids of the runner's children, zombies too."""
        pid = self.process.pid
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def running(home: Path, name: str = "r1", **options: Any) -> Iterator[Runner]:
    """A runner that is gone afterwards, with every task of it."""
    runner = Runner(home, name, **options)
    try:
        yield runner
    finally:
        children = runner.list_children() if runner.process.poll() is None else []
        runner.kill()
        for pid in [*children, *list_of_attempt(f"{runner.store}:")]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
