"""Histories: lists of steps drawn from a seed, played on a world, and made small when one breaks a promise.

A step is a word and a number; the number chooses among what there is at that moment, so a history stays playable when
steps are taken out of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from cronoq_cli.model.recurring import CatchUp, Overlap, ScheduleSpec
from cronoq_cli.model.task import Backoff, Condition, Dependency, TaskSpec
from cronoq_cli.wire.requests import (
    Cancel,
    Hold,
    PausePool,
    Release,
    Reply,
    ResumePool,
    Retry,
    Selector,
    StartNow,
    Submit,
)
from cronoq_cli.wire.schedules import ApplySchedules, RemoveSchedules
from tests.simulation.loop import running
from tests.simulation.promises import demand
from tests.simulation.world import WORKERS, World

Step = tuple[str, int]
MakeWorld = Callable[[], World]

WHOLE_EVERY = 16
"""So many steps between two comparisons with an engine made from the store."""
LOOK_EVERY = 12
"""So many steps between two looks at all tasks."""
PATIENCE = 60
"""Times the clock goes on without faults until everything that was begun must have ended."""

TALK = 2000
"""Messages at most to and fro before all is said, while no process ends and no time passes."""


def do_submit(world: World, number: int) -> None:
    """One to three tasks of all kinds, that may wait for others."""
    draw = Random(number)
    specs = []
    for index in range(draw.choice([1, 1, 1, 2, 3])):
        world.submitted += 1
        specs.append(draw_spec(world, draw, index))
    batch = len(specs) > 1 and draw.random() < 0.5
    request = Submit(specs=specs, batch=batch, members=len(specs), limit=draw.choice([None, 1]) if batch else None)

    def told(reply: Reply) -> None:
        world.promises.told_accepted(reply.doc["tasks"])

    world.start_daemon()
    world.ask(request, told)


def draw_spec(world: World, draw: Random, index: int) -> TaskSpec:
    """A task; of kind `x` are the short ones that are given ahead."""
    fields: dict[str, Any] = {}
    if draw.random() < 0.4:
        fields = {
            "uses": draw.choice([{}, {"gpu": 1}, {"gpu": 2}]),
            "hold": draw.random() < 0.1,
            "on_lost": draw.choice([None, "requeue", "hold"]),
            "slots": draw.choice([1, 1, 2]),
            "not_before": draw.choice([None, None, world.clock.wall + 20.0]),
            "expires_at": draw.choice([None, None, None, world.clock.wall + 30.0]),
            "deadline": draw.choice([None, None, world.clock.wall + 30.0]),
        }
    if draw.random() < 0.2:
        fields |= {"key": draw.choice("abc"), "if_exists": draw.choice(["return", "refuse", "replace"])}
    return TaskSpec(
        name=f"s{world.submitted}",
        command=["true"],
        kind=draw.choice("xxy"),
        pool=draw.choice(list(WORKERS)),
        priority=draw.randint(0, 3),
        retries=draw.choice([0, 0, 1, 2]),
        backoff=Backoff(kind="fixed", first_s=5.0),
        after=draw_dependencies(world, draw, index),
        **fields,
    )


def draw_dependencies(world: World, draw: Random, index: int) -> list[Dependency]:
    """None mostly; else on a task that is there, or on an earlier one of the same submission."""
    if draw.random() < 0.7:
        return []
    condition = draw.choice([Condition.SUCCESS, Condition.ANY, Condition.FAIL])
    if index and draw.random() < 0.5:
        return [Dependency(ref="#0", condition=condition)]
    known = sorted(world.base.tasks)[-12:]
    return [Dependency(ref=str(draw.choice(known)), condition=condition)] if known else []


def do_schedule(world: World, number: int) -> None:
    """A schedule, if it is not there yet: a minute's, or one of an interval."""
    draw = Random(number)
    name = draw.choice(["tick", "tock"])
    if name in world.base.schedules:
        return
    spec = ScheduleSpec(
        name=name,
        template=TaskSpec(name=name, command=["true"], kind="x"),
        expr="* * * * *" if name == "tick" else None,
        every_s=40.0 if name == "tock" else None,
        tz="UTC",
        overlap=draw.choice(list(Overlap)),
        catch_up=draw.choice(list(CatchUp)),
    )
    world.start_daemon()
    world.ask(ApplySchedules(specs=[spec]), lambda reply: world.promises.told_scheduled(name))


