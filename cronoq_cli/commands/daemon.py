"""`cronoq daemon`: start, stop and look at the daemon. The processes themselves are the client's matter."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import group, option, verb
from cronoq_cli.commands.following import Output
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.status import print_status
from cronoq_cli.commands.spec_options import find_named, parse_named, parse_number
from cronoq_cli.config.paths import find_paths
from cronoq_cli.errors import ExitStatus, NoDaemonError, NotFoundError, UsageError
from cronoq_cli.logs.tail import Tail
from cronoq_cli.model.duration import parse_duration
from cronoq_cli.wire.requests import DaemonStatus, DaemonStop, Reload

Standby = Annotated[bool, option("--standby", help="When one runs already: wait, and take over when it is gone.")]
Timeout = Annotated[
    str | None, option("--timeout", help="How long tasks may take to end; 30s, or as configured.", metavar="DUR")
]
USUAL_LINES = 100
LOOK_EVERY_S = 0.2
IDLE = {"daemon": {"state": "idle"}}


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    daemon = group(app, "daemon", help="Start, stop and look at the daemon.", panel="Pools and daemon")
    verb(daemon, "start", examples=("cronoq daemon start",))(start)
    verb(daemon, "stop", examples=("cronoq daemon stop", "cronoq daemon stop --keep-tasks"))(stop)
    verb(daemon, "restart", examples=("cronoq daemon restart",))(restart)
    verb(daemon, "status", examples=("cronoq daemon status --json",))(status)
    verb(daemon, "run", examples=("cronoq daemon run --standby",))(run)
    verb(daemon, "drain", examples=("cronoq daemon drain --timeout 1h",))(drain)
    verb(daemon, "logs", examples=("cronoq daemon logs -f",))(logs)
    verb(daemon, "reload", examples=("cronoq daemon reload",))(reload)
    verb(daemon, "install", examples=("cronoq daemon install", "cronoq daemon install --print"))(install)
    verb(daemon, "uninstall", examples=("cronoq daemon uninstall",))(uninstall)


def start(context: Context, standby: Standby = False, json: Json = False) -> int | None:
    """Start the daemon in the background and return when it is ready. One that runs already is left alone."""
    context.json = json
    doc = context.need_streams().start_daemon(standby=standby)
    _say_started(context, doc)
    return 0


def stop(
    context: Context,
    timeout: Timeout = None,
    keep_tasks: Annotated[bool, option("--keep-tasks", help="Leave running tasks to the runner.")] = False,
    hand_over: Annotated[bool, option("--hand-over", help="Leave standbys to take over.")] = False,
    json: Json = False,
) -> int | None:
    """Stop the daemon: no new starts, each running task gets its stop signal, and KILL after the timeout.

    A stopped task goes back to the front of its queue, and the attempt does not count.
    """
    if keep_tasks and timeout is not None:
        raise UsageError("--keep-tasks with --timeout", hint="no task is stopped, so nothing is waited for")
    request = DaemonStop(
        mode="keep" if keep_tasks else "stop",
        timeout_s=find_named("--timeout", timeout, parse_duration),
        hand_over=hand_over,
    )
    return _stop(context, request, "stopped", json)


def drain(context: Context, timeout: Timeout = None, json: Json = False) -> int | None:
    """Start nothing more, and stop the daemon when all running tasks have ended by themselves."""
    return _stop(
        context,
        DaemonStop(mode="drain", timeout_s=find_named("--timeout", timeout, parse_duration)),
        "drained and stopped",
        json,
    )


def restart(context: Context, json: Json = False) -> int | None:
    """Stop the daemon and start a new one; running tasks go on and are adopted by it."""
    context.json = json
    streams = context.need_streams()
    try:
        print_notes(context, streams.stop_daemon(DaemonStop(mode="keep", restart=True)).notes)
    except NoDaemonError:
        print_notes(context, ["no daemon was running"])
    _say_started(context, streams.start_daemon())
    return 0


def status(context: Context, json: Json = False) -> int | None:
    """Show the daemon's state, role, versions, and what its last start recovered. Exit status 5 when none runs."""
    try:
        reply = ask(context, DaemonStatus(), json=json)
    except NoDaemonError:
        _print_status(context, IDLE)
        return ExitStatus.NO_DAEMON
    _print_status(context, reply.doc)
    return reply.exit


