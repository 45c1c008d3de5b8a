"""Gathering (`--group`): tasks that wait for each other and are run by one task of the group's command."""

from __future__ import annotations

import pytest

from cronoq_cli.engine.gathering import GroupTemplate
from cronoq_cli.engine.messages import Cancelled, Edited, GroupsReplanned, Held, Released
from cronoq_cli.engine.state import State
from cronoq_cli.errors import ConflictError, InvalidError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import Backoff
from tests.engine.story import Story, spec

MAIL = GroupTemplate(
    spec("mail", retries=1, backoff=Backoff(kind="fixed", first_s=5)), grace_s=60, max_delay_s=150, max_size=4
)


def configure(state: State) -> None:
    state.groups = {"mail": MAIL}


def mail_story() -> Story:
    return Story(2, setup=configure)


def join(story: Story, **fields: object) -> int:
    return story.submit(group="mail", **fields)


def runner_of(story: Story, task: int) -> int:
    """The task that runs for a gathered one."""
    found = story.record(task).gathered_by
    assert found is not None
    return found


def test_members_wait_until_nothing_came_for_grace_and_end_with_the_task_of_the_group() -> None:
    story = mail_story()
    one = join(story)
    assert (story.status(one), story.record(one).reason) == (Status.BLOCKED, "gathering")
    story.pass_time(59)
    two = join(story)
    story.pass_time(59)
    assert story.started() == []
    story.pass_time(1)
    group = runner_of(story, one)
    assert (story.started(), runner_of(story, two)) == ([group], group)
    assert story.record(group).spec.members == [one, two]
    assert story.record(one).reason == f"gathered into {group}"
    story.end(group, run_s=3)
    assert story.status(group, one, two) == [Status.SUCCEEDED] * 3
    assert (story.record(one).exit_code, story.record(one).reason) == (0, f"with {group}")


def test_a_group_goes_when_its_oldest_has_waited_max_delay_or_it_is_full() -> None:
    story = mail_story()
    early = [join(story)]
    for _ in range(2):
        story.pass_time(50)
        early.append(join(story))
    story.pass_time(50)
    assert story.record(runner_of(story, early[0])).spec.members == early
    full = [join(story) for _ in range(4)]
    assert story.record(runner_of(story, full[0])).spec.members == full
    late = join(story)
    assert story.status(late) is Status.BLOCKED


def test_the_task_of_a_group_retries_with_its_members_and_they_fail_with_it() -> None:
    story = mail_story()
    members = [join(story) for _ in range(4)]
    group = runner_of(story, members[0])
    dependent = story.submit(after=[members[0]])
    story.end(group, 1)
    assert story.status(group, *members) == [Status.RETRYING] + [Status.BLOCKED] * 4
    story.pass_time(5)
    story.end(group, 1)
    assert story.status(group, *members) == [Status.DEAD_LETTERED] * 5
    assert story.status(dependent) is Status.SKIPPED


def test_cancelling_the_task_of_a_group_cancels_its_members() -> None:
    story = mail_story()
    members = [join(story) for _ in range(4)]
    story.handle(Cancelled([runner_of(story, members[0])]))
    assert story.status(*members) == [Status.CANCELLED] * 4


def test_who_left_before_the_group_went_does_not_count() -> None:
    story = mail_story()
    first, held, moved = (join(story) for _ in range(3))
    story.handle(Cancelled([first]))
    story.handle(Held([held]))
    story.handle(Edited(moved, spec()))
    assert story.status(first, held, moved) == [Status.CANCELLED, Status.BLOCKED, Status.RUNNING]
    story.pass_time(30)
    last = join(story)
    story.pass_time(59)
    assert story.record(last).gathered_by is None, "grace counts from the last that is still there"
    story.pass_time(1)
    assert story.record(runner_of(story, last)).spec.members == [last]
    story.handle(Released([held]))
    story.pass_time(60)
    assert story.record(runner_of(story, held)).spec.members == [held]


