"""What the server serves: requests to their handlers, forwarded command lines through the commands, watch streams.

Meaning only: sockets and frames are the server's, the door is the scheduler's.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cronoq_cli.commands.verb_files import COMPLETE
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.handlers import (
    completing,
    explain,
    housekeeping,
    metrics,
    pools,
    reads,
    recurring,
    resources,
    service,
    submit,
    verbs,
    window,
)
from cronoq_cli.daemon.service import Service
from cronoq_cli.errors import CronoqError, UsageError
from cronoq_cli.model.event_filter import EventFilter
from cronoq_cli.model.snapshot import describe_transition
from cronoq_cli.model.task import Transition
from cronoq_cli.wire import requests, schedules
from cronoq_cli.wire.codec import CommandLine, LineAnswer
from cronoq_cli.wire.requests import Reply, Request, Watch

if TYPE_CHECKING:
    from cronoq_cli.commands.context import Context

log = logging.getLogger(__name__)
T = TypeVar("T")

Answer = Reply | Callable[[], Reply]
"""A reply, or what puts it together when what it tells is committed."""

HANDLERS: Mapping[type, Callable[[Desk, Any], Answer]] = {
    requests.Submit: submit.submit,
    requests.Rerun: submit.rerun,
    requests.ListTasks: reads.list_tasks,
    requests.ShowWindow: window.show_window,
    requests.ShowTasks: reads.show_tasks,
    requests.WaitTasks: reads.wait_tasks,
    requests.Events: reads.list_events,
    requests.Cancel: verbs.cancel,
    requests.Hold: verbs.hold,
    requests.Release: verbs.release,
    requests.Retry: verbs.retry,
    requests.StartNow: verbs.start_now,
    requests.Move: verbs.move,
    requests.Edit: verbs.edit,
    requests.EditEach: verbs.edit_each,
    requests.Signal: verbs.signal,
    requests.Remove: housekeeping.remove,
    requests.Prune: housekeeping.prune,
    requests.Pools: pools.show_pools,
    requests.PausePool: pools.pause_pools,
    requests.ResumePool: pools.resume_pools,
    requests.ScalePool: pools.scale_pool,
    requests.SetPool: pools.set_pool,
    requests.ResetPool: pools.reset_pools,
    requests.Resources: resources.show_resources,
    requests.SetResource: resources.set_resource,
    requests.Explain: explain.explain_tasks,
    schedules.ApplySchedules: recurring.apply_schedules,
    schedules.Schedules: recurring.show_schedules,
    schedules.ScheduleHistory: recurring.show_history,
    schedules.PauseSchedules: recurring.pause_schedules,
    schedules.ResumeSchedules: recurring.resume_schedules,
    schedules.SkipSchedule: recurring.skip_schedule,
    schedules.RunSchedule: recurring.run_schedule,
    schedules.RemoveSchedules: recurring.remove_schedules,
    schedules.RefreshSchedules: recurring.refresh_schedules,
    requests.Complete: completing.complete,
}
SERVICE: Mapping[type, Callable[[Service, Any], Reply]] = {
    requests.DaemonStatus: service.status,
    requests.Metrics: metrics.show_metrics,
    requests.DaemonStop: service.stop,
    requests.Reload: service.reload,
}
LOOKING = (
    requests.ListTasks,
    requests.ShowWindow,
    requests.ShowTasks,
    requests.WaitTasks,
    requests.Events,
    requests.Complete,
    schedules.ScheduleHistory,
)
"""What only looks at tasks is told what is committed and waits for no commit. All else is told what holds when the next
commit is done: what it says goes by what the engine knows already."""
READ_STEP = 1000
"""Stored transitions a watcher is sent at once before the live ones."""

Send = Callable[[dict[str, Any]], None]


def carry_out(desk: Desk, request: Request) -> Answer:
    """Have the handler of a request about tasks and what they go by carry it out, within a call of the scheduler."""
    handler = HANDLERS[type(request)]
    if isinstance(request, LOOKING):
        with desk.scheduler.looking():
            return handler(desk, request)
    desk.scheduler.begin_deciding()
    return handler(desk, request)


class Application:
    """One daemon's meaning."""

    def __init__(self, desk: Desk, daemon: Service) -> None:
        self._desk = desk
        self._daemon = daemon
        self._watchers: dict[int, tuple[frozenset[int] | None, EventFilter | None, int, Send]] = {}
        self._next_watcher = 0
        desk.scheduler.on_commit = self._publish

    def answer(self, request: Request) -> Answer:
        """Carry out a request. Raises UsageError for one that is not the daemon's to answer."""
        if requests.is_read_from_store(request):
            raise UsageError("this is read from the store, not asked of the daemon")
        service = SERVICE.get(type(request))
        return carry_out(self._desk, request) if service is None else service(self._daemon, request)

    def answer_now(self, request: Request) -> Reply:
        """The same, put together at once: for a command that prints it in its line."""
        answer = self.answer(request)
        return answer if isinstance(answer, Reply) else answer()

    def run(self, call: Callable[[], T], done: Callable[[T | BaseException], None]) -> Callable[[], None] | None:
        """The door."""
        return self._desk.scheduler.run(call, done)

    # -- command lines -------------------------------------------------------------------------------------------

    def answer_line(self, line: CommandLine) -> LineAnswer:
        """Parse and run a command line with the same commands the client has. Raises NeedsClient."""
        if line.argv[:1] == [COMPLETE]:
            return self._complete(line)
        from cronoq_cli.commands.app import run_line  # and with it the parser, which the start does not wait for

        context = self._make_context(line)
        status = run_line(line.argv, context)
        return _collect(context, status)

    def _complete(self, line: CommandLine) -> LineAnswer:
        """Words for a shell that completes one: past the parser, which takes longer than finding them."""
        from cronoq_cli.commands import candidates

        found = self.answer_now(candidates.parse_line(line.argv[1:])).doc["words"]
        return LineAnswer(0, candidates.format_candidates(found).encode("utf-8", "surrogateescape"), b"")

    def refuse_line(self, line: CommandLine, error: CronoqError) -> LineAnswer:
        """The answer to a line whose commit failed: what it printed does not hold."""
        from cronoq_cli.commands.render.notes import print_error

        context = self._make_context(line)
        print_error(context, error, as_json="--json" in line.argv)
        return _collect(context, error.exit)

    def _make_context(self, line: CommandLine) -> Context:
        from cronoq_cli.commands.context import Context

        return Context(
            gateway=_LocalGateway(self),
            cwd=line.cwd,
            umask=line.umask,
            env=line.env,
            out=io.StringIO(newline=""),
            err=io.StringIO(newline=""),
            now=lambda: self._desk.now().wall,
            stdin_tty=line.stdin_tty,
            stdout_tty=line.stdout_tty,
            stderr_tty=line.stderr_tty,
            columns=line.columns,
            home=self._desk.paths.home,
        )

    # -- watching ------------------------------------------------------------------------------------------------

    def watch(self, request: Watch, send: Send) -> Callable[[], None]:
        """Send what is stored after `after_seq`, then each transition as it is committed."""
        with self._desk.scheduler.looking():
            return self._watch(request, send)

    def _watch(self, request: Watch, send: Send) -> Callable[[], None]:
        ids: list[int] | None = None
        if request.select is not None and not request.select.is_empty():
            ids = self._desk.selecting.select(request.select, reads.ALL_STATUSES).ids
        store, wanted = self._desk.scheduler.store, request.filter
        last = store.last_transition_seq()
        send({"watching": last if request.after_seq is None else request.after_seq, "tasks": ids})
        after = last if request.after_seq is None else request.after_seq
        while after < last:
            found = store.list_transitions(after, READ_STEP, ids)
            for transition in found:
                if wanted is None or wanted.wants(transition):
                    send({"event": describe_transition(transition)})
            after = found[-1].seq if found else last
        self._next_watcher += 1
        number = self._next_watcher
        self._watchers[number] = (None if ids is None else frozenset(ids), wanted, last, send)
        return lambda: self._watchers.pop(number, None) and None

    def _publish(self, transitions: Iterable[Transition]) -> None:
        if not self._watchers:
            return
        for transition in transitions:
            message = {"event": describe_transition(transition)}
            for ids, wanted, last, send in list(self._watchers.values()):
                if transition.seq <= last:
                    continue  # it was read from the store, where it may stand before the loop hears of its commit
                if (ids is None or transition.id in ids) and (wanted is None or wanted.wants(transition)):
                    send(message)


class _LocalGateway:
    """Answers a command's requests within the daemon."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def ask(self, request: Request) -> Reply:
        """Carry out a request. Raises NeedsClient for what the client reads itself."""
        from cronoq_cli.commands.context import NeedsClient

        if requests.is_read_from_store(request):
            raise NeedsClient
        return self._application.answer_now(request)


def _collect(context: Context, status: int) -> LineAnswer:
    assert isinstance(context.out, io.StringIO)
    assert isinstance(context.err, io.StringIO)
    out = context.out.getvalue().encode("utf-8", "surrogateescape")
    err = context.err.getvalue().encode("utf-8", "surrogateescape")
    return LineAnswer(status, out, err)