def _some(world: World, number: int) -> Selector | None:
    known = sorted(world.base.tasks)[-12:]
    return Selector(refs=[str(known[number % len(known)])]) if known else None


def do_cancel(world: World, number: int) -> None:
    """Cancel one of the newest tasks."""
    select = _some(world, number)
    if select is not None:
        revived = world.promises.revived.copy()

        def told(reply: Reply) -> None:
            world.promises.told_cancelled([document["id"] for document in reply.doc["tasks"]], revived)

        world.start_daemon()
        world.ask(Cancel(select=select, dead=number % 5 == 0), told)


def do_retry(world: World, number: int) -> None:
    """Revive one of the newest tasks; whether it is known to have happened or not, its end does not hold any more."""
    select = _some(world, number)
    if select is not None and world.daemon is not None:
        task_id = int(select.refs[0])
        world.promises.revived[task_id] += 1
        world.promises.cancelled.discard(task_id)
        world.ask(Retry(select=select), lambda reply: None)


def _verb(request: Callable[[Selector], Any]) -> Callable[[World, int], None]:
    def do(world: World, number: int) -> None:
        select = _some(world, number)
        if select is not None:
            world.ask(request(select), lambda reply: None)

    return do


def do_pause(world: World, number: int) -> None:
    """Pause or resume a pool."""
    names = [list(WORKERS)[number % 2]]
    world.ask(PausePool(names=names) if number % 3 == 0 else ResumePool(names=names), lambda reply: None)


def do_crash_soon(world: World, number: int) -> None:
    """The daemon is to die at one of the next places between two of its steps."""
    if world.daemon is not None:
        world.crash_in = 1 + number % 6


def do_fault(world: World, number: int) -> None:
    """One of the next commits goes wrong."""
    world.faults.append(("busy", "full", "slow")[number % 3])


def do_rival(world: World, _number: int) -> None:
    """Another daemon has taken the store: this one must notice at its next write."""
    if world.daemon is not None:
        world.base.epoch += 1


_UPGRADED = "program upgraded"