def test_when_the_last_to_come_is_cancelled_the_group_still_goes() -> None:
    story = mail_story()
    one = join(story)
    story.pass_time(30)
    two = join(story)
    story.pass_time(35)
    story.handle(Cancelled([two]))
    story.pass_time(25)
    assert story.record(runner_of(story, one)).spec.members == [one]


def test_members_wait_for_their_dependencies_first() -> None:
    story = mail_story()
    busy = story.submit()
    one, two = join(story), join(story, after=[busy])
    story.pass_time(60)
    assert story.record(runner_of(story, one)).spec.members == [one]
    assert story.record(two).reason == "dependencies"
    story.end(busy)
    assert story.record(two).reason == "gathering"
    story.pass_time(60)
    assert story.record(runner_of(story, two)).spec.members == [two]


def test_gathering_goes_on_after_a_crash_as_if_nothing_had_happened() -> None:
    story = mail_story()
    one = join(story)
    story.pass_time(40)
    story.crash()
    story.pass_time(20)
    group = runner_of(story, one)
    story.crash()
    story.end(group)
    assert story.status(one) is Status.SUCCEEDED


def test_a_member_may_be_cancelled_but_not_edited_or_held_while_the_group_runs() -> None:
    story = mail_story()
    members = [join(story) for _ in range(4)]
    with pytest.raises(ConflictError):
        story.handle(Edited(members[0], spec()))
    assert story.handle(Held(members)) == []
    story.handle(Cancelled(members[:1]))
    story.end(runner_of(story, members[1]))
    assert story.status(*members) == [Status.CANCELLED] + [Status.SUCCEEDED] * 3


def test_the_task_of_a_group_does_not_start_when_nobody_is_left_to_run_for() -> None:
    story = mail_story()
    busy = [story.submit() for _ in range(2)]
    members = [join(story, expires_at=story.now.wall + 70 if last else None) for last in (False, False, False, True)]
    group = runner_of(story, members[0])
    story.handle(Cancelled(members[:3]))
    assert story.status(group) is Status.READY
    story.pass_time(70)
    assert story.status(group, members[3]) == [Status.CANCELLED, Status.MISSED]
    assert story.record(group).reason == "all it was to run for have ended"
    story.end(busy[0])
    assert group not in story.started()


def test_limits_of_a_member_count_until_the_group_has_started() -> None:
    story = mail_story()
    wall = story.now.wall
    busy = [story.submit() for _ in range(2)]
    late = join(story, expires_at=wall + 70)
    members = [join(story, expires_at=wall + 80, kill_at=wall + 90) for _ in range(3)]
    story.pass_time(70)
    assert story.status(late) is Status.MISSED
    story.end(busy[0])
    group = runner_of(story, members[0])
    story.pass_time(30)
    assert story.status(group, *members) == [Status.RUNNING] + [Status.BLOCKED] * 3
    story.end(group)
    assert story.status(*members) == [Status.SUCCEEDED] * 3


def test_a_retried_member_gathers_anew() -> None:
    story = mail_story()
    members = [join(story) for _ in range(4)]
    story.handle(Cancelled([runner_of(story, members[0])]))
    story.retry(members[2])
    assert (story.status(members[2]), story.record(members[2]).reason) == (Status.BLOCKED, "gathering")
    story.pass_time(60)
    group = runner_of(story, members[2])
    story.end(group)
    assert story.status(members[2]) is Status.SUCCEEDED


def test_a_group_that_is_configured_no_more_waits_to_be_so_again() -> None:
    story = mail_story()
    one = join(story)
    story.handle(GroupsReplanned({}))
    story.pass_time(1000)
    assert story.status(one) is Status.BLOCKED
    story.handle(GroupsReplanned({"mail": MAIL}))
    assert story.record(one).gathered_by is not None


def test_unknown_groups_and_start_times_are_refused() -> None:
    story = mail_story()
    with pytest.raises(InvalidError, match=r"unknown group 'male'"):
        story.submit(group="male")
    with pytest.raises(InvalidError, match="no start time"):
        join(story, not_before=story.now.wall + 5)