def run(context: Context, standby: Standby = False) -> int | None:
    """Run the daemon in the foreground, as a service manager does. Exit status 4 when one runs already."""
    return context.need_streams().run_daemon(standby=standby)


def reload(context: Context, json: Json = False) -> int | None:
    """Read the configuration anew, whole or not at all."""
    reply = ask(context, Reload(), json=json)
    if json:
        print_json(context, reply.doc)
    return reply.exit


def logs(
    context: Context,
    follow: Annotated[bool, option("--follow", "-f", help="Go on with what is still to come.")] = False,
    lines: Annotated[str | None, option("--lines", "-n", help="The last N lines; 100.", metavar="N")] = None,
    json: Json = False,
) -> int | None:
    """Show the daemon's own log."""
    context.json = json
    if json and follow:
        raise UsageError("--json with --follow", hint="use one of them")
    count = USUAL_LINES if lines is None else parse_named("--lines", lines, parse_number)
    context.need_streams()
    path = find_paths(context.home, context.env).daemon_log
    pieces: list[bytes] = []
    output = Output(context.out, terminal=context.stdout_tty)
    with closing(Tail(path, pieces.append if json else output, lines=count)) as tail:
        if not tail.pump() and not follow:
            raise NotFoundError(f"there is nothing in {path}", hint="no daemon has run here yet")
        while follow and not output.broken:
            time.sleep(LOOK_EVERY_S)
            tail.pump()
            tail.renew()
    if json:
        print_json(context, {"lines": b"".join(pieces).decode("utf-8", "surrogateescape").splitlines()})
    return 0


def install(
    context: Context,
    print_: Annotated[bool, option("--print", help="Only print the unit.")] = False,
    no_start: Annotated[bool, option("--no-start", help="Leave the daemon as it is for now.")] = False,
    json: Json = False,
) -> int | None:
    """Make the daemon a service of your systemd: it starts at login and again after a crash, tasks going on.

    A daemon that runs is restarted as the service, tasks going on. With `loginctl enable-linger` it runs from boot
    to shutdown, whether you are logged in or not.
    """
    context.json = json
    streams = context.need_streams()
    keeper = streams.housekeeping()
    if print_:
        if json:
            print_json(context, {"unit": {"text": keeper.format_unit()}})
        else:
            context.out.write(keeper.format_unit())
        return 0
    place = keeper.install_unit()
    if not no_start:
        with suppress(NoDaemonError):
            streams.stop_daemon(DaemonStop(mode="keep", restart=True))
        keeper.start_unit()
    if json:
        print_json(context, {"unit": {"path": place, "started": not no_start}})
    else:
        print_line(context, f"installed {place}" + ("" if no_start else ", and the daemon runs by it"))
    return 0


def uninstall(context: Context, json: Json = False) -> int | None:
    """Take the service away and stop the daemon, if it runs; tasks go on, and the next daemon takes them over."""
    context.json = json
    streams = context.need_streams()
    place = streams.housekeeping().uninstall_unit()
    if place is None:
        raise NotFoundError("it is not installed", hint="cronoq daemon install does that")
    stopped = False
    with suppress(NoDaemonError):
        streams.stop_daemon(DaemonStop(mode="keep"))
        stopped = True
    if json:
        print_json(context, {"unit": {"path": place, "stopped": stopped}})
        return 0
    print_line(context, f"removed {place}")
    if stopped:
        print_notes(context, ["the daemon was stopped; without a service: cronoq daemon start"])
    return 0


def _stop(context: Context, request: DaemonStop, done: str, json: bool) -> int:
    context.json = json
    try:
        reply = context.need_streams().stop_daemon(request)
    except NoDaemonError:
        print_notes(context, ["no daemon is running"])
        if json:
            print_json(context, IDLE)
        return 0
    print_notes(context, reply.notes)
    if json:
        print_json(context, reply.doc)
    else:
        context.out.write(f"daemon {done}\n")
    return reply.exit


def _say_started(context: Context, doc: dict[str, Any]) -> None:
    if context.json:
        print_json(context, doc)
        return
    pid = (doc.get("daemon") or doc).get("pid")
    word = "started" if doc.get("started") else "runs already"
    context.out.write(f"daemon {word}" + (f", pid {pid}\n" if pid else "\n"))


def _print_status(context: Context, doc: dict[str, Any]) -> None:
    if context.json:
        print_json(context, doc)
    else:
        print_status(context, doc)