STEPS: dict[str, tuple[int, Callable[[World, int], Any]]] = {
    "submit": (11, do_submit),
    "turn": (30, World.turn),
    "orders arrive": (16, World.deliver_to_runner),
    "reports arrive": (20, World.deliver_to_daemon),
    "process ends": (13, lambda world, number: world.end_processes(number // 4, (0, 0, 0, 1)[number % 4])),
    "time passes": (7, lambda world, number: world.pass_time((0.05, 1.0, 6.0, 65.0)[number % 4])),
    "asleep": (1, lambda world, number: world.pass_time((6.0, 3600.0)[number % 2], asleep=True)),
    "clock set": (1, lambda world, number: world.pass_time((-50.0, 50.0)[number % 2], asleep=True)),
    "cancel": (3, do_cancel),
    "hold": (1, _verb(lambda select: Hold(select=select))),
    "release": (2, _verb(lambda select: Release(select=select))),
    "start now": (1, _verb(lambda select: StartNow(select=select))),
    "retry": (1, do_retry),
    "schedule": (3, do_schedule),
    "pause": (1, do_pause),
    "start daemon": (4, lambda world, number: world.start_daemon()),
    "daemon killed": (1, lambda world, number: world.kill_daemon()),
    "daemon dies soon": (3, do_crash_soon),
    "runner killed": (1, World.kill_runner),
    "runner leaves": (1, lambda world, number: world.leave_idle_runner()),
    _UPGRADED: (1, lambda world, number: world.upgrade()),
    "connection cut": (1, World.cut),
    "report repeated": (6, World.repeat_report),
    "commit fails": (2, do_fault),
    "rival": (1, do_rival),
}
_WORDS = list(STEPS)
_FAULTS = {
    "asleep", "clock set", "daemon killed", "daemon dies soon", "runner killed", "connection cut",
    "commit fails", "rival",
}  # fmt: skip
_CALM, _SLOW = (1, 1, 6, 30), (1, 6, 30)
"""So many times rarer are faults in some histories, and ends of processes: where one follows on the heels of the other,
much never has the time to happen, and where tasks are short, nothing outlives a daemon or works beside a successor."""


def draw_history(seed: int, steps: int) -> list[Step]:
    """The history of a seed. Two of three are full of faults; in the third they are rarer, tasks may be long, and the
    program is upgraded, so that runners of two versions work side by side."""
    draw = Random(seed)
    weights: list[float] = [0 if word == _UPGRADED else weight for word, (weight, _) in STEPS.items()]
    if seed % 3 == 0:
        calm, slow = draw.choice(_CALM), draw.choice(_SLOW)
        rarer = {**dict.fromkeys(_FAULTS, calm), "process ends": slow, _UPGRADED: 1}
        weights = [weight / rarer.get(word, 1) for word, (weight, _) in STEPS.items()]
    return [(word, draw.randrange(1 << 30)) for word in draw.choices(_WORDS, weights, k=steps)]


def play(history: list[Step], make_world: MakeWorld = World) -> World:
    """Play a history to its end and then, without faults, until all is done. Raises BrokenPromise."""
    world = make_world()
    with running(world.loop), silence():
        for place, (word, number) in enumerate(history):
            STEPS[word][1](world, number)
            if place % LOOK_EVERY == 0:
                world.look()
            world.promises.check(whole=place % WHOLE_EVERY == 0)
        come_to_rest(world)
    return world


@contextmanager
def silence() -> Iterator[None]:
    """Nothing is logged: a history is full of what would be worth a line."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def come_to_rest(world: World) -> None:
    """Nothing fails any more and everybody does their part: what was begun must end."""
    world.faults.clear()
    world.crash_in = None
    for turn in range(PATIENCE):
        world.start_daemon()
        come_to_silence(world)
        while world.end_processes(0, 0):
            come_to_silence(world)
        world.promises.check(whole=True)
        if not any(task.status in _OPEN or task.leaving for task in world.base.tasks.values()):
            break
        world.pass_time(20.0)
        world.promises.schedules_go = True
        world.ask(RemoveSchedules(every=True), lambda reply: None)
        if turn % 7 == 0:
            world.ask(ResumePool(names=list(WORKERS)), lambda reply: None)
            world.ask(Release(select=Selector(all=True)), lambda reply: None)
    world.promises.check_end()


def come_to_silence(world: World) -> None:
    """Until all is said, which must be so however long the processes run: nothing goes round in circles."""
    for _ in range(TALK):
        world.start_daemon()
        if not (world.turn() or world.deliver_to_runner(0) or world.deliver_to_daemon(0)):
            return
    demand(False, "messages come to an end", TALK)


_OPEN = ("blocked", "scheduled", "ready", "running", "retrying")


@dataclass
class Failure:
    """A history that breaks a promise, as short as it could be made."""

    seed: int
    history: list[Step]
    error: str

    def tell(self) -> str:
        """Text that can be played again: `play([...])`."""
        steps = "".join(f"    {step!r},\n" for step in self.history)
        return f"seed {self.seed}, {len(self.history)} steps: {self.error}\n[\n{steps}]"


def find_fault(history: list[Step], make_world: MakeWorld = World) -> str | None:
    """What a history breaks, None when it keeps every promise."""
    try:
        play(history, make_world)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrink(history: list[Step], make_world: MakeWorld = World, *, most_plays: int = 600) -> list[Step]:
    """A shorter history that still breaks something: pieces are taken out, ever smaller ones."""
    size, plays = max(1, len(history) // 2), 0
    while size:
        place = 0
        while place < len(history) and plays < most_plays:
            shorter = history[:place] + history[place + size :]
            plays += 1
            if find_fault(shorter, make_world) is not None:
                history = shorter
            else:
                place += size
        size //= 2
    return history


def search(
    seeds: range, steps: int, make_world: MakeWorld = World, *, until: Callable[[], bool] = lambda: False
) -> tuple[int, Failure | None]:
    """Play histories until one breaks something, or `until` says so: how many were played, and the first failure."""
    for count, seed in enumerate(seeds):
        if until():
            return count, None
        history = draw_history(seed, steps)
        error = find_fault(history, make_world)
        if error is not None:
            small = shrink(history, make_world)
            return count + 1, Failure(seed, small, find_fault(small, make_world) or error)
    return len(seeds), None
