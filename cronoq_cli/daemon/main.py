"""Becoming the daemon, step by step, and ending: the order of specification section 1.

Lock, store, epoch, recovery, timers, socket, readiness. A step that fails ends the daemon with a clear word and
leaves nothing half done. What it does while it runs stands elsewhere.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence

from cronoq_cli.config.loading import load_settings
from cronoq_cli.config.mounts import find_network_file_system
from cronoq_cli.config.paths import Paths, find_paths, prepare_dirs
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon import imports
from cronoq_cli.daemon.application import Application
from cronoq_cli.daemon.clock_watch import ClockWatch, LateSelector, MachineClock
from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.detach import (
    WORDS_ON_STDIN,
    DaemonOptions,
    await_words,
    detach,
    open_hooks_log,
    open_log,
    parse_options,
)
from cronoq_cli.daemon.instance import (
    InstanceLock,
    announce_failure,
    announce_ready,
    clear_stopped,
    find_boot_id,
    mark_stopped,
)
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.daemon.machine import MachineWatch
from cronoq_cli.daemon.notices import HookTeller
from cronoq_cli.daemon.orders import Orders
from cronoq_cli.daemon.pace import Pace
from cronoq_cli.daemon.pings import Pings
from cronoq_cli.daemon.pruner import Pruner
from cronoq_cli.daemon.runners import Runners
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.daemon.server import Server
from cronoq_cli.daemon.service import Service
from cronoq_cli.daemon.systemd import Notifier
from cronoq_cli.engine.live import Now
from cronoq_cli.errors import LACKING, ConflictError, CronoqError, ExitStatus, TryLaterError
from cronoq_cli.store.sqlite import SqliteStore, open_store

log = logging.getLogger(__name__)

GARBAGE_THRESHOLD = 50_000
"""Hardly anything of a task is cyclic: the collector may look seldom."""
COMPARED_WITHIN_S = 10.0
"""How long readiness waits for the runners' word; a runner that says nothing holds up starts, not the answers."""


def read_clock() -> Now:
    """The present moment: unix seconds, and seconds awake."""
    return Now(time.time(), time.monotonic())


class _Readiness:
    """The pipe on which the starting client waits. One word goes over it; its number may mean another file then."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def take(self) -> int | None:
        """The descriptor the first time, then None."""
        descriptor, self._descriptor = self._descriptor, None
        return descriptor


def main(argv: Sequence[str]) -> int:
    """Run the daemon until it is stopped; the exit status."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        options = parse_options(await_words() if argv[-1:] == [WORDS_ON_STDIN] else argv)
        paths = find_paths(options.home, os.environ)
        ready = _Readiness(options.ready_fd)
        detach(options)
    except CronoqError as error:
        sys.stderr.write(f"cronoq: {error.line()}\n")
        return error.exit
    except OSError as error:
        return _refuse(options, ready, _explain_start(error))
    try:
        prepare_dirs(paths)
        settings = load_settings(paths.config_file)
        open_log(paths.daemon_log, settings.daemon.log_level, foreground=options.foreground)
        selector = LateSelector()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
            return runner.run(_Daemon(options, paths, settings, ready, selector).run())
    except CronoqError as error:
        return _refuse(options, ready, error)
    except (OSError, MemoryError) as error:
        return _refuse(options, ready, _explain_start(error))


def _explain_start(error: OSError | MemoryError) -> CronoqError:
    """What the machine lacks may be there later."""
    if isinstance(error, MemoryError):
        return TryLaterError("the daemon cannot start: out of memory")
    if error.errno in LACKING:
        return TryLaterError(f"the daemon cannot start: {error.strerror}", hint="free what is short, and try again")
    return CronoqError(f"the daemon cannot start: {error}")


def _refuse(options: DaemonOptions, ready: _Readiness, error: CronoqError) -> int:
    if options.foreground:
        sys.stderr.write(f"cronoq: {error.line()}\n")  # its log is stderr too: one line is enough
    else:
        log.error("%s", error.line())
    announce_failure(ready.take(), error)
    return error.exit


