"""Rules on a schedule's state: which slots are due, missed, caught up or skipped, and what overlaps do. No clock.

A slot is the instant that the expression names; jitter moves the start, never the slot, so that each slot has one key.
Carrying a decision out (tasks, rows, timers) is not done here.
"""

from __future__ import annotations

import math
from datetime import tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from cronoq_cli.engine.cron import EVERY, REBOOT, next_after, parse_cron, previous_before
from cronoq_cli.engine.cron_count import count_between
from cronoq_cli.engine.resources import CATCH_UP
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.cron_expression import CronExpression
from cronoq_cli.model.duration import parse_positive_duration
from cronoq_cli.model.moment import format_utc
from cronoq_cli.model.recurring import WITHDRAWN, CatchUp, Overlap, ScheduleSpec, ScheduleState
from cronoq_cli.model.task import OnLost, OnMiss, Priority, TaskSpec

MOST_MISSED, MOST_CAUGHT_UP = 100, 1000
"""So many missed slots are looked at one by one, the newest; the larger number where all are to be caught up."""
DEFAULT_WITHIN_S = 86_400.0
SHORTEST_INTERVAL_S = 0.1
BACKSTEP_S = 3 * 3600.0
"""A clock set back by up to this is a correction, as Debian's cron has it: what was decided stays decided. Slots
decided further ahead come from a clock that was wrong; then the keys of what ran are all that is left to go by."""


class Reason(StrEnum):
    """Why an occurrence starts (`CRONOQ_REASON`)."""

    SCHEDULED = "scheduled"
    CATCH_UP = "catch-up"
    MANUAL = "manual"
    WITHDRAWN = WITHDRAWN
    """It does not: it was made to reserve its start, and taken back with the schedule or for a slot left out."""


class Run(msgspec.Struct, frozen=True):
    """One slot to submit."""

    slot: float
    reason: Reason


class SlotRun(msgspec.Struct, frozen=True):
    """Slots in a row that are counted and not named: the oldest, the newest, and how many they are."""

    oldest: float
    newest: float
    count: int


class Due(msgspec.Struct, kw_only=True):
    """What one look at a schedule says: `run` oldest first, `missed` and `skipped` to record, all slots in order.

    `older`: still older slots were missed, too many to name. `decided_at` is the newest slot decided by this look.
    `warning`: the stored state was not believable. `settle` makes the new state of it.
    """

    run: list[Run] = []
    missed: list[float] = []
    skipped: list[float] = []
    older: SlotRun | None = None
    decided_at: float
    warning: str | None = None


class Timing(msgspec.Struct, frozen=True):
    """When a schedule runs: exactly one is set, named as in `ScheduleSpec`."""

    expr: str | None = None
    every_s: float | None = None
    reboot: bool = False


def parse_timing(text: str, *, seconds: bool = False) -> Timing:
    """What `recurring add` takes: a cron expression, a macro, `@reboot` or `@every DUR`.

    Raises InvalidError `bad-schedule`, for `@every` also UsageError where its length is none.
    """
    word, _, rest = text.strip().replace("\t", " ").partition(" ")
    if word.lower() == EVERY:
        return Timing(every_s=parse_every(rest))
    if word.lower() == REBOOT and not rest.strip():
        return Timing(reboot=True)
    return Timing(expr=parse_cron(text, seconds=seconds).text)


def parse_every(text: str) -> float:
    """Seconds of an interval, at least a tenth of one. Raises UsageError."""
    every_s = parse_positive_duration(text)
    if every_s < SHORTEST_INTERVAL_S:
        raise UsageError(f"{text.strip()!r} is too short for an interval", hint="the shortest is 100ms")
    return every_s


def parse_when(spec: ScheduleSpec) -> CronExpression | None:
    """The expression of a schedule that has one. Raises InvalidError as `parse_cron` does."""
    return None if spec.expr is None else parse_cron(spec.expr, seconds=spec.seconds)


def find_next_slot(spec: ScheduleSpec, state: ScheduleState, now: float, zone: tzinfo) -> float | None:
    """The first slot of a cron schedule that is still to be decided, overdue or ahead; None when there is none.

    Pauses, skips, `until` and `max_runs` are kept to. A pause without an end has no next slot.
    """
    expression = parse_when(spec)
    if expression is None or not goes_on(spec, state):
        return None
    slot = next_after(expression, _begin_of(state, now, _backstep_s(spec)), zone)
    while slot is not None and slot in state.skips:
        slot = next_after(expression, slot, zone)
    return slot if slot is not None and (spec.until is None or slot <= spec.until) else None


