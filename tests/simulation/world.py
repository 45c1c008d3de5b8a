"""One simulated machine: the real engine, scheduler, orders and handlers on a store in memory, with a modelled runner,
loop and clock. It does what a history says, step by step; nothing happens by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cronoq_cli.config.paths import Paths, find_paths
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.resources import ResourceSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.application import carry_out
from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.desk import Desk
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.daemon.orders import Orders
from cronoq_cli.daemon.pace import Choice, Pace
from cronoq_cli.daemon.runner_link import Runner
from cronoq_cli.daemon.runners import Runners
from cronoq_cli.daemon.scheduler import Scheduler
from cronoq_cli.engine.core import Engine
from cronoq_cli.engine.pools import Leases
from cronoq_cli.errors import CronoqError, FencedError, StoreBusyError, StoreError, StoreFullError
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.memory import MemoryBase, MemoryStore
from cronoq_cli.wire.requests import ListTasks, Reply, Request, Selector, ShowTasks
from cronoq_cli.wire.runner import VERSION
from tests.simulation.loop import Clock, Loop
from tests.simulation.promises import BrokenPromise, Promises
from tests.simulation.runner_model import LIVE_REPORTS, Journal, Link, RunnerModel

WORKERS = {"default": 2, "big": 3}
RUNS = (1, 2)
"""Tasks of a lane behind which there are runs, and tasks of a submission that come as such: few, as histories are."""
SETTINGS = Settings(
    pools={name: PoolSettings(workers=count) for name, count in WORKERS.items()},
    resources={"gpu": ResourceSettings(permits=2)},
)
PATHS: Paths = find_paths("/sim", {})


class Crash(BaseException):
    """The daemon dies here."""


class FaultyStore(MemoryStore):
    """The store in memory, which fails when the world says so."""

    def __init__(self, world: World) -> None:
        super().__init__(world.base)
        self._world = world

    def commit(self, changes: Changes) -> list[int]:
        """Write all or nothing; the daemon may die on both sides of it."""
        world = self._world
        fault = world.faults.popleft() if world.faults else None
        world.seam("before commit")
        if fault == "busy":
            raise StoreBusyError("the store is busy")
        if fault == "full":
            raise StoreFullError("no space")
        if fault == "slow":
            world.pass_time(7.0)
            world.end_processes(1, 0)
        try:
            world.promises.committing(changes)
            seqs = super().commit(changes)
            world.promises.committed(changes)
        except FencedError:
            raise
        except (BrokenPromise, StoreError) as error:
            world.broken = error  # whatever the daemon makes of it
            raise
        world.seam("after commit")
        return seqs


class SimThread:
    """The thread beside the loop: it does its job when the history says so."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._job: Callable[[], Any] | None = None
        self._deliver: Callable[[Any], None] | None = None

    def submit(self, call: Callable[[], Any], deliver: Callable[[Any], None]) -> None:
        """Keep the job."""
        assert self._job is None, "one at a time"
        self._job, self._deliver = call, deliver

    def go_on(self) -> bool:
        """Do the job, if there is one; the loop hears of it in a later turn."""
        job, deliver = self._job, self._deliver
        if job is None or deliver is None:
            return False
        self._job = None
        self._world.loop.call_soon(deliver, job())
        return True

    def wait(self) -> None:
        """Nobody holds this loop."""
        raise BrokenPromise("the loop waits for the thread")

    def close(self) -> None:
        """Nothing of it is left."""
        self._job = None


class SimRunners(Runners):
    """The daemon's side of its runners, with connections of the world's making."""

    world: World

    def begin(self) -> None:
        """Connect to what lives, have taken over what is dead."""
        for model in self.world.runners.values():
            self.attend(model)
        for path in self.world.journals:
            self._finding[path] = ""
        if not self._runners:
            self.attend(self.world.launch_runner())
        self._send_finds()

    def attend(self, model: RunnerModel) -> None:
        """Know a runner and open a connection to it."""
        runner = self._runners[model.name] = Runner(model.name, model.journal, "")
        if self._current is None:
            self._current = runner
        self.open(runner, model)

    def _want_runner(self) -> None:
        self.attend(self.world.launch_runner())

    def open(self, runner: Runner, model: RunnerModel) -> None:
        """Connect anew: the runner drops what was under way on its old connection."""
        if model.link is not None:
            model.link.cut()
        link: Any = Link(self.world, model)
        model.link = runner.link = link
        runner.heard, runner.sent = False, type(runner.sent)()
        link.send([self._build_open(runner)])

    def notice(self, runner: Runner) -> None:
        """A connection has broken: connect anew, or bury a runner that is dead."""
        self._lose_link(runner)
        model = self.world.runners.get(runner.name)
        if model is not None:
            self.open(runner, model)
            return
        self._runners.pop(runner.name, None)
        if self._current is runner:
            self._current = self._find_own()
        if runner.journal in self.world.journals:
            self._finding[runner.journal] = ""
        self.ask_again()
        if self._current is None:
            self._want_runner()
        self._send_finds()
        self._compare()

    def hear(self, runner: Runner, messages: list[dict[str, Any]]) -> None:
        """Take in one frame."""
        self._hear(runner, messages)


