"""The engine: events in, effects out. It holds every live task and moves them by the tables, nothing else.

No clock, no I/O: `now` comes in with each event, actions and rows go out. This module is the one entrance; the
duties stand in `submissions`, `verbs`, `edits`, `ends`, `dispatch` and `recovery`, the state they share in `state`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cronoq_cli.engine import (
    dispatch,
    dues,
    edits,
    ends,
    groups,
    incidents,
    jumps,
    messages,
    occurrences,
    plans,
    scaling,
    schedule_changes,
    submissions,
    verbs,
)
from cronoq_cli.engine.lanes import Scoring
from cronoq_cli.engine.live import LiveTask, Now
from cronoq_cli.engine.messages import Effects, Event
from cronoq_cli.engine.pools import LivePool, PoolPlan
from cronoq_cli.engine.resources import CATCH_UP, MOST_CATCHING_UP, Semaphore
from cronoq_cli.engine.state import PolicyOf, State
from cronoq_cli.model.lifecycle import LIVE, Status

HANDLERS: Mapping[type, Callable[[State, Any, Now], Any]] = {
    messages.Submitted: submissions.apply_submitted,
    messages.Retried: submissions.apply_retried,
    messages.Cancelled: verbs.apply_cancelled,
    messages.Held: verbs.apply_held,
    messages.Released: verbs.apply_released,
    messages.StartedNow: verbs.apply_started_now,
    messages.Edited: edits.apply_edited,
    messages.EditedTogether: edits.apply_edited_together,
    messages.Moved: edits.apply_moved,
    messages.Signalled: verbs.apply_signalled,
    messages.AttemptStarted: ends.apply_attempt_started,
    messages.AttemptEnded: ends.apply_attempt_ended,
    messages.LeaseReturned: ends.apply_lease_returned,
    messages.RunnersCompared: ends.apply_runners_compared,
    messages.RunnerGone: ends.apply_runner_gone,
    messages.LeasesRevoked: dispatch.apply_leases_revoked,
    messages.LeasesSettled: dispatch.apply_leases_settled,
    messages.PoolPaused: dispatch.apply_pool_paused,
    messages.PoolResumed: dispatch.apply_pool_resumed,
    messages.PoolResized: dispatch.apply_pool_resized,
    messages.MetersRead: dispatch.apply_meters_read,
    messages.StopBegan: dispatch.apply_stop_began,
    messages.DrainBegan: dispatch.apply_drain_began,
    messages.PoolReplanned: plans.apply_pool_replanned,
    messages.GroupsReplanned: groups.apply_groups_replanned,
    messages.ResourcesReplanned: plans.apply_resources_replanned,
    messages.RulesReplanned: plans.apply_rules_replanned,
    messages.TotalsReplanned: plans.apply_totals_replanned,
    messages.ResourceChanged: plans.apply_resource_changed,
    messages.NoticesReplanned: plans.apply_notices_replanned,
    messages.MachineLooked: plans.apply_machine_looked,
    messages.SchedulesApplied: schedule_changes.apply_schedules_applied,
    messages.SchedulesPaused: schedule_changes.apply_schedules_paused,
    messages.SchedulesResumed: schedule_changes.apply_schedules_resumed,
    messages.SlotsSkipped: schedule_changes.apply_slots_skipped,
    messages.OccurrenceAsked: schedule_changes.apply_occurrence_asked,
    messages.ZoneChanged: jumps.apply_zone_changed,
    messages.ClockChanged: jumps.apply_clock_changed,
    messages.TimePassed: dues.apply_time_passed,
}


class Engine:
    """Every live task of one store, moved by events.

    `handle` returns what the event's own result is (ids of a submission, those a verb changed); effects gather
    until `take_effects`. A refused event raises a CronoqError and has changed nothing.
    """

    def __init__(
        self,
        policy_of: PolicyOf,
        pools: Mapping[str, int | PoolPlan],
        *,
        next_id: int = 1,
        scoring: Scoring | None = None,
    ) -> None:
        self.state = State(policy_of, scoring or Scoring(), next_id=next_id)
        for name, plan in pools.items():
            self.state.pools[name] = LivePool(name, plan, self.state.tasks)
        self.state.note_plans()
        self.state.resources.configure(CATCH_UP, Semaphore(MOST_CATCHING_UP))

    def handle(self, event: Event, now: Now) -> Any:
        """Apply one event at the moment `now`, then what is due by then, then start what may start."""
        result = HANDLERS[type(event)](self.state, event, now)
        self.follow_up(now)
        return result

    def apply(self, event: Event, now: Now) -> Any:
        """Apply one of several events of one moment; `follow_up` is owed behind the last of them."""
        return HANDLERS[type(event)](self.state, event, now)

    def follow_up(self, now: Now) -> None:
        """Do what follows from the events applied, what is due by now, and start what may start."""
        state = self.state
        if state.over:
            incidents.judge_over(state, now)
        if state.timers.is_due(now):
            dues.apply_due(state, now)
        if state.schedules.catching:
            occurrences.submit_caught_up(state, now)
        while state.overfailed:
            verbs.cancel_rest_of_batch(state, state.overfailed.pop(), now)
        while state.full_gatherings:
            groups.hand_over(state, state.full_gatherings.popitem()[0], now)
        while state.deserted:
            groups.cancel_if_deserted(state, state.deserted.pop(), now)
        if state.over:
            incidents.judge_over(state, now)
        if state.woken:
            dispatch.dispatch_woken(state, now)
        if state.scales:
            scaling.arm_all(state, now)
        if state.meters_due_at <= now.awake:
            dispatch.keep_meters(state, now)

    def take_effects(self) -> Effects:
        """Everything the events since the last call changed, for one commit."""
        effects, self.state.effects = self.state.effects, Effects()
        for name in effects.leasing:
            effects.pools[name] = dispatch.describe_stored(self.state.pools[name])
        effects.run_times = self.state.run_times.take_news()
        if self.state.incidents.has_news:
            self.state.incidents.move_to(effects)
        return effects

    def next_due_s(self, now: Now) -> float | None:
        """Seconds until TimePassed has something to do, or None."""
        return self.state.timers.next_due_s(now)

    def find(self, task_id: int) -> LiveTask | None:
        """A live (or leaving) task, to be looked at: it may be a copy."""
        return self.state.tasks.look(task_id)

    def find_by_key(self, key: str) -> LiveTask | None:
        """The live task of that key."""
        task_id = self.state.keys.get(key)
        return None if task_id is None else self.find(task_id)

    def list_ids(self, statuses: Iterable[Status] | None = None) -> list[int]:
        """Ids of the live tasks, of these statuses, ascending."""
        wanted = frozenset(statuses) if statuses is not None else LIVE
        return self.state.tasks.list_ids(lambda task: task.status in wanted)