def list_next_slots(spec: ScheduleSpec, state: ScheduleState, now: float, zone: tzinfo, n: int) -> list[float]:
    """The next `n` slots of a cron schedule: those to be decided, and those that are tasks ahead of their start."""
    expression, slots = parse_when(spec), list[float]()
    slot = find_next_slot(spec, state, now, zone)
    most = n if spec.max_runs is None else min(n, spec.max_runs - state.runs)
    while expression is not None and slot is not None and len(slots) < most:
        if spec.until is not None and slot > spec.until:
            break
        if slot not in state.skips and slot not in state.ahead:
            slots.append(slot)
        slot = next_after(expression, slot, zone) if len(slots) < most else None
    return sorted([*slots, *(slot for slot in state.ahead if slot > now)])[:n]


def list_next_starts(spec: ScheduleSpec, state: ScheduleState, now: float, zone: tzinfo, n: int) -> list[float]:
    """The next `n` starts after `now`, jitter included; of an interval as far as the machine stays awake."""
    if not goes_on(spec, state) and not state.ahead:
        return []
    if spec.every_s is None:
        shift_s = jitter_of(spec.name, spec.jitter_s)
        if now - shift_s > state.decided_at:
            state = msgspec.structs.replace(state, decided_at=now - shift_s)
        return [slot + shift_s for slot in list_next_slots(spec, state, now - shift_s, zone, n)]
    if state.next_at is None:
        return []
    begin = max(now, state.paused_until or now) if state.paused else now
    first = state.next_at + math.ceil(max(0.0, begin - state.next_at) / spec.every_s - 1e-9) * spec.every_s
    first += state.skip_points * spec.every_s
    most = n if spec.max_runs is None else min(n, spec.max_runs - state.runs)
    starts = [first + spec.every_s * number for number in range(most)]
    return [start_at for start_at in starts if spec.until is None or start_at <= spec.until]


def is_slot(spec: ScheduleSpec, at: float, zone: tzinfo) -> bool:
    """Whether a cron schedule has a slot at exactly this instant."""
    expression = parse_when(spec)
    return expression is not None and next_after(expression, math.ceil(at) - 1, zone) == at


def goes_on(spec: ScheduleSpec, state: ScheduleState) -> bool:
    """Whether there can be another occurrence: runs are left, and a pause, if there is one, ends by itself."""
    return not _is_used_up(spec, state) and not (state.paused and state.paused_until is None)


def end_pause(state: ScheduleState, now: float) -> None:
    """Let a pause be over whose end has come."""
    if state.paused and not is_paused(state, now):
        state.paused, state.paused_until, state.pause_reason = False, None, None


def check_timing(spec: ScheduleSpec) -> None:
    """Raises InvalidError for a schedule that has not exactly one timing, a wrong or a conflicting one."""
    timings = (spec.expr is not None) + (spec.every_s is not None) + spec.reboot
    if timings != 1:
        raise InvalidError(f"schedule {spec.name!r}: give one of an expression, an interval and @reboot")
    parse_when(spec)
    if spec.every_s is not None and not SHORTEST_INTERVAL_S <= spec.every_s < math.inf:
        raise InvalidError(f"schedule {spec.name!r}: the interval is too short", hint="the shortest is 100ms")
    if spec.reserve and spec.expr is None:
        raise InvalidError(
            f"schedule {spec.name!r}: only starts by the clock can be reserved", hint="leave out --reserve"
        )


def _is_used_up(spec: ScheduleSpec, state: ScheduleState) -> bool:
    return spec.max_runs is not None and state.runs >= spec.max_runs


def _backstep_s(spec: ScheduleSpec) -> float:
    """How far ahead of the slots' clock a decided time may be: that clock is behind by the jitter, an `add` is not."""
    return BACKSTEP_S + jitter_of(spec.name, spec.jitter_s)


def _begin_of(state: ScheduleState, now: float, backstep_s: float = BACKSTEP_S) -> float:
    """The moment behind which slots are still to be decided."""
    begin = now if state.decided_at > now + backstep_s else state.decided_at
    if state.paused and state.paused_until is not None:
        begin = max(begin, state.paused_until - 0.001)  # a slot at the very end of the pause runs
    return begin


def find_wrong_clock(spec: ScheduleSpec, state: ScheduleState, now: float) -> str | None:
    """What is to be said of a decided slot that only a clock that was wrong can have decided; None: all is well."""
    if spec.expr is None or state.decided_at <= now + _backstep_s(spec):
        return None
    return f"the last slot {format_utc(state.decided_at)} lies in the future: the clock was wrong, passed over"


