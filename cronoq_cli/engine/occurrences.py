"""What falls due of the recurring schedules: occurrences become tasks, or rows of the history that say why not.

The rules are pure and stand in `recurrence`; each decision, its tasks and its rows are effects of one step, so that a
slot is decided once whatever crashes. What people change is in `schedule_changes`, what an end means
in `incidents`.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from cronoq_cli.engine import recurrence
from cronoq_cli.engine.cron import next_after
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Newcomer, Submitted, WantedEdge
from cronoq_cli.engine.passing import LEFT_OUT, MISSED, Why, pass_over, pass_run_over, tell
from cronoq_cli.engine.recurrence import Action, Due, Reason, Run, SlotRun
from cronoq_cli.engine.schedules import LiveSchedule, put_state
from cronoq_cli.engine.state import State
from cronoq_cli.engine.submissions import apply_submitted
from cronoq_cli.engine.timers import Due as DueKind
from cronoq_cli.engine.verbs import cancel_one
from cronoq_cli.errors import ConflictError, CronoqError
from cronoq_cli.model.lifecycle import LIVE, Status
from cronoq_cli.model.reaction import make_reactions
from cronoq_cli.model.recurring import Overlap, ScheduleSpec
from cronoq_cli.model.task import Condition, TaskSpec

JUMP_S = 2.0
"""By so much the wall clock has left the awake clock when it was set or the machine slept; slewing is far below."""
MOST_AHEAD_S = 2 * 3600.0
"""Occurrences that reserve are made tasks this long before their start at most, whatever `max_hold` says."""
MARGIN_S = 60.0
MOST_EDGES = 16
"""Behind so many of the earlier occurrences a new one is chained: a cancelled link in between lets nothing slip by."""

following_slot = lru_cache(maxsize=4096)(next_after)
"""`next_after`, remembered: many schedules have the same times, and each slot is asked for twice."""


# -- timers ----------------------------------------------------------------------------------------------------------


def arm(state: State, one: LiveSchedule) -> None:
    """Have a schedule looked at when its next slot is due."""
    one.armed_at = None
    spec, at = one.spec, one.state
    if one.fault is not None or at.next_at is None:
        return
    if spec.every_s is not None:
        if at.awake_at is not None:
            one.armed_at = at.awake_at + spec.every_s
            state.timers.arm_awake(one.armed_at, DueKind.SCHEDULE, one.number)
        return
    one.armed_at = at.next_at + recurrence.jitter_of(spec.name, spec.jitter_s) - ahead_s(state, one)
    state.timers.arm_wall(one.armed_at, DueKind.SCHEDULE, one.number)


def ahead_s(state: State, one: LiveSchedule) -> float:
    """How long before its start an occurrence is made a task: only where capacity is reserved, before it is held."""
    if not one.spec.reserve:
        return 0.0
    pool = state.pools.get(one.spec.template.pool)
    return 0.0 if pool is None else min(pool.plan.max_hold_s + MARGIN_S, MOST_AHEAD_S)


def look_at_waiting(state: State, now: Now) -> None:
    """What fell due while nothing could be decided is looked at now."""
    waiting, state.schedules.waiting = state.schedules.waiting, {}
    for number in waiting:
        state.timers.arm_wall(now.wall, DueKind.SCHEDULE, number)


def look_at_schedule(state: State, number: int, now: Now) -> bool:
    """A schedule may be due: decide its slots, now or when the runners are compared. Whether anything became a task."""
    one = state.schedules.by_number.get(number)
    if one is None:
        return False
    if not state.compared or state.draining or state.stopping:
        state.schedules.waiting[number] = None
        return False
    note_clocks(state, now)
    if one.ahead:
        _start_ahead(state, one, now)
    clock = now.wall if one.spec.every_s is None else now.awake
    if one.armed_at is None or one.armed_at > clock:
        return False
    one.armed_at = None
    chain = one.state.chain
    decide(state, one, now)
    return one.state.chain != chain


def note_clocks(state: State, now: Now) -> None:
    """See whether the clocks have parted: what the wall clock left out was missed (a suspend, a jump forward)."""
    schedules = state.schedules
    seen, schedules.seen = schedules.seen, now
    if seen is None:
        return
    awake_s = now.awake - seen.awake
    jump_s = now.wall - seen.wall - awake_s
    if jump_s > JUMP_S:  # the awake time since the last look may all lie behind the jump: what fell due then is due
        schedules.able_since = max(schedules.able_since, now.wall - awake_s)
        look_anew(state, now)
    elif jump_s < -JUMP_S:
        schedules.able_since = min(schedules.able_since, now.wall)
        look_anew(state, now)


def look_anew(state: State, now: Now) -> None:
    """Find the next slot of every schedule again: the clock is another one. Intervals go on, by another time of day."""
    for one in state.schedules.by_name.values():
        for task in list_live(state, one) if one.spec.reserve else ():
            if task.attempt == 0:
                note_start(state, one, task, now)  # set back, it is ahead of its start again
        forget_wrong_clock(state, one, now)
        find_next(state, one, now)
        if one.spec.expr is not None:
            arm(state, one)


def forget_wrong_clock(state: State, one: LiveSchedule, now: Now) -> None:
    """What was decided by a clock that was far ahead is decided no more: slots count from now on, by this one. What of
    it still waits would wait for that time to come once more, and others behind it."""
    clock = now.wall - recurrence.jitter_of(one.name, one.spec.jitter_s)
    warning = recurrence.find_wrong_clock(one.spec, one.state, clock + ahead_s(state, one))
    if warning is None:
        return
    tell(state, one, "recurring-clock", now.wall, warning)
    made = [task for task in list_live(state, one) if task.status in (Status.BLOCKED, Status.SCHEDULED)]
    shift_s = now.wall - clock
    ahead = [(task, (task.not_before or 0.0) - shift_s) for task in made if not task.attempt]
    _take_back(state, one, [pair for pair in ahead if pair[1] > clock], now, "it was made by a clock that was wrong")
    put_state(one, msgspec.structs.replace(one.state, decided_at=clock), now.wall)
    state.effects.schedules[one.name] = one.schedule


def find_next(state: State, one: LiveSchedule, now: Now) -> None:
    """Let a schedule know its next slot; one that this machine cannot read has none, and a fault."""
    try:
        next_at = _next_of(state, one, now)
        one.fault = None
    except CronoqError as error:
        next_at, one.fault = None, error.message
    one.state.next_at = next_at


def _next_of(state: State, one: LiveSchedule, now: Now) -> float | None:
    spec, at = one.spec, one.state
    if spec.every_s is not None:
        if at.awake_at is None or not recurrence.goes_on(spec, at):
            return None
        next_at = now.wall + at.awake_at + spec.every_s - now.awake
        return next_at if spec.until is None or next_at <= spec.until else None
    shift_s = recurrence.jitter_of(spec.name, spec.jitter_s)
    return recurrence.find_next_slot(spec, at, now.wall - shift_s, state.schedules.zone_of(spec))


# -- deciding --------------------------------------------------------------------------------------------------------


def decide(state: State, one: LiveSchedule, now: Now) -> None:
    """Decide what is due of a schedule, and arm it for what comes."""
    spec = one.spec
    if spec.every_s is not None:
        _decide_interval(state, one, spec.every_s, now)
    elif spec.reboot:
        _decide_reboot(state, one, now)
    else:
        _decide_cron(state, one, now)
    state.effects.schedules[one.name] = one.schedule
    arm(state, one)


def _decide_cron(state: State, one: LiveSchedule, now: Now) -> None:
    """Slots are looked at by a clock that is behind by the jitter, and ahead where capacity is reserved."""
    spec, schedules = one.spec, state.schedules
    zone = schedules.zone_of(spec)
    behind_s = recurrence.jitter_of(spec.name, spec.jitter_s)
    early_s = ahead_s(state, one)
    clock = now.wall - behind_s + early_s
    able_since = schedules.able_since - behind_s
    due = _find_single(state, one, clock, able_since)
    if due is None:
        due = recurrence.decide_due(spec, one.state, clock, zone, able_since=able_since, ahead_s=early_s)
    if due.warning is not None:
        tell(state, one, "recurring-clock", now.wall, due.warning)
    if due.older is not None:
        pass_run_over(state, one, MISSED, due.older, now)
    pass_over(state, one, MISSED, due.missed, now)
    pass_over(state, one, LEFT_OUT, due.skipped, now)
    submitted = _submit_all(state, one, due.run, now)
    before = one.state
    after = recurrence.settle(spec, before, due, submitted=submitted, now=clock, zone=zone)
    if spec.reserve:  # decided ahead, and yet to be shown as left out until its time has come
        after.skips = [slot for slot in before.skips if slot > now.wall - behind_s]
    put_state(one, after, now.wall)


def _find_single(state: State, one: LiveSchedule, clock: float, able_since: float) -> Due | None:
    """The usual case at little cost: the one slot that was armed for is due, and nothing else is to be minded."""
    at, spec = one.state, one.spec
    slot, expression = at.next_at, recurrence.parse_when(spec)
    if slot is None or expression is None or at.paused or at.skips or slot < able_since or slot > clock:
        return None
    if at.decided_at >= slot or spec.until is not None:
        return None
    following = following_slot(expression, slot, state.schedules.zone_of(spec))
    if following is not None and following <= clock:
        return None
    return Due(run=[Run(slot, Reason.SCHEDULED)], decided_at=slot)


def _decide_interval(state: State, one: LiveSchedule, every_s: float, now: Now) -> None:
    spec, at = one.spec, one.state
    elapsed_s = now.awake - (now.awake if at.awake_at is None else at.awake_at)
    able_for_s = now.awake - state.schedules.able_awake
    said = recurrence.decide_interval(every_s, elapsed_s, spec.catch_up, able_for_s=able_for_s)
    late_s = every_s - said.wait_s
    slot = round(now.wall - late_s, 3)
    after = msgspec.structs.replace(at, decided_at=slot, awake_at=(at.awake_at or 0.0) + said.advance_s)
    put_state(one, after, now.wall)
    points = round(said.advance_s / every_s)
    if points and not recurrence.is_paused(at, now.wall) and (spec.until is None or slot <= spec.until):
        run = [Run(slot, Reason.SCHEDULED if late_s <= able_for_s else Reason.CATCH_UP)] if said.run else []
        if at.skip_points and run:
            after.skip_points, run = at.skip_points - 1, []
            pass_over(state, one, LEFT_OUT, [slot], now)
        if said.missed:
            oldest, newest = slot - (points - 1) * every_s, slot - (every_s if said.run else 0.0)
            pass_run_over(state, one, MISSED, SlotRun(oldest, newest, said.missed), now)
        after.runs += _submit_all(state, one, run, now)
    recurrence.end_pause(one.state, now.wall)
    find_next(state, one, now)


def _decide_reboot(state: State, one: LiveSchedule, now: Now) -> None:
    boot_id, at = state.schedules.boot_id, one.state
    if boot_id is None or not recurrence.decide_reboot(at, boot_id):
        return
    slot = round(now.wall, 3)
    after = msgspec.structs.replace(at, boot_id=boot_id, decided_at=slot, next_at=None)
    put_state(one, after, now.wall)
    if recurrence.goes_on(one.spec, at) and not recurrence.is_paused(at, now.wall):
        after.runs += _submit_all(state, one, [Run(slot, Reason.SCHEDULED)], now)
    recurrence.end_pause(one.state, now.wall)


def _submit_all(state: State, one: LiveSchedule, runs: list[Run], now: Now) -> int:
    """Make tasks of slots, oldest first; how many became one. When some are caught up, they all wait a moment for those
    of other schedules, and are counted then."""
    if any(run.reason is Reason.CATCH_UP for run in runs):
        state.schedules.catching += [(run, one) for run in runs]
        return 0
    return sum(submit(state, one, run, now, []) is not None for run in runs)


def submit_caught_up(state: State, now: Now) -> None:
    """Make tasks of what all schedules have to catch up, the oldest slot first, whosever it is."""
    catching, state.schedules.catching = state.schedules.catching, []
    fresh: dict[int, list[int]] = {}
    for run, one in sorted(catching, key=lambda pair: pair[0].slot):
        mine = fresh.setdefault(one.number, [])
        task_id = submit(state, one, run, now, mine)
        if task_id is not None:
            mine.append(task_id)
            one.state.runs += 1
    for number, ids in fresh.items():
        found = state.schedules.by_number.get(number)
        if found is not None and ids and found.spec.max_runs is not None:
            find_next(state, found, now)
            arm(state, found)


# -- from a slot to a task -------------------------------------------------------------------------------------------


def submit(state: State, one: LiveSchedule, run: Run, now: Now, fresh: list[int]) -> int | None:
    """The task of one slot, or None when it ran before or is passed over, which is recorded.

    `fresh` are those of the same decision: occurrences caught up together do not pass each other over, they wait for
    each other."""
    spec = recurrence.occurrence_spec(one.spec, run, now=now.wall)
    if ran_before(state, one, run.slot, spec.key or ""):
        return None
    live = list_live(state, one)
    action, why = recurrence.decide_overlap(one.spec.overlap, live=bool(live), broken=one.state.broken)
    waits = spec.start_at is not None and spec.start_at > now.wall
    if run.reason is Reason.CATCH_UP and live and {task.id for task in live} <= set(fresh):
        waits = True
    if waits and live and action in (Action.SKIP, Action.CANCEL_EARLIER) and not one.state.broken:
        action = Action.AFTER_ANY
    if action is Action.SKIP:
        pass_over(state, one, Why("skipped", why or ""), [run.slot], now)
        return None
    newcomer = Newcomer(spec, _choose_edges(action, live), reason=run.reason.value)
    try:
        task_id = apply_submitted(state, Submitted([newcomer, *react_to(one.spec, spec)]), now).ids[0]
    except CronoqError as error:
        kind = "conflict" if isinstance(error, ConflictError) else "refused"
        pass_over(state, one, Why("skipped", f"{kind}: {error.message}"), [run.slot], now)
        return None
    if action is Action.CANCEL_EARLIER:
        _replace(state, task_id, live, now)
    _keep(one, state, task_id, run, now)
    return task_id


def react_to(schedule: ScheduleSpec, spec: TaskSpec) -> list[Newcomer]:
    """The tasks that react to the end of an occurrence, to be submitted behind it."""
    found = make_reactions(spec, schedule.reactions, "#0") if schedule.reactions else ()
    return [Newcomer(reaction, [WantedEdge(reaction.after[0].condition, index=0)]) for reaction in found]


def ran_before(state: State, one: LiveSchedule, slot: float, key: str) -> bool:
    """Whether a slot is a task already. Those later than any before cannot be; else the key is looked for."""
    newest = one.state.newest_slot
    if (newest is not None and slot > newest) or slot in one.state.withdrawn:
        return False
    return key in state.keys or state.schedules.remembers(key) is not None


def list_live(state: State, one: LiveSchedule) -> list[LiveTask]:
    """The occurrences that are not over, oldest first: also ended ones whose processes are not gone."""
    found = [task for task_id in one.live if (task := state.tasks.get(task_id)) is not None]
    one.live = [task.id for task in found]
    return found


def _choose_edges(action: Action, live: list[LiveTask]) -> list[WantedEdge]:
    """Behind whom a new occurrence waits."""
    if action is Action.AFTER_SUCCESS:
        return [WantedEdge(Condition.SUCCESS, target=live[-1].id)]
    if action is Action.AFTER_ANY:
        near = live[-MOST_EDGES:] + [task for task in live[:-MOST_EDGES] if task.has_process]
        return [WantedEdge(Condition.GONE, target=task.id) for task in near]
    if action is Action.CANCEL_EARLIER:
        return [WantedEdge(Condition.GONE, target=task.id) for task in live]
    return []


def _replace(state: State, task_id: int, earlier: list[LiveTask], now: Now) -> None:
    """Let an occurrence stand for the earlier ones. What waited for its start gives its place and its age away: else
    each would begin to wait anew in a full pool, with every period, and none ever start."""
    task = state.tasks[task_id]
    _inherit_place(task, [old for old in earlier if old.is_waiting and old.attempt == 0])
    state.touch(task, now)
    for old in earlier:
        if old.status in LIVE:  # the end of one may have skipped others behind it
            cancel_one(state, old, now, reason=f"replaced by {task_id}, the next occurrence")


def _inherit_place(task: LiveTask, waiting: list[LiveTask]) -> None:
    """The task waits for their ends, so that it stands in no lane yet."""
    task.seq = min([task.seq, *(one.seq for one in waiting)])
    ages = [one.ready_at for one in waiting if one.ready_at is not None]
    task.ready_at = min(ages, default=task.ready_at)


def _keep(one: LiveSchedule, state: State, task_id: int, run: Run, now: Now) -> None:
    at = one.state
    at.chain = task_id
    if run.slot in at.withdrawn:
        at.withdrawn = [slot for slot in at.withdrawn if slot != run.slot]
    at.newest_slot = run.slot if at.newest_slot is None else max(at.newest_slot, run.slot)
    one.passed = None
    one.live.append(task_id)
    task = state.tasks.get(task_id)
    if task is not None:
        note_start(state, one, task, now)


def note_start(state: State, one: LiveSchedule, task: LiveTask, now: Now) -> None:
    """Keep what is to be done about the start of an occurrence: whether it is late, and what is made ahead of it."""
    start_at = task.not_before
    if start_at is None or task.facts is None:
        return
    counted_from = max(start_at, task.submitted_at) if task.start_reason == Reason.CATCH_UP else start_at
    late_at = recurrence.late_from(one.spec, counted_from)
    if late_at is not None:
        task.facts["late_at"] = late_at
    if task.is_fixed and task.is_waiting and start_at > now.wall:
        one.await_start(task.id, start_at)
        state.effects.schedules[one.name] = one.schedule
        state.timers.arm_wall(start_at, DueKind.SCHEDULE, one.number)


def _start_ahead(state: State, one: LiveSchedule, now: Now) -> None:
    """The start of occurrences made ahead has come: those still behind an earlier one are judged by the overlap."""
    begun = [task_id for task_id, start_at in one.ahead.items() if start_at <= now.wall]
    if one.leave_ahead(begun):
        state.effects.schedules[one.name] = one.schedule
    for task_id in begun:
        task = state.tasks.get(task_id)
        if task is None or task.status is not Status.BLOCKED or not task.open_edges:
            continue
        if one.spec.overlap is Overlap.SKIP:
            state.skip(task, recurrence.SKIP_REASONS[recurrence.Earlier.LIVE], now)
        elif one.spec.overlap is Overlap.REPLACE:
            found = (state.tasks.get(edge.target or 0) for edge in state.graph.list_open(task_id))
            _replace(state, task_id, [old for old in found if old is not None], now)


def withdraw(state: State, one: LiveSchedule, now: Now, reason: str, slots: set[float] | None = None) -> list[float]:
    """Take back occurrences made ahead of their start, all or those of some slots; the slots taken back, in order."""
    shift_s = recurrence.jitter_of(one.name, one.spec.jitter_s)
    made = [(state.tasks.get(task_id), start_at - shift_s) for task_id, start_at in one.ahead.items()]
    taken = [
        (task, slot)
        for task, slot in made
        if task is not None and task.is_waiting and (slots is None or any(abs(slot - s) < 0.001 for s in slots))
    ]
    return _take_back(state, one, taken, now, reason)


def _take_back(
    state: State, one: LiveSchedule, taken: list[tuple[LiveTask, float]], now: Now, reason: str
) -> list[float]:
    """Take back these waiting occurrences, each with its slot: as if they had never been made."""
    for task, _ in taken:
        one.leave_ahead([task.id])
        one.live.remove(task.id)
        (task.facts or {}).pop("recurring", None)
        task.start_reason = Reason.WITHDRAWN.value
    for task in sorted((task for task, _ in taken), key=lambda task: -task.id):
        cancel_one(state, task, now, reason=reason)  # the last of a chain first: the end of one skips those behind it
    slots = sorted(round(slot, 3) for _, slot in taken)
    one.state.runs -= len(slots)
    if slots:
        one.state.withdrawn = sorted({*one.state.withdrawn, *slots})
    return slots