class SimDesk(Desk):
    """A desk whose file systems are never looked at."""

    def check_space(self) -> None:
        return


@dataclass
class Daemon:
    """One daemon that lives."""

    store: FaultyStore
    scheduler: Scheduler
    runners: SimRunners
    desk: Desk
    load: Callable[[], Engine]
    thread: SimThread

    def is_settled(self) -> bool:
        """Nothing waits for its commit, and the store takes writes."""
        effects = self.scheduler.engine.state.effects
        rows = effects.touched or effects.bulks or effects.transitions or effects.edges.list_opened()
        pending = rows or effects.pools or effects.leasing
        return not pending and not self.scheduler.is_committing and self.scheduler.refusing is None


class World:
    """Everything of one history. `make_scheduler`, `make_runners`: what a planted fault replaces; `commit`: where the
    daemon makes its commits; `leases`: what it gives ahead of need."""

    def __init__(
        self,
        make_scheduler: type[Scheduler] = Scheduler,
        make_runners: type[SimRunners] = SimRunners,
        commit: Choice = "loop",
        leases: Leases = "auto",
    ) -> None:
        self.clock = Clock()
        self.loop = Loop(self.clock)
        self.base = MemoryBase()
        self.workers = WORKERS
        self.promises = Promises(self)
        self.faults: deque[str] = deque()
        self.journals: dict[str, Journal] = {}
        self.runners: dict[str, RunnerModel] = {}
        self.daemon: Daemon | None = None
        self.crash_in: int | None = None
        self.broken: Exception | None = None
        """A promise that a commit has broken."""
        self.submitted = 0
        self._commit: Choice = commit
        self._leases: Leases = leases
        self._make_scheduler = make_scheduler
        self._make_runners = make_runners
        self._pids = 100
        self._serial = 0
        self._told: list[dict[str, Any]] = []

    # -- where the daemon may die ------------------------------------------------------------------------------------

    def seam(self, name: str) -> None:
        """A place between two steps of the daemon. Raises Crash where it is to die."""
        if self.crash_in is not None:
            self.crash_in -= 1
            if self.crash_in <= 0:
                raise Crash(name)

    def within(self, call: Callable[[], Any]) -> Any:
        """Run a piece of the daemon; it may die in it."""
        try:
            result = call()
        except Crash:
            self.kill_daemon()
            return None
        if self.broken is not None:
            raise self.broken
        return result

    # -- the daemon --------------------------------------------------------------------------------------------------

    def start_daemon(self) -> None:
        """A daemon begins, if none lives."""
        if self.daemon is None:
            self.within(self._begin)

    def _begin(self) -> None:
        store = FaultyStore(self)
        epoch = store.claim("sim", self.clock.wall)

        def load() -> Engine:
            engine = load_engine(store, SETTINGS, self.clock(), {})
            engine.state.tasks.window, engine.state.tasks.bulk = RUNS
            engine.state.leases = self._leases
            return engine

        thread = SimThread(self)
        scheduler = self._make_scheduler(Commits(store, Pace(self._commit), thread), load, self.clock)
        orders = Orders(scheduler, PATHS, SETTINGS, store.store_id())
        runners = self._make_runners(scheduler, orders, PATHS, epoch)
        runners.world = self
        self.daemon = Daemon(store, scheduler, runners, SimDesk(scheduler, SETTINGS, PATHS), load, thread)
        scheduler.performer = runners
        scheduler.on_fatal = runners.on_fatal = lambda error: self.kill_daemon()
        runners.begin()
        scheduler.start()

    def kill_daemon(self) -> None:
        """SIGKILL: what is in memory is gone; orders already sent may still arrive."""
        self.daemon, self.crash_in = None, None
        self.loop.clear()
        for model in self.runners.values():
            if model.link is not None:
                model.link.open = False
                model.link.to_daemon.clear()

    def turn(self, number: int = 0) -> bool:
        """The loop runs its next call, or the thread does its job."""
        if self.daemon is None:
            return False
        thread = self.daemon.thread
        steps = [self.loop.run_one, thread.go_on]
        first, second = steps if number % 3 else reversed(steps)
        return bool(self.within(first)) or (self.daemon is not None and bool(self.within(second)))

    def ask(self, request: Request, on_answer: Callable[[Reply], None], *, seam: bool = True) -> None:
        """A client asks; an answer that is an internal error breaks a promise. `seam`: the daemon may die before it."""
        if self.daemon is None:
            return
        desk = self.daemon.desk

        def done(result: Any) -> None:
            if seam:
                self.seam("answer")
            if callable(result):
                result = result()
            if isinstance(result, Reply):
                on_answer(result)
            elif not isinstance(result, CronoqError):
                raise BrokenPromise(f"an error is one of ours: {result!r}") from result

        self.within(lambda: desk.scheduler.run(lambda: carry_out(desk, request), done))

    def look(self) -> None:
        """Somebody looks at all tasks."""
        self.ask(ListTasks(limit=None), self.promises.told_list, seam=False)
        for task_id in sorted(self.base.tasks)[-1:]:
            self.ask(ShowTasks(select=Selector(refs=[str(task_id)])), self.promises.told_task, seam=False)

    # -- connections -------------------------------------------------------------------------------------------------

    def _list_links(self) -> list[RunnerModel]:
        return [model for model in self.runners.values() if model.link is not None]

    def deliver_to_runner(self, number: int) -> bool:
        """The next frame of orders arrives, also one of a daemon that has died since."""
        able = [model for model in self._list_links() if model.link and model.link.to_runner]
        if not able:
            return False
        model = able[number % len(able)]
        assert model.link is not None
        model.receive(model.link.to_runner.popleft())
        return True

    def deliver_to_daemon(self, number: int) -> bool:
        """The next frame of reports arrives; a broken connection is noticed."""
        if self.daemon is None:
            return False
        runners = self.daemon.runners
        for runner in runners.list_runners():
            link: Any = runner.link
            if link is not None and not link.open:
                self.within(lambda: runners.notice(runner))  # noqa: B023  -- called at once
                return True
        able: list[tuple[Runner, Any]] = [(r, r.link) for r in runners.list_runners() if r.link and r.link.to_daemon]  # type: ignore[attr-defined]
        if not able:
            return False
        runner, link = able[number % len(able)]
        messages = link.to_daemon.popleft()
        self._told += [message for message in messages if message["event"] in LIVE_REPORTS]
        del self._told[:-8]
        self.within(lambda: runners.hear(runner, messages))
        return True

    def repeat_report(self, number: int) -> None:
        """A report of late comes once more."""
        if self.daemon is None or not self._told:
            return
        message = self._told[number % len(self._told)]
        runners = self.daemon.runners
        known = [runner for runner in runners.list_runners() if runner.heard]
        if known:
            self.within(lambda: runners.hear(known[0], [dict(message)]))

    def cut(self, number: int) -> None:
        """A connection breaks."""
        able = self._list_links()
        if able:
            link = able[number % len(able)].link
            assert link is not None
            link.cut()

    # -- runners and processes ---------------------------------------------------------------------------------------

    def next_pid(self) -> int:
        self._pids += 1
        return self._pids

    def launch_runner(self) -> RunnerModel:
        """A new runner."""
        self._serial += 1
        model = RunnerModel(self, f"r{self._serial}")
        self.runners[model.name] = model
        return model

    def kill_runner(self, number: int) -> None:
        """SIGKILL for a runner."""
        if self.runners:
            name = sorted(self.runners)[number % len(self.runners)]
            model = self.runners.pop(name)
            journal = model.die()
            self.journals[journal.path] = journal
            self.promises.orphaned(journal.begun)

    def end_processes(self, number: int, code: int) -> bool:
        """One process ends."""
        able = [(m, token) for m in self.runners.values() for token in [*m.running, *m.foreign]]
        if not able:
            return False
        model, token = able[number % len(able)]
        model.end(token, code)
        return True

    def leave_idle_runner(self) -> None:
        """A runner that has nothing left goes, where nobody speaks with it or it was closed."""
        for name, model in list(self.runners.items()):
            connected = model.link is not None and model.link.open
            wanted = (connected and not model.closing) or bool(model.link and model.link.to_runner)
            if model.idle and not model.taken and not wanted:
                del self.runners[name]
                if model.link is not None:
                    model.link.cut()

    def upgrade(self) -> None:
        """The program is replaced and its daemon with it: the runners that live are of an older version now."""
        for model in self.runners.values():
            model.version = VERSION - 1
        self.kill_daemon()
        self.start_daemon()

    # -- time ----------------------------------------------------------------------------------------------------------

    def pass_time(self, seconds: float, *, asleep: bool = False) -> None:
        """Both clocks go on; of a suspended machine only the wall's."""
        self.clock.wall += seconds
        if not asleep:
            self.clock.awake += seconds
