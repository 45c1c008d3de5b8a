"""Large submissions of tasks that are all ready at once: they become runs, and nothing is made for a single one.

What asks for more than that (keys, dependencies, times, being held) goes the way of every submission, `submissions`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec.structs import astuple

from cronoq_cli.engine.live import READY, LiveBatch, LiveTask, Now
from cronoq_cli.engine.messages import Bulk, Newcomer
from cronoq_cli.engine.pools import LivePool
from cronoq_cli.engine.runs import Run
from cronoq_cli.engine.state import State
from cronoq_cli.model.task import TaskSpec

_ASKING: dict[str, object] = {
    **dict.fromkeys(("key", "unique_s", "not_before", "kill_at", "start_at", "deadline", "expires_at", "estimate_s")),
    **dict.fromkeys(("group", "slot")),
    "after": [],
    "members": [],
    "hold": False,
    "recurring": "",
}
"""Fields of a spec that ask for more than a place in a lane, with what they say when they do not."""
_ASKED = tuple(_ASKING.values())
_TOLD = ("pool", "priority", "slots", "kind", "retries", "on_lost", "stop_signal", "grace_s", "tenant")
_RARE = ("backoff", "retry_on", "no_retry_on", "success_codes", "labels", "uses")
"""What the engine goes by of other specs: usual, and rare."""
_ALL = (*_ASKING, *_RARE, *_TOLD)
_all_of = itemgetter(*map(TaskSpec.__struct_fields__.index, _ALL))
"""Of a spec as a tuple: made at once, it is half the work of looking up one field after the other."""


def read_whole(spec: TaskSpec) -> tuple[Any, ...]:
    """All that the engine goes by of a spec: tasks for which it is equal are alike."""
    whole: tuple[Any, ...] = _all_of(astuple(spec))
    return whole


def asks_for_more(whole: tuple[Any, ...]) -> bool:
    """Whether a spec asks for more than a place in a lane."""
    return whole[: len(_ASKED)] != _ASKED


class Alike(NamedTuple):
    """The kinds of task in a submission: of each the first that is of it, and the kind of every task, by index."""

    firsts: list[int]
    kinds: list[int]

    def list_places(self, kind: int) -> Sequence[int]:
        """The indices of the tasks of one kind."""
        if len(self.firsts) == 1:
            return range(len(self.kinds))
        return [place for place, one in enumerate(self.kinds) if one == kind]


def _is_new(newcomer: Newcomer) -> bool:
    """Whether a newcomer is new for sure, and nothing but its spec says what it asks for."""
    return not newcomer.edges and newcomer.existing is None and not newcomer.fingerprint and newcomer.reason is None


def asks_for_nothing(newcomer: Newcomer) -> bool:
    """Whether a newcomer, new for sure, asks for no more than a place in a lane."""
    return _is_new(newcomer) and not asks_for_more(read_whole(newcomer.spec))


def find_alike(newcomers: list[Newcomer]) -> Alike | None:
    """The kinds of these newcomers, or None when one of them asks for more than a place in a lane."""
    numbers: dict[Any, int] = {}
    alike = Alike([], [])
    number, last = 0, None
    for index, newcomer in enumerate(newcomers):
        if not _is_new(newcomer):
            return None
        whole = read_whole(newcomer.spec)
        if whole != last:  # most are as the one before
            if asks_for_more(whole):
                return None
            last = whole
            number = numbers.setdefault(repr(whole), len(alike.firsts))
            if number == len(alike.firsts):
                alike.firsts.append(index)
        alike.kinds.append(number)
    return alike


def make_samples(state: State, specs: list[TaskSpec], now: Now) -> list[LiveTask] | None:
    """A ready task for each of these specs, with no id yet; None when one of them cannot start as things are sized."""
    samples = []
    for spec in specs:
        task = LiveTask(0, spec, state.policy_of(spec), seq=0.0, now=now.wall)
        task.status, task.ready_at = READY, now.wall
        state.intern(task)
        if not state.fits(task, state.pools[spec.pool]):
            return None
        samples.append(task)
    return samples


def queue(
    state: State, newcomers: list[Newcomer], alike: Alike, samples: list[LiveTask], batch: LiveBatch | None
) -> list[int]:
    """Queue these newcomers, judged before, as runs; their ids."""
    first, count = state.next_id, len(newcomers)
    shift = float(int(state.last_seq) + 1 - first) if state.last_seq >= first else 0.0
    state.next_id, state.last_seq = first + count, first + shift + count - 1
    for kind, sample in enumerate(samples):
        places = alike.list_places(kind)
        sample.id = first + places[0]
        sample.seq = sample.id + shift
        if batch is not None:
            sample.join(batch.record.first, batch)
            batch.kept += len(places) - 1
        _add_run(state, sample, _list_ids(places, first), shift)
    specs = [newcomer.spec for newcomer in newcomers]
    told = len(state.effects.transitions)
    state.effects.bulks.append(Bulk(first, specs, samples, None if len(samples) == 1 else alike.kinds, told))
    return [*range(first, first + count)]


def _list_ids(places: Sequence[int], first: int) -> Sequence[int]:
    if places[-1] - places[0] == len(places) - 1:
        return range(first + places[0], first + places[-1] + 1)
    return array("q", (first + place for place in places))


def _add_run(state: State, sample: LiveTask, ids: Sequence[int], shift: float) -> None:
    pool = state.pools[sample.pool]
    run = Run(sample, ids, sample.submitted_at, shift)
    pool.enter_run(run)
    pool.arrivals += len(run)
    pool.lanes.add_run(run)
    state.wake_for_ready(pool)


def restore_run(sample: LiveTask, ids: Sequence[int], at: float | Sequence[float], pool: LivePool) -> None:
    """Queue tasks again that are like the sample, which is one of them; `at`: when they were submitted."""
    run = Run(sample, ids, at, sample.seq - sample.id)
    pool.enter_run(run)
    pool.lanes.add_run(run)
