"""A whole command line in-process: a gateway that records requests and answers documents, and streams in memory."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cronoq_cli.commands.app import run_line
from cronoq_cli.commands.context import Context
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.snapshot import describe_task
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.wire.requests import Explain, Reply, Request, ShowTasks, Submit

NOW = 1_790_000_000.0


def task_document(number: int = 7, status: str = "succeeded", **changes: Any) -> dict[str, Any]:
    """The document of a task as the daemon would give it, with some fields changed."""
    record = TaskRecord(
        id=number,
        spec=TaskSpec(name="make", command=["make", "test"]),
        status=Status(status),
        seq=float(number),
        submitted_at=NOW - 60,
        updated_at=NOW,
    )
    return {**describe_task(record, now=NOW, attempts=[]), **changes}


def explanation(**changes: Any) -> dict[str, Any]:
    """What `explain` answers for a task that nothing holds back, with some fields changed."""
    nothing = ("first", "score", "place", "ahead", "estimated_start", "estimate_basis", "running", "decided_by")
    return {"id": 7, "status": "ready", "blockers": [], **dict.fromkeys(nothing), **changes}


@dataclass
class FakeGateway:
    """Keeps every request; answers with what was put ready for its type, else with task 7."""

    requests: list[Request] = field(default_factory=list)
    replies: dict[type, list[Reply | CronoqError]] = field(default_factory=dict)

    def answer(self, kind: type, *replies: Reply | CronoqError) -> None:
        """Put answers ready; the last one is repeated."""
        self.replies[kind] = list(replies)

    def ask(self, request: Request) -> Reply:
        """Keep the request and give the answer put ready for it."""
        self.requests.append(request)
        ready = self.replies.get(type(request))
        if ready:
            reply = ready.pop(0) if len(ready) > 1 else ready[0]
            if isinstance(reply, CronoqError):
                raise reply
            return reply
        if isinstance(request, Submit):
            return _accept(request)
        if isinstance(request, Explain):
            return Reply(doc={"explain": explanation()})
        if isinstance(request, ShowTasks):
            return Reply(doc={"task": task_document()})
        return Reply(doc={"tasks": [task_document()]})


def _accept(request: Submit) -> Reply:
    """As the daemon answers a submission: the ids of its members, the batch, their documents."""
    if request.dry_run:
        return Reply(doc={"tasks": [], "dry_run": True, "count": len(request.specs)})
    if not request.batch:
        return Reply(doc={"ids": [7], "batch": None, "tasks": [task_document()]})
    ids = list(range(101, 101 + (request.members or len(request.specs))))
    tasks = [task_document(number) for number in ids]
    return Reply(doc={"ids": ids, "batch": f"{ids[0]}-{ids[-1]}", "tasks": tasks})


@dataclass
class FakeStreams:
    """The client's abilities, recorded; a wait is answered by the gateway, a watch by the messages put ready."""

    gateway: FakeGateway
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def wait(self, request: Request, timeout_s: float | None) -> Reply:
        """As the gateway answers."""
        self.calls.append(("wait", timeout_s))
        return self.gateway.ask(request)

    def watch(self, request: Request) -> Iterable[dict[str, Any]]:
        """The messages put ready."""
        self.calls.append(("watch", request))
        return iter(self.messages)

    def start_daemon(self, *, standby: bool = False) -> dict[str, Any]:
        """Pretend that one was started."""
        self.calls.append(("start", standby))
        return {"daemon": {"state": "running", "pid": 42}, "started": True}

    def run_daemon(self, *, standby: bool = False) -> int:
        """Pretend that it ran and ended well."""
        self.calls.append(("run", standby))
        return 0

    def stop_daemon(self, request: Request) -> Reply:
        """Pretend that it stopped."""
        self.calls.append(("stop", request))
        return Reply(doc={"daemon": {"state": "idle"}})


@dataclass
class Line:
    """What a command line came to."""

    status: int
    out: str
    err: str


class Caller:
    """Somebody at a shell: call it with words. `side` client has streams, daemon has none."""

    def __init__(self, cwd: str) -> None:
        self.gateway = FakeGateway()
        self.streams: FakeStreams | None = FakeStreams(self.gateway)
        self.cwd = cwd
        self.env = {"PATH": "/usr/bin:/bin", "HOME": "/home/ann", "TZ": "Europe/Berlin", "LANG": "C.UTF-8"}
        self.umask = 0o027
        self.stdin = b""
        self.terminal = False
        self.columns: int | None = None
        self.interactive = False
        self.err = io.StringIO()
        """What the line that runs now has written to stderr so far."""

    def on_daemon_side(self) -> Caller:
        """The same line, answered by the daemon."""
        self.streams = None
        return self

    def __call__(self, *words: str) -> Line:
        """Run one command line."""
        out, err = io.StringIO(), io.StringIO()
        self.err = err
        context = Context(
            gateway=self.gateway,
            cwd=self.cwd,
            umask=self.umask,
            env=self.env,
            out=out,
            err=err,
            now=lambda: NOW,
            streams=self.streams,
            stdin=io.BytesIO(self.stdin),
            stdin_tty=self.interactive,
            stdout_tty=self.terminal,
            stderr_tty=self.interactive,
            columns=self.columns,
        )
        status = run_line(list(words), context)
        return Line(status, out.getvalue(), err.getvalue())

    @property
    def request(self) -> Any:
        """The last request."""
        return self.gateway.requests[-1]

    @property
    def spec(self) -> TaskSpec:
        """The only spec of the last submission."""
        (spec,) = self.request.specs
        return spec


@pytest.fixture
def caller(tmp_path: Any) -> Iterator[Caller]:
    """Somebody at a shell in an empty directory."""
    return Caller(str(tmp_path))
