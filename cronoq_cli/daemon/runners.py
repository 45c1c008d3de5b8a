"""The daemon's side of its runners: found or started, connected, compared; orders out, reports in.

Usually there is one. Another is there for a while when a runner of an older wire version finishes its tasks, and a
dead one leaves its journal, which a living one takes over. What reports mean is the engine's.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import os
import secrets
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cronoq_cli.config.paths import Paths
from cronoq_cli.daemon.orders import Orders, SentEnvironments
from cronoq_cli.daemon.reports import MALFORMED, REPORTS, read_report_event
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.messages import Action, AttemptEnded, Forget, RunnerGone, RunnersCompared, Start
from cronoq_cli.errors import ConflictError, CronoqError, ProtocolError, TryLaterError
from cronoq_cli.model.places import parse_token
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.wire.json_text import dump_json, load_json
from cronoq_cli.wire.runner import VERSION, Cause, Decoder, ErrorKind, Event, Order, frame_body
from cronoq_cli.wire.sockets import connect_unix

log = logging.getLogger(__name__)

READY_WITHIN_S = 20.0
ORDERS_A_FRAME = 64
RECONNECT_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
RELAUNCH_S = (1.0, 2.0, 5.0, 10.0)
"""Seconds between tries to start a runner where none lives: the last one repeats."""
_NO_JOURNAL = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENXIO})
"""Errors by which a path is known to be no journal of a living runner of ours; others say nothing of it."""


@dataclass(slots=True)
class Runner:
    """One runner as the daemon knows it. `heard`: its hello since the last connection has come."""

    name: str
    journal: str
    socket: str
    link: Link | None = None
    heard: bool = False
    foreign: bool = False
    pid: int | None = None
    known: set[tuple[int, int]] = field(default_factory=set)
    sent: SentEnvironments = field(default_factory=SentEnvironments)
    process: subprocess.Popen[bytes] | None = None


class Link(asyncio.Protocol):
    """One connection to a runner."""

    def __init__(self, on_messages: Callable[[list[dict[str, Any]]], None]) -> None:
        self.gone = asyncio.Event()
        self._decoder = Decoder(load_json)
        self._on_messages = on_messages
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._decoder.feed(data)
        except ProtocolError as error:
            log.error("a runner said what is no report: %s", error.message)
            self.cut()
            return
        self._on_messages(messages)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def send(self, messages: list[dict[str, Any]]) -> None:
        """Queue messages as one frame; what cannot be sent is told again after the next hello."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame_body(dump_json(messages)))

    def cut(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()


class Runners:
    """All runners of one store: a Performer for the scheduler."""

    def __init__(self, scheduler: Scheduler, orders: Orders, paths: Paths, epoch: int) -> None:
        self.on_fatal: Callable[[CronoqError], None] = lambda error: None
        self.recovered: dict[str, int] = {"adopted": 0, "ends_delivered": 0, "lost": 0, "requeued": 0}
        self._counting = True
        self._scheduler = scheduler
        self._orders = orders
        self._paths = paths
        self._epoch = epoch
        self._runners: dict[str, Runner] = {}
        self._current: Runner | None = None
        self._finding: dict[str, str] = {}
        self._attending: set[asyncio.Task[None]] = set()
        self._closing = False
        self.compared = asyncio.Event()

    # -- start ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Attend every runner there is, start one if none lives, and have the dead ones' journals taken over."""
        os.makedirs(self._paths.runner_dir, mode=0o700, exist_ok=True)
        dead = []
        for name in sorted(os.listdir(self._paths.runner_dir)):
            runner = self._describe(name.removesuffix(".journal"))
            if name.endswith(".journal") and is_file(runner.journal):
                if is_locked(runner.journal):
                    self._attend(runner)
                else:
                    dead.append(runner)
        if not self._runners:
            await self._launch()
        for runner in dead:
            self._finding[runner.journal] = ""
        self._send_finds()

    def _describe(self, name: str) -> Runner:
        journal = os.path.join(self._paths.runner_dir, f"{name}.journal")
        return Runner(name, journal, os.path.join(self._paths.runtime_dir, f"runner-{name}.sock"))

    async def _launch(self) -> None:
        """Start a runner and attend it. Raises CronoqError when it does not get ready."""
        runner = self._describe(secrets.token_hex(4))
        runner.process = await start_runner(runner, self._paths.daemon_log)
        self._current = runner
        self._attend(runner)

    def _attend(self, runner: Runner) -> None:
        self._runners[runner.name] = runner
        if self._current is None:
            self._current = runner
        task = asyncio.get_running_loop().create_task(self._stay_with(runner))
        self._attending.add(task)
        task.add_done_callback(self._attending.discard)

    async def _stay_with(self, runner: Runner) -> None:
        """Keep a connection to a runner as long as it lives; then see to what it leaves."""
        while await self._connect(runner):
            assert runner.link is not None
            await runner.link.gone.wait()
            runner.link, runner.heard = None, False
            if self._closing:
                return
            self._pause_starts()
        if not self._closing:
            await self._bury(runner)

    async def _connect(self, runner: Runner) -> bool:
        """Connect and open, however often it must be tried; False when the runner is dead."""
        tries = 0
        while is_locked(runner.journal):
            try:
                await self._open(runner)
            except (OSError, CronoqError) as error:
                if tries == len(RECONNECT_S):
                    log.warning("runner %s cannot be spoken to yet: %s", runner.name, error)
                await asyncio.sleep(RECONNECT_S[min(tries, len(RECONNECT_S) - 1)])
                tries += 1
            else:
                return True
        return False

    async def _open(self, runner: Runner) -> None:
        """Connect, and say the first word. Raises OSError, and StoreError where the store cannot be asked for it."""
        first_word = self._build_open()
        connection = connect_unix(runner.socket, timeout_s=2.0)
        connection.setblocking(False)
        make = asyncio.get_running_loop().create_unix_connection
        try:
            _, link = await make(lambda: self._make_link(runner), sock=connection)
        except BaseException:
            connection.close()
            raise
        runner.link, runner.heard, runner.sent = link, False, SentEnvironments()
        link.send([first_word])

    def _make_link(self, runner: Runner) -> Link:
        return Link(lambda messages: self._hear(runner, messages))

    def _build_open(self) -> dict[str, Any]:
        return {
            "order": Order.OPEN,
            "version": VERSION,
            "store": self._scheduler.store.store_id(),
            "epoch": self._epoch,
            "lanes": self._lanes(),
        }

    def _lanes(self) -> dict[str, int]:
        return {name: pool.capacity for name, pool in self._scheduler.engine.state.pools.items()}

    async def _bury(self, runner: Runner) -> None:
        """A runner died: another takes its journal over before anything else starts."""
        if runner.process is not None:
            with contextlib.suppress(ChildProcessError):
                runner.process.poll()
        self._runners.pop(runner.name, None)
        if self._current is runner:
            self._current = next((other for other in self._runners.values() if not other.foreign), None)
        if os.path.exists(runner.journal):
            log.warning("runner %s is gone; its tasks are looked for", runner.name)
            self._finding[runner.journal] = ""
        with contextlib.suppress(OSError):
            os.unlink(runner.socket)
        # What the others know has changed since their hello.
        self.ask_again()
        await self._launch_at_last()
        self._send_finds()
        self._compare()

    async def _launch_at_last(self) -> None:
        """Start a runner if none lives that takes work, however often it must be tried: the machine may lack processes
        or memory for a while. Meanwhile nothing starts, and the daemon serves."""
        tries = 0
        while self._current is None and not self._closing:
            try:
                await self._launch()
            except CronoqError as error:
                delay_s = RELAUNCH_S[min(tries, len(RELAUNCH_S) - 1)]
                tries += 1
                log.error("%s; nothing starts until there is one, tried again in %g s", error.line(), delay_s)
                self._pause_starts(error.message)
                await asyncio.sleep(delay_s)

    def _pause_starts(self, trouble: str | None = None) -> None:
        self.compared.clear()
        if self._scheduler.refusing is None:
            self._scheduler.apply(RunnerGone(trouble))

    def list_runners(self) -> list[Runner]:
        """The runners that live, as far as is known."""
        return list(self._runners.values())

    # -- orders ----------------------------------------------------------------------------------------------------

    def perform(self, actions: list[Action]) -> None:
        """Send the orders of committed actions, each to the runner that has the attempt; starts to the current one."""
        self._orders.fetch_specs(actions)
        outgoing: dict[str, list[dict[str, Any]]] = {}
        for action in actions:
            for runner in () if isinstance(action, Forget) else self._addressees(action):
                try:
                    orders = self._orders.build(action, runner.sent)
                except (OSError, CronoqError) as error:
                    self._give_back(action, error)
                    continue
                outgoing.setdefault(runner.name, []).extend(orders)
        forgets = self._orders.build_forgets(actions)
        for runner in self._runners.values():
            orders = outgoing.get(runner.name, []) + forgets
            if runner.link is not None:
                for at in range(0, len(orders), ORDERS_A_FRAME):
                    runner.link.send(orders[at : at + ORDERS_A_FRAME])

    def _give_back(self, action: Action, error: OSError | CronoqError) -> None:
        """An order could not be made: a start never was then, and is tried again in a while, uncounted."""
        reason = error.message if isinstance(error, CronoqError) else f"{error.filename or ''}: {error.strerror}"
        log.error("task %d cannot be ordered: %s", action.task, reason)
        if isinstance(action, Start):
            end = AttemptEnd(
                ended_at=self._scheduler.clock().wall,
                cause=Cause.SPAWN,
                error_kind=ErrorKind.MACHINE,
                error_message=f"cannot be prepared: {reason}",
            )
            # Not within the door: this turn's orders are still being performed.
            event = AttemptEnded(action.task, action.attempt, end)
            asyncio.get_running_loop().call_soon(lambda: self._apply_unless_refusing(event))

    def _apply_unless_refusing(self, event: AttemptEnded) -> None:
        """While the store refuses, nothing is taken in: the comparison afterwards finds what never started."""
        if self._scheduler.refusing is None:
            self._scheduler.apply(event)

    def _addressees(self, action: Action) -> list[Runner]:
        if isinstance(action, Start):
            # A start committed after a runner was lost is not sent: what that one has left may hold its slots still.
            # The comparison to come finds that nobody knows of it, and it is ordered anew.
            return [self._current] if self._current is not None and self.compared.is_set() else []
        return [runner for runner in self._runners.values() if runner.link is not None]

    def resize(self) -> None:
        """Tell the runners the pools' present sizes."""
        for runner in self._runners.values():
            if runner.link is not None:
                runner.link.send([{"order": Order.LANES, "lanes": self._lanes()}])

    def ask_again(self) -> None:
        """Connect anew to every runner: each hello says once more what is true."""
        self.compared.clear()
        for runner in self._runners.values():
            runner.heard = False
            if runner.link is not None:
                runner.link.cut()

    def compare(self) -> None:
        """Compare, if all runners have spoken while a commit was under way."""
        self._compare()

    def close(self, *, keep: bool) -> None:
        """Part from the runners; they end when nothing runs any more, or (`keep`) wait for the next daemon."""
        self._closing = True
        for runner in self._runners.values():
            if runner.link is not None and not keep:
                runner.link.send([{"order": Order.CLOSE}])

    # -- reports ---------------------------------------------------------------------------------------------------

    def _hear(self, runner: Runner, messages: list[dict[str, Any]]) -> None:
        if self._scheduler.refusing is not None:
            return
        for message in messages:
            try:
                self._hear_one(runner, message)
            except MALFORMED as error:
                log.error("a report of runner %s is malformed (%s): %.200r", runner.name, error, message)
        self._scheduler.settle_parked()

    def _hear_one(self, runner: Runner, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event in REPORTS:
            self._hear_report(message)
            return
        match event:
            case Event.HELLO:
                self._hear_hello(runner, message)
            case Event.FOUND:
                if message.get("error"):
                    log.error("journal %s was not taken over: %.200s", message["journal"], message["error"])
                self._finding.pop(message["journal"], None)
                self._compare()
            case Event.REFUSED:
                self.on_fatal(ConflictError(f"the runner obeys a daemon with epoch {message.get('epoch')}"))
            case Event.UNKNOWN:
                self._hear_unknown(message)
            case _:
                return  # `kept`, or a word of a newer runner: nothing follows from it

    def _hear_report(self, message: dict[str, Any]) -> None:
        event = read_report_event(message)
        news = self._scheduler.apply(event)
        if self._counting and news and isinstance(event, AttemptEnded):
            self.recovered["lost" if event.end.cause == "lost" else "ends_delivered"] += 1

    def _hear_unknown(self, message: dict[str, Any]) -> None:
        """The runner has no such attempt: it never started there, unless another runner has it."""
        parsed = parse_token(message["token"])
        if parsed is None or len(self._runners) > 1 or not self.compared.is_set():
            return
        task = self._scheduler.find_live(parsed[1])
        if task is not None and task.has_process and task.attempt_at_runner == parsed[2]:
            self.ask_again()

    def _hear_hello(self, runner: Runner, message: dict[str, Any]) -> None:
        runner.pid = message.get("pid")
        if message.get("version") != VERSION:
            self._hear_foreign(runner)
        ended = [dict(record, event=Event.ENDED) for record in message.get("ended", [])]
        running = [dict(record, event=Event.STARTED) for record in message.get("running", [])]
        runner.known = set()
        for record in [*running, *ended, *({"token": token} for token in _list_other(message))]:
            parsed = parse_token(record["token"])
            if parsed is not None:
                runner.known.add(parsed[1:])
        for report in running:
            self._hear_report(report)
            self.recovered["adopted"] += self._counting
        for report in ended:
            self._hear_report(report)
        runner.heard = True
        # What it was asked to find may have got lost with the connection; asked twice it answers once more.
        self._finding.update((journal, "") for journal, asked in self._finding.items() if asked == runner.name)
        self._send_finds()
        self._compare()

    def _hear_foreign(self, runner: Runner) -> None:
        """A runner of another wire version keeps its tasks until they end; new ones go to a new runner."""
        runner.foreign = True
        if runner.link is not None:
            runner.link.send([{"order": Order.CLOSE}])
        if self._current is runner:
            self._current = None
            task = asyncio.get_running_loop().create_task(self._launch_at_last())
            self._attending.add(task)
            task.add_done_callback(self._attending.discard)

    def _send_finds(self) -> None:
        """Ask the current runner to take over the journals of dead ones, once each."""
        current = self._current
        if current is None or current.link is None or not current.heard:
            return
        for journal, asked in self._finding.items():
            if asked != current.name:
                self._finding[journal] = current.name
                current.link.send([{"order": Order.FIND, "journal": journal}])

    def _compare(self) -> None:
        """When every runner has spoken and no journal is open: what nobody knows of never started, or is lost."""
        if self.compared.is_set():
            return  # what has been ordered since, no hello tells
        if self._scheduler.is_committing:
            return  # nor what is to be ordered when that is done; it is compared then
        waiting = [runner for runner in self._runners.values() if not runner.heard]
        if waiting or self._finding or not self._runners or self._current is None:
            return
        known: set[tuple[int, int]] = set()
        for runner in self._runners.values():
            known |= runner.known
        unknown = self._scheduler.apply(RunnersCompared(known))
        if self._counting:
            self.recovered["requeued"] += len(unknown)
            self._counting = False
        self.compared.set()


def _list_other(hello: dict[str, Any]) -> list[str]:
    """Tokens a hello knows of without telling more: what waits, and ends that follow it."""
    return [*hello.get("waiting", []), *hello.get("later", [])]


def is_file(path: str) -> bool:
    """Whether it is an ordinary file, and no link, pipe or directory that somebody has put there."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def is_locked(path: str) -> bool:
    """Whether a living runner holds the lock of its journal. A lock is proof, a pid is none.

    What cannot be looked at for want of descriptors or by a fault of the disk counts as locked: only a runner that is
    surely gone may be buried."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.errno not in _NO_JOURNAL
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


async def start_runner(runner: Runner, log_path: str) -> subprocess.Popen[bytes]:
    """Start a runner process and wait until it says that it is ready. Raises CronoqError; TryLaterError for what the
    machine or the disk refuses."""
    try:
        reading, process = _spawn_runner(runner, log_path)
    except OSError as error:
        raise TryLaterError(
            f"the runner could not be started: {error.strerror}", hint="free what is short, and try again"
        ) from error
    try:
        said = await asyncio.wait_for(_read_line(reading), READY_WITHIN_S)
    except TimeoutError:
        said = b"it did not get ready in time"
    finally:
        os.close(reading)
    if said.strip() != b"ready":
        process.kill()
        process.wait()
        raise CronoqError(f"the runner could not be started: {os.fsdecode(said).strip() or 'it ended at once'}")
    return process


def _spawn_runner(runner: Runner, log_path: str) -> tuple[int, subprocess.Popen[bytes]]:
    """The process, and the descriptor on which it will say that it is ready. Raises OSError with nothing left open."""
    words = [sys.executable, "-P", "-m", "cronoq_cli.runner", "--id", runner.name, "--journal", runner.journal]
    words += ["--socket", runner.socket]
    env = {name: value for name, value in os.environ.items() if not name.startswith("CRONOQ_")}
    with contextlib.ExitStack() as closing:
        errors = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        closing.callback(os.close, errors)
        reading, writing = os.pipe()
        closing.callback(os.close, writing)
        try:
            process = subprocess.Popen(
                [*words, "--ready-fd", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd="/",
                env=env,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
    return reading, process


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


async def _read_line(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _wake, readable)
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 4096)