def is_paused(state: ScheduleState, now: float) -> bool:
    """Whether slots that fall due now are passed over."""
    return state.paused and (state.paused_until is None or now < state.paused_until)


def decide_due(
    spec: ScheduleSpec,
    state: ScheduleState,
    now: float,
    zone: tzinfo,
    *,
    able_since: float,
    ahead_s: float = 0.0,
) -> Due:
    """What is to be done at `now` with the slots of a cron schedule behind those already decided.

    `able_since` is the moment from which something could run them: the start of the daemon, the end of a suspend, the
    far side of a jump of the clock. Slots before it were missed and are left to catch-up; later ones are due. Slots of
    a pause are passed over and not missed. `ahead_s`: by so much `now` is ahead, for those that are to reserve their
    start; what was missed is as old as it is.
    """
    expression = parse_when(spec)
    warning, backstep_s = find_wrong_clock(spec, state, now), _backstep_s(spec)
    if expression is None or is_paused(state, now):
        return Due(decided_at=now if warning else max(now, state.decided_at), warning=warning)
    begin, end = _begin_of(state, now, backstep_s), now if spec.until is None else min(now, spec.until)
    most = MOST_CAUGHT_UP if spec.catch_up is CatchUp.ALL else MOST_MISSED
    slots, more = gather_slots(expression, begin, end, zone, most)
    older = count_older(expression, state.skips, begin, slots[0], zone) if more else None
    wanted = [slot for slot in slots if slot not in state.skips]
    run, missed = _choose(spec, expression, wanted, now - ahead_s, zone, able_since)
    left = None if spec.max_runs is None else max(0, spec.max_runs - state.runs)
    return Due(
        run=run[:left],
        missed=[] if left == 0 else missed,
        skipped=[slot for slot in slots if slot in state.skips],
        older=None if left == 0 else older,
        decided_at=slots[-1] if slots else begin,
        warning=warning,
    )


def _choose(
    spec: ScheduleSpec, expression: CronExpression, slots: list[float], now: float, zone: tzinfo, able_since: float
) -> tuple[list[Run], list[float]]:
    """Which slots run and why, and which stay missed."""
    late = [slot for slot in slots if slot < able_since]
    within_s = spec.catch_up_within_s
    if within_s is None and late and spec.catch_up is CatchUp.LATEST:
        within_s = default_within_s(expression, late[-1], zone)
    caught_up, missed = decide_catch_up(spec.catch_up, late, now, within_s)
    run = [Run(slot, Reason.CATCH_UP) for slot in caught_up]
    run += [Run(slot, Reason.SCHEDULED) for slot in slots if slot >= able_since]
    return run, missed


def settle(
    spec: ScheduleSpec, state: ScheduleState, due: Due, *, submitted: int, now: float, zone: tzinfo
) -> ScheduleState:
    """The state after a look was carried out and `submitted` of its runs became tasks: nothing of it comes again."""
    over = state.paused and not is_paused(state, now)
    after = msgspec.structs.replace(
        state,
        decided_at=due.decided_at,
        runs=state.runs + submitted,
        skips=[slot for slot in state.skips if slot > due.decided_at],
        withdrawn=[slot for slot in state.withdrawn if slot > due.decided_at],
        paused=state.paused and not over,
        paused_until=None if over else state.paused_until,
        pause_reason=None if over else state.pause_reason,
    )
    after.next_at = find_next_slot(spec, after, now, zone)
    return after


def gather_slots(
    expression: CronExpression, after: float, until: float, zone: tzinfo, most: int = MOST_MISSED
) -> tuple[list[float], bool]:
    """The slots in (after, until], oldest first: the newest `most` of them, and whether there are more."""
    slots: list[float] = []
    slot = previous_before(expression, math.floor(until) + 1, zone)
    while slot is not None and slot > after and len(slots) < most:
        slots.append(slot)
        slot = previous_before(expression, slot, zone)
    return slots[::-1], slot is not None and slot > after


def count_older(
    expression: CronExpression, skips: list[float], after: float, before: float, zone: tzinfo
) -> SlotRun | None:
    """The slots in (after, before) without those left out, as one run."""
    oldest, newest = next_after(expression, after, zone), previous_before(expression, before, zone)
    if oldest is None or newest is None or newest < oldest:
        return None
    count = count_between(expression, math.ceil(oldest) - 1, math.floor(newest), zone)
    return SlotRun(oldest, newest, count - sum(oldest <= slot <= newest for slot in skips))


