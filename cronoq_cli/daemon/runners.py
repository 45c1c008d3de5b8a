"""The daemon's side of its runners: found or started, connected, compared; orders out, reports in.

Usually there is one. Another is there for a while when a runner of an older wire version finishes its tasks, and a
dead one leaves its journal, which a living one takes over. What reports mean is the engine's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any

from cronoq_cli.config.paths import Paths
from cronoq_cli.daemon.orders import OrderMessage, Orders, SentEnvironments
from cronoq_cli.daemon.reports import MALFORMED, REPORTS, read_report_event
from cronoq_cli.daemon.runner_link import Link, Runner
from cronoq_cli.daemon.runner_process import is_file, is_locked, start_runner
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.messages import Action, AttemptEnded, Forget, RunnerGone, RunnersCompared, Start
from cronoq_cli.errors import ConflictError, CronoqError
from cronoq_cli.model.places import parse_token
from cronoq_cli.model.policy import AttemptEnd
from cronoq_cli.wire.runner import VERSION, Cause, ErrorKind, Event, Order
from cronoq_cli.wire.sockets import connect_unix

log = logging.getLogger(__name__)

ORDERS_A_FRAME = 64
RECONNECT_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
RELAUNCH_S = (1.0, 2.0, 5.0, 10.0)
"""Seconds between tries to start a runner where none lives: the last one repeats."""


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
        self._launching = asyncio.Lock()
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
        runner = self._describe(os.urandom(4).hex())
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
            self._lose_link(runner)
            if self._closing:
                return
        if not self._closing:
            await self._bury(runner)

    def _lose_link(self, runner: Runner) -> None:
        """What a runner knows, it must say anew; and the others too, since they were given starts after their hello."""
        runner.link, runner.heard = None, False
        if self._closing:
            return
        if self.compared.is_set():
            self.ask_again()
        self._pause_starts()

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
        first_word = self._build_open(runner)
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

    def _build_open(self, runner: Runner) -> dict[str, Any]:
        return {
            "order": Order.OPEN,
            "version": runner.speaks,
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
            self._current = self._find_own()
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
        async with self._launching:
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
        outgoing: dict[str, list[OrderMessage]] = {name: [] for name in self._runners}
        starter, others = self._list_starter(), self._list_linked()
        for action in actions:
            if isinstance(action, Forget):
                continue
            for runner in starter if isinstance(action, Start) else others:
                try:
                    outgoing[runner.name] += self._orders.build(action, runner.sent)
                except (OSError, CronoqError) as error:
                    self._give_back(action, error)
        forgets = self._orders.build_forgets(actions)
        for runner in self._runners.values():
            orders = outgoing[runner.name] + forgets
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

    def _list_starter(self) -> list[Runner]:
        """Who takes starts, if any may be sent."""
        # A start committed after a runner was lost is not sent: what that one has left may hold its slots still.
        # The comparison to come finds that nobody knows of it, and it is ordered anew.
        return [self._current] if self._current is not None and self.compared.is_set() else []

    def _list_linked(self) -> list[Runner]:
        """Those to whom anything else is said: whoever has the attempt."""
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
        with self._scheduler.in_one_step():
            for message in messages:
                try:
                    if message.get("event") in REPORTS:
                        self._hear_report(message)
                        if runner.owes:
                            self._note_given_back(runner, message)
                    else:
                        self._hear_other(runner, message)
                except MALFORMED as error:
                    _tell_malformed(runner, message, error)
        self._scheduler.settle_parked()

    @contextlib.contextmanager
    def _passing_over(self, runner: Runner, message: dict[str, Any]) -> Iterator[None]:
        """Within a hello, a malformed report alone is told and passed over."""
        try:
            yield
        except MALFORMED as error:
            _tell_malformed(runner, message, error)

    def _hear_other(self, runner: Runner, message: dict[str, Any]) -> None:
        match message.get("event"):
            case Event.HELLO:
                self._hear_hello(runner, message)
            case Event.FOUND:
                if message.get("error"):
                    log.error("journal %s was not taken over: %.200s", message["journal"], message["error"])
                self._finding.pop(message["journal"], None)
                self._compare()
            case Event.REFUSED:
                self._hear_refusal(runner, message)
            case Event.UNKNOWN:
                self._hear_unknown(message)
            case _:
                return  # `kept`, or a word of a newer runner: nothing follows from it

    def _note_given_back(self, runner: Runner, message: dict[str, Any]) -> None:
        """Of a runner that was closed, one start more is back, or has begun."""
        parsed = parse_token(message["token"])
        if parsed is None or parsed[1:] not in runner.owes:
            return
        runner.owes.discard(parsed[1:])
        if message["event"] == Event.REVOKED:
            runner.known.discard(parsed[1:])
        if not runner.owes:
            runner.heard = True
            self._compare()

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
        if task is not None and task.is_at_runner(parsed[2]):
            self.ask_again()

    def _hear_hello(self, runner: Runner, message: dict[str, Any]) -> None:
        runner.pid = message.get("pid")
        if message.get("version") != VERSION:
            self._hear_foreign(runner)
        ended = [dict(record, event=Event.ENDED) for record in message.get("ended", [])]
        running = [dict(record, event=Event.STARTED) for record in message.get("running", [])]
        waiting, later = message.get("waiting", []), message.get("later", [])
        runner.known = _read_tokens([*(record["token"] for record in [*running, *ended]), *waiting, *later])
        for report in running:
            with self._passing_over(runner, report):
                self._hear_report(report)
                self.recovered["adopted"] += self._counting
        for report in ended:
            with self._passing_over(runner, report):
                self._hear_report(report)
        runner.owes = set() if runner is self._current else self._retire(runner, waiting)
        runner.heard = not runner.owes
        # What it was asked to find may have got lost with the connection; asked twice it answers once more.
        self._finding.update((journal, "") for journal, asked in self._finding.items() if asked == runner.name)
        self._send_finds()
        self._compare()

    def _hear_refusal(self, runner: Runner, message: dict[str, Any]) -> None:
        """A runner of another version is opened anew in its own; one that obeys a newer daemon ends this one."""
        version, epoch = message.get("version"), message["epoch"]
        if type(version) is int and version != runner.speaks and epoch <= self._epoch:
            runner.speaks = version
            if runner.link is not None:
                runner.link.cut()
            return
        self.on_fatal(ConflictError(f"the runner obeys a daemon with epoch {epoch}"))

    def _hear_foreign(self, runner: Runner) -> None:
        """A runner of another wire version keeps its tasks until they end; new ones go to another runner."""
        if not runner.foreign:
            log.info("runner %s is of version %s: it keeps its tasks until they end", runner.name, runner.speaks)
        runner.foreign = True
        if self._current is runner:
            self._current = self._find_own()
            if self._current is None:
                self._want_runner()
            elif self._current.link is not None:
                self._current.heard = False
                self._current.link.cut()  # it may have been closed meanwhile; opened anew, it takes starts

    def _retire(self, runner: Runner, waiting: list[str]) -> set[tuple[int, int]]:
        """Only one runner takes starts: others are closed, and what they wait to start must be back (this is what)
        before anything starts elsewhere, for none sees what room another has taken."""
        if runner.link is not None:
            runner.link.send([{"order": Order.CLOSE}])
        return _read_tokens(waiting)

    def _find_own(self) -> Runner | None:
        """A runner that takes starts, as far as is known."""
        return next((runner for runner in self._runners.values() if not runner.foreign), None)

    def _want_runner(self) -> None:
        """Have one started beside those that live."""
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
        unknown = self._scheduler.apply(RunnersCompared(known, several=len(self._runners) > 1))
        if self._counting:
            self.recovered["requeued"] += len(unknown)
            self._counting = False
        self.compared.set()


def _tell_malformed(runner: Runner, message: dict[str, Any], error: Exception) -> None:
    log.error("a report of runner %s is malformed (%s): %.200r", runner.name, error, message)


def _read_tokens(tokens: list[str]) -> set[tuple[int, int]]:
    """Task and attempt of each; what is no token of ours is left out."""
    return {parsed[1:] for parsed in map(parse_token, tokens) if parsed is not None}
