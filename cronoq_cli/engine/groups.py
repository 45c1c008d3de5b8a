"""Handing a gathered group over: one task of the group's command that runs for all its members."""

from __future__ import annotations

import msgspec

from cronoq_cli.engine.live import Now
from cronoq_cli.engine.messages import GroupsReplanned
from cronoq_cli.engine.state import State
from cronoq_cli.engine.submissions import add_task, enter
from cronoq_cli.engine.verbs import cancel_one
from cronoq_cli.model.lifecycle import LIVE


def hand_over(state: State, name: str, now: Now) -> None:
    """Make the group's task and tie its members to it, in the order of their ids."""
    gathering, template = state.gatherings.get(name), state.groups.get(name)
    if gathering is None or template is None:
        return
    state.prune_gathering(name, gathering)
    del state.gatherings[name]
    members = [state.tasks[task_id] for task_id in sorted(gathering.members)]
    if not members:
        return
    spec = msgspec.structs.replace(template.spec, members=[task.id for task in members])
    task = add_task(state, spec, state.next_id, now)
    task.facts = {"members": spec.members}
    for member in members:
        member.gathering, member.gathered_by = "", task.id
        state.settle(member, now)
        state.touch(member, now)
    enter(state, task, [], None, now, "submitted")


def cancel_if_deserted(state: State, task_id: int, now: Now) -> None:
    """A group's task that is to start, but has no member left to run for, is cancelled."""
    task = state.tasks.get(task_id)
    if task is None or not task.is_waiting:
        return
    members = map(state.tasks.get, (task.facts or {}).get("members", ()))
    if not any(member is not None and member.gathered_by == task_id and member.status in LIVE for member in members):
        cancel_one(state, task, now, reason="all it was to run for have ended")


def look_at_groups(state: State, now: Now) -> None:
    """A timer of some group has come up: those go whose time is really there."""
    for name, gathering in list(state.gatherings.items()):
        template = state.groups.get(name)
        if gathering.armed_at is None or gathering.armed_at > now.wall or template is None:
            continue
        gathering.armed_at = None
        state.prune_gathering(name, gathering)
        if gathering.due_at(template) <= now.wall:
            hand_over(state, name, now)
        elif gathering.members:
            state.judge_gathering(name, gathering)
        else:
            del state.gatherings[name]


def apply_groups_replanned(state: State, event: GroupsReplanned, now: Now) -> None:
    """The configuration of the groups was read anew: what gathers goes by it from now on."""
    state.groups = dict(event.groups)
    for name, gathering in list(state.gatherings.items()):
        gathering.armed_at = None
        state.judge_gathering(name, gathering)