def default_within_s(expression: CronExpression, slot: float, zone: tzinfo) -> float:
    """How old a slot may be to be caught up when nobody said: the smaller of one period and 24 h."""
    following = next_after(expression, slot, zone)
    return DEFAULT_WITHIN_S if following is None else min(following - slot, DEFAULT_WITHIN_S)


def decide_catch_up(
    policy: CatchUp, missed: list[float], now: float, within_s: float | None
) -> tuple[list[float], list[float]]:
    """Which missed slots run after all and which stay missed, both oldest first. `within_s` None: of any age."""
    if policy is CatchUp.NONE or not missed:
        return [], list(missed)
    candidates = missed if policy is CatchUp.ALL else missed[-1:]
    run = [slot for slot in candidates if within_s is None or now - slot <= within_s]
    chosen = set(run)
    return run, [slot for slot in missed if slot not in chosen]


class Interval(msgspec.Struct, frozen=True):
    """What an interval says: run now or not, how many runs were missed, how far the grid moves, and what is left."""

    run: bool
    missed: int
    advance_s: float
    wait_s: float


def decide_interval(every_s: float, elapsed_s: float, policy: CatchUp, *, able_for_s: float = math.inf) -> Interval:
    """Whether an interval is over, `elapsed_s` after the last point of its grid.

    Points are not replayed in bulk: however many went by, the newest runs at most. It was missed when it fell more
    than `able_for_s` ago (how long something has been able to run it), and is then left to the policy.
    """
    elapsed_s = max(0.0, elapsed_s)
    points = math.floor(elapsed_s / every_s + 1e-9)
    late_s = max(0.0, elapsed_s - points * every_s)
    run = points > 0 and (late_s <= able_for_s or policy is not CatchUp.NONE)
    missed = max(0, points - run)
    return Interval(run=run, missed=missed, advance_s=points * every_s, wait_s=every_s - late_s)


def decide_reboot(state: ScheduleState, boot_id: str) -> bool:
    """Whether `@reboot` runs now: the machine has booted since the last time, the daemon's own start is no boot."""
    return state.boot_id is not None and state.boot_id != boot_id


def jitter_of(name: str, jitter_s: float) -> float:
    """How long after its slots a schedule of this name starts: from 0 to below `jitter_s`, in whole milliseconds."""
    if not jitter_s:
        return 0.0
    import hashlib

    draw = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:6], "big")
    return math.floor(draw * jitter_s * 1000 / 2**48) / 1000


def key_of(name: str, slot: float) -> str:
    """The key that keeps a slot from running twice."""
    return f"{name}@{format_utc(slot)}"


class Earlier(StrEnum):
    """How the earlier occurrences stand, manual ones not asked."""

    OVER = "over"
    LIVE = "live"
    FAILED = "failed"
    """The last one ended badly and the chain on success has not been resumed since."""


class Action(StrEnum):
    """What becomes of a new occurrence."""

    SUBMIT = "submit"
    SKIP = "skip"
    AFTER_ANY = "after-any"
    AFTER_SUCCESS = "after-success"
    CANCEL_EARLIER = "cancel-earlier"
    """Submit it behind the end of the earlier ones, which are cancelled."""


OVERLAPS = MappingProxyType(
    {
        (Overlap.SKIP, Earlier.OVER): Action.SUBMIT,
        (Overlap.SKIP, Earlier.LIVE): Action.SKIP,
        (Overlap.SKIP, Earlier.FAILED): Action.SUBMIT,
        (Overlap.ALLOW, Earlier.OVER): Action.SUBMIT,
        (Overlap.ALLOW, Earlier.LIVE): Action.SUBMIT,
        (Overlap.ALLOW, Earlier.FAILED): Action.SUBMIT,
        (Overlap.QUEUE, Earlier.OVER): Action.SUBMIT,
        (Overlap.QUEUE, Earlier.LIVE): Action.AFTER_ANY,
        (Overlap.QUEUE, Earlier.FAILED): Action.SUBMIT,
        (Overlap.QUEUE_ON_SUCCESS, Earlier.OVER): Action.SUBMIT,
        (Overlap.QUEUE_ON_SUCCESS, Earlier.LIVE): Action.AFTER_SUCCESS,
        (Overlap.QUEUE_ON_SUCCESS, Earlier.FAILED): Action.SKIP,
        (Overlap.REPLACE, Earlier.OVER): Action.SUBMIT,
        (Overlap.REPLACE, Earlier.LIVE): Action.CANCEL_EARLIER,
        (Overlap.REPLACE, Earlier.FAILED): Action.SUBMIT,
    }
)
"""What `--overlap` means, for each way the earlier occurrences can stand."""

