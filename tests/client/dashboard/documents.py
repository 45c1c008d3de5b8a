"""Documents, and a daemon made of documents, that the tests of the dashboard share."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Any

from cronoq_cli.client.dashboard.board import Board
from cronoq_cli.commands.render.style import Style
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.snapshot import describe_pool, describe_task
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.wire.requests import (
    Explain,
    PausePool,
    Reply,
    Request,
    ScalePool,
    ShowTasks,
    ShowWindow,
    Throughput,
    Watch,
)
from cronoq_cli.wire.schedules import Schedules

NOW = 1_790_000_000.0
STYLE = Style(columns=80, colour=False, unicode=True, now=NOW, zone=UTC)
ASCII = Style(columns=80, colour=False, unicode=False, now=NOW, zone=UTC)


def make_task(task_id: int, status: str = "ready", *, name: str = "make", **changes: Any) -> dict[str, Any]:
    """The document of a task that has waited ten seconds, with some fields changed."""
    spec = TaskSpec(name=name, command=[name, str(task_id)])
    record = TaskRecord(
        id=task_id,
        spec=spec,
        status=Status(status),
        seq=float(task_id),
        submitted_at=NOW - 20,
        updated_at=NOW,
        ready_at=NOW - 10,
    )
    if status not in ("ready", "blocked", "scheduled"):
        record.attempt, record.started_at = 1, NOW - 5
    if status not in ("ready", "blocked", "scheduled", "running", "retrying"):
        record.finished_at = NOW - 1
    return {**describe_task(record, now=NOW, attempts=()), **changes}


def make_pool(name: str = "default", **facts: Any) -> dict[str, Any]:
    """The document of a pool of four workers."""
    return describe_pool(name, **{"workers": 4, "busy": 1, "running": 1, "waiting": {"normal": 2}, "now": NOW, **facts})


def make_window(
    *tasks: dict[str, Any], total: int | None = None, offset: int = 0, more: int = 0, **changes: Any
) -> Any:
    """The answer to a ShowWindow."""
    count = len(tasks) if total is None else total
    summary = {"running": 1, "ready": 2}
    pools = [make_pool()]
    document = {"tasks": list(tasks), "offset": offset, "total": count, "more": more, "summary": summary, "seq": 5}
    return {**document, "pools": pools, **changes}


def make_event(seq: int, task_id: int, status: str, at: float = NOW, attempt: int | None = 1) -> dict[str, Any]:
    """The document of a transition."""
    return {"seq": seq, "at": format_utc(at), "type": status, "id": task_id, "status": status, "attempt": attempt}


def make_board(*tasks: dict[str, Any], height: int = 10, **changes: Any) -> Board:
    """A board that shows these tasks."""
    board = Board()
    board.rows.resize(0, height)
    board.take_window(make_window(*tasks, **changes), NOW)
    return board


class FakeDaemon:
    """Answers requests from documents, keeps what it was asked, and has a stream that a test feeds."""

    def __init__(self, *tasks: dict[str, Any]) -> None:
        self.tasks = list(tasks)
        self.asked: list[Request] = []
        self.is_awake = threading.Event()
        self.is_awake.set()
        self.refuse: dict[type, Exception] = {}
        self.stream: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.schedules: list[dict[str, Any]] = []

    def ask(self, request: Request) -> Reply:
        """The answer, or the error the test wants."""
        self.asked.append(request)
        self.is_awake.wait(10.0)
        if (error := self.refuse.get(type(request))) is not None:
            raise error
        match request:
            case ShowWindow():
                return Reply(doc=self._window(request))
            case ShowTasks() | Explain():
                return self._answer_about(request)
            case Throughput():
                return Reply(doc={"since": None, "last_seq": 0, "steps": []})
            case Schedules():
                return Reply(doc={"recurring": self.schedules})
            case ScalePool() | PausePool():
                return Reply(doc={"pools": [make_pool()]})
        return Reply(doc={"tasks": [task for task in self.tasks if str(task["id"]) in request.select.refs]})

    def _window(self, request: ShowWindow) -> dict[str, Any]:
        wanted, text = request.select.statuses, request.text or ""
        found = [task for task in self.tasks if not wanted or task["status"] in wanted]
        found = [task for task in found if text in task["name"]]
        shown = found[request.offset : request.offset + request.limit]
        return make_window(*shown, total=len(found), offset=request.offset)

    def _answer_about(self, request: ShowTasks | Explain) -> Reply:
        (ref,) = request.select.refs
        task = next(task for task in self.tasks if str(task["id"]) == ref)
        if isinstance(request, ShowTasks):
            return Reply(doc={"task": task})
        nothing = dict.fromkeys(
            ("first", "score", "place", "ahead", "estimated_start", "estimate_basis", "running", "decided_by")
        )
        return Reply(doc={"explain": {"id": task["id"], "status": task["status"], "blockers": [], **nothing}})

    def watch(self, request: Watch, note: Callable[[str], None]) -> Iterator[dict[str, Any]]:
        """What the test puts into the stream; a word is a note, None its end."""
        yield {"watching": 0, "tasks": None}
        while (item := self.stream.get()) is not None:
            if isinstance(item, str):
                note(item)
            else:
                yield {"event": item}

    def requests(self, kind: type) -> list[Any]:
        """What was asked of this kind."""
        return [request for request in self.asked if type(request) is kind]