class _Daemon:
    """One daemon's process, from the lock to the end."""

    def __init__(
        self, options: DaemonOptions, paths: Paths, settings: Settings, ready: _Readiness, selector: LateSelector
    ) -> None:
        self._options = options
        self._ready = ready
        self._paths = paths
        self._settings = settings
        self._selector = selector
        self._lock = InstanceLock(paths.lock_file)
        self._desk: Desk | None = None
        self._fatal: CronoqError | None = None
        self._signals = 0
        self._notifier = Notifier(os.environ)

    async def run(self) -> int:
        """Lead the store until the end; the exit status."""
        await self._lead()
        try:
            store = open_store(self._paths.db, synchronous=self._settings.daemon.synchronous)
        except CronoqError:
            self._lock.release()
            raise
        try:
            return await self._serve(store)
        finally:
            store.close()
            self._lock.release()

    async def _lead(self) -> None:
        if self._lock.try_acquire():
            return
        if not self._options.standby:
            pid = self._lock.read_holder().get("pid")
            raise ConflictError(
                f"a daemon runs already, with pid {pid}", hint="--standby waits until it ends", code="already-running"
            )
        log.info("waiting as a standby for %s", self._lock.read_holder())
        about = {"state": "idle", "role": "standby", "pid": os.getpid(), **_leader_of(self._lock)}
        announce_ready(self._ready.take(), about)
        self._notifier.tell_ready("waiting as a standby")
        self._notifier.watch(asyncio.get_running_loop())
        await imports.finish()  # it may wait until after a reinstall
        await self._wait_for_lead()
        self._notifier.close()

    async def _wait_for_lead(self) -> None:
        """Wait for the lock; a stop meant for all (the mark is there) or a signal ends the waiting."""
        loop = asyncio.get_running_loop()
        waiting = loop.create_task(self._lock.wait())
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, waiting.cancel)
        try:
            await waiting
        except asyncio.CancelledError:
            raise SystemExit(ExitStatus.OK) from None
        if os.path.exists(self._paths.stopped_mark):
            self._lock.release()
            log.info("the leader was stopped, and standbys with it")
            raise SystemExit(ExitStatus.OK)

    async def _serve(self, store: SqliteStore) -> int:
        """Recover, open the socket, say so, and work until the end."""
        epoch = store.claim(_describe_holder(), time.time())
        set_aside: dict[int, str] = {}
        commits = Commits(store, Pace(self._settings.daemon.commit))
        scheduler = Scheduler(
            commits,
            lambda: load_engine(store, self._find_settings(), read_clock(), set_aside, lambda: commits.reader),
            read_clock,
        )
        orders = Orders(scheduler, self._paths, self._settings, store.store_id())
        runners = Runners(scheduler, orders, self._paths, epoch)
        desk = Desk(scheduler, self._settings, self._paths)
        self._desk = desk
        resumed = sum(sum(counts.values()) for counts in scheduler.list_counts().values())
        daemon = Service(desk, orders, runners, epoch, time.time(), resumed=resumed)
        daemon.set_aside = len(set_aside)
        daemon.notifier = self._notifier
        hooks_log = open_hooks_log(self._paths.hooks_log)
        hooks, pings = HookTeller(desk, hooks_log, os.environ), Pings(hooks_log, os.environ)
        scheduler.on_pings = pings.send
        scheduler.performer = runners
        scheduler.on_fatal = runners.on_fatal = lambda error: self._give_up(daemon, error)
        self._note_surroundings()
        was_stopped = clear_stopped(self._paths.stopped_mark)
        server = Server(Application(desk, daemon))
        try:
            await runners.start()
            await self._wait_compared(runners)
            await server.open(self._paths.socket, self._paths.state_socket)
            scheduler.start()
            pruner = Pruner(desk)
            pruner.start()
            machine = MachineWatch(scheduler)
            watch = ClockWatch(scheduler, MachineClock(), self._selector)
            watch.start()
            hooks.start()
            self._listen_to_signals(daemon, server)
            self._lock.note_serving(self._paths.socket)
            announce_ready(self._ready.take(), {**daemon.describe(), "was_stopped": was_stopped})
            self._notifier.tell_ready("running")
            self._notifier.watch(asyncio.get_running_loop())
            log.info("running, epoch %d, pid %d, %d tasks live", epoch, os.getpid(), daemon.resumed)
            settling = asyncio.get_running_loop().create_task(self._settle_in(server))
            await daemon.over.wait()
            settling.cancel()
            pruner.stop()
            machine.stop()
            watch.stop()
            await asyncio.gather(hooks.close(), pings.close())
        finally:
            await self._end(server, daemon, store)
            self._notifier.close()
        if self._fatal is not None:
            log.error("the daemon stops: %s", self._fatal.line())
            return self._fatal.exit
        log.info("stopped")
        return ExitStatus.OK

    def _find_settings(self) -> Settings:
        """Those in force: as read at the start, or by the last reload."""
        return self._settings if self._desk is None else self._desk.settings

    def _give_up(self, daemon: Service, error: CronoqError) -> None:
        self._fatal = self._fatal or error
        daemon.keep_tasks = True
        daemon.over.set()

    async def _wait_compared(self, runners: Runners) -> None:
        try:
            await asyncio.wait_for(runners.compared.wait(), COMPARED_WITHIN_S)
        except TimeoutError:
            log.warning("not every runner has answered yet; nothing starts until it has")

    def _note_surroundings(self) -> None:
        kind = find_network_file_system(self._paths.state_dir)
        if kind is not None:
            log.warning(
                "%s is on a network file system (%s): locks and the database are unsafe", self._paths.state_dir, kind
            )

    def _listen_to_signals(self, daemon: Service, server: Server) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, daemon)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup, daemon, server)

    def _on_stop_signal(self, daemon: Service) -> None:
        self._signals += 1
        if self._signals == 1:
            daemon.begin_stop("stop", None)
        else:
            daemon.hurry()

    def _on_hangup(self, daemon: Service, server: Server) -> None:
        """Read the configuration anew, and open the socket again where its file was removed."""
        try:
            daemon.reload()
        except CronoqError as error:
            log.error("the configuration was not taken: %s", error.line())
        if not daemon.is_over:
            server.reopen()

    async def _settle_in(self, server: Server) -> None:
        """Import the rest; what is there then lives long, and is looked at by the collector no more."""
        await imports.finish(lambda: server.heard_at)
        gc.freeze()
        log.info("everything is loaded")

    async def _end(self, server: Server, daemon: Service, store: SqliteStore) -> None:
        """Answer what is owed, close the socket, part from the runners, give up the lead."""
        daemon.desk.scheduler.flush_all()
        daemon.desk.scheduler.close()
        self._lock.note_serving(None)
        await server.close()
        daemon.runners.close(keep=daemon.keep_tasks)
        if self._fatal is None and not daemon.restart and not daemon.hand_over and daemon.is_over:
            mark_stopped(self._paths.stopped_mark)
        if self._fatal is None:
            store.release()


def _leader_of(lock: InstanceLock) -> dict[str, object]:
    return {"leader_pid": lock.read_holder().get("pid")}


def _describe_holder() -> str:
    about = {"pid": os.getpid(), "host": socket.gethostname(), "boot_id": find_boot_id()}
    return json.dumps(about)