SKIP_REASONS = MappingProxyType(
    {
        Earlier.LIVE: "the previous occurrence is not over",
        Earlier.FAILED: "the previous occurrence did not succeed; resume the schedule to go on",
    }
)


def decide_overlap(overlap: Overlap, *, live: bool, broken: bool) -> tuple[Action, str | None]:
    """What becomes of a new occurrence, and why when it is skipped. A broken chain on success counts before all."""
    earlier = (
        Earlier.FAILED
        if broken and (overlap is Overlap.QUEUE_ON_SUCCESS or not live)
        else Earlier.LIVE
        if live
        else Earlier.OVER
    )
    action = OVERLAPS[overlap, earlier]
    return action, SKIP_REASONS[earlier] if action is Action.SKIP else None


def judge_end(spec: ScheduleSpec, state: ScheduleState, *, succeeded: bool) -> ScheduleState:
    """The state after an occurrence ended for good (a manual run is not asked): failures in a row, chain, pause."""
    if succeeded:
        return msgspec.structs.replace(state, failures=0)
    failures = state.failures + 1
    after = msgspec.structs.replace(state, failures=failures)
    if spec.overlap is Overlap.QUEUE_ON_SUCCESS:
        after.broken = True
    if spec.pause_after_failures is not None and failures >= spec.pause_after_failures and not state.paused:
        after.paused, after.paused_until = True, None
        after.pause_reason = f"{failures} failures in a row"
    return after


def resume(state: ScheduleState, now: float) -> ScheduleState:
    """The state after `resume`: slots of the pause are not made up for, a broken chain goes on, failures count anew."""
    return msgspec.structs.replace(
        state,
        paused=False,
        paused_until=None,
        pause_reason=None,
        failures=0,
        broken=False,
        decided_at=max(now, state.decided_at) if is_paused(state, now) else _begin_of(state, now),
    )


def occurrence_spec(spec: ScheduleSpec, run: Run, *, now: float | None = None) -> TaskSpec:
    """The task of one slot: the template with key, tag, start and what depends on the start.

    Caught up it is low unless a priority was given, reserves nothing, and its tolerance counts from `now` on, when it
    is submitted; a few of its kind run at once.
    """
    start_at = run.slot + jitter_of(spec.name, spec.jitter_s)
    caught_up = run.reason is Reason.CATCH_UP
    changes: dict[str, Any] = {
        "key": key_of(spec.name, run.slot),
        "once": True,
        "if_exists": "return",
        "unique_s": None,
        "tags": {**spec.template.tags, "recurring": spec.name},
        "recurring": spec.name,
        "slot": run.slot,
        "not_before": start_at,
    }
    if caught_up:
        changes["uses"] = {**spec.template.uses, CATCH_UP: 1.0}
        if not spec.priority_given:
            changes["priority"] = Priority.LOW
    counted_from = max(start_at, now) if caught_up and now is not None else start_at
    changes |= _start_changes(spec, start_at, counted_from, reserved=spec.reserve and not caught_up)
    return msgspec.structs.replace(spec.template, **changes)


def _start_changes(spec: ScheduleSpec, start_at: float, counted_from: float, *, reserved: bool) -> dict[str, Any]:
    """What depends on the start: a fixed one where capacity is reserved, deadline, and when it is too late."""
    changes: dict[str, Any] = {}
    if spec.deadline_after_s is not None:
        changes["deadline"] = counted_from + spec.deadline_after_s
    on_miss = spec.on_miss or OnMiss.RUN_LATE
    if reserved:
        changes |= {"start_at": start_at, "not_before": None, "on_miss": on_miss}
        if spec.tolerance_s is not None:
            changes["tolerance_s"] = spec.tolerance_s
    elif spec.tolerance_s is not None and on_miss != OnMiss.RUN_LATE:
        changes |= {"expires_at": counted_from + spec.tolerance_s, "on_miss": on_miss}
    return changes


def late_from(spec: ScheduleSpec, start_at: float) -> float | None:
    """The moment from which an occurrence that was to start at `start_at` is late; None without a tolerance."""
    return None if spec.tolerance_s is None else start_at + spec.tolerance_s


def manual_spec(spec: ScheduleSpec, now: float) -> TaskSpec:
    """The task of `recurring run`: no key and no start, so that twice is two runs and no slot is touched. A deadline
    counts from now on."""
    return msgspec.structs.replace(
        spec.template,
        key=None,
        not_before=None,
        deadline=None if spec.deadline_after_s is None else now + spec.deadline_after_s,
        on_lost=OnLost.COUNT,
        tags={**spec.template.tags, "recurring": spec.name},
        recurring=spec.name,
        slot=now,
    )
