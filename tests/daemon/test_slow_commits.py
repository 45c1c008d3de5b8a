"""What holds while a commit is under way in the thread: who looks, who decides, what ends meanwhile, and what fails.

The daemon is the simulation's: the real scheduler and handlers, with a loop and a thread that go on when told to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cronoq_cli.daemon.application import Application, carry_out
from cronoq_cli.errors import ConflictError, CronoqError, NotFoundError, StoreFullError, TryLaterError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.store.contract import Store
from cronoq_cli.wire.requests import (
    Cancel,
    ListTasks,
    PausePool,
    Pools,
    Prune,
    Request,
    Selector,
    ShowTasks,
    Submit,
    WaitTasks,
    Watch,
)
from tests.simulation.histories import silence
from tests.simulation.loop import running
from tests.simulation.world import World


class Slow:
    """A daemon whose commits take until `commit` is called."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.start_daemon()
        self.settle()

    @property
    def daemon(self) -> Any:
        assert self.world.daemon is not None, "the daemon lives"
        return self.world.daemon

    def turn(self) -> None:
        """The loop runs all that is due, and hears and sends all there is; the thread stands still."""
        while self.world.loop.run_one() or self.world.deliver_to_runner(0) or self.world.deliver_to_daemon(0):
            pass

    def commit(self) -> None:
        """The commit under way is done, and what follows from it."""
        assert self.daemon.thread.go_on(), "a commit is under way"
        self.turn()

    def settle(self) -> None:
        """Until nothing waits."""
        self.turn()
        while self.daemon.thread.go_on():
            self.turn()

    def ask(self, request: Request) -> list[Any]:
        """What is answered, as soon as it is."""
        told: list[Any] = []

        def done(result: Any) -> None:
            told.append(result() if callable(result) else result)

        self.daemon.scheduler.run(lambda: carry_out(self.daemon.desk, request), done)
        self.turn()
        return told

    def submit(self, count: int = 1, **fields: Any) -> list[Any]:
        """Submit so many alike."""
        return self.ask(Submit(specs=[TaskSpec(name="t", command=["true"], kind="y", **fields) for _ in range(count)]))

    def begin(self, **fields: Any) -> int:
        """A task that runs, all of it committed; its id."""
        told = self.submit(**fields)
        self.settle()
        task_id = int(told[0].doc["ids"][0])
        assert self.stored(task_id) is Status.RUNNING
        return task_id

    def end(self, code: int = 0) -> None:
        """The process that runs ends; its end is committed next."""
        assert self.world.end_processes(0, code)
        self.turn()

    def stored(self, task_id: int) -> Status:
        """As it is committed."""
        return self.world.base.tasks[task_id].status

    def listed(self) -> dict[int, str]:
        """What `ls` tells at once."""
        (reply,) = self.ask(ListTasks(limit=10))
        return {document["id"]: document["status"] for document in reply.doc["tasks"]}


@pytest.fixture
def slow() -> Iterator[Slow]:
    """One with nothing under way."""
    world = World(commit="thread")
    with silence(), running(world.loop):
        yield Slow(world)


def ref(task_id: int) -> Selector:
    return Selector(refs=[str(task_id)])


# -- who looks ---------------------------------------------------------------------------------------------------------


def test_who_looks_is_answered_at_once_and_sees_nothing_of_the_commit_under_way(slow: Slow) -> None:
    told = slow.submit()
    assert (told, slow.listed()) == ([], {})
    (refusal,) = slow.ask(ShowTasks(select=ref(1)))
    assert isinstance(refusal, NotFoundError)
    (reply,) = slow.ask(ListTasks(limit=10))
    assert (reply.doc["more"], sum(reply.doc["summary"].values())) == (0, 0)
    slow.commit()
    assert told[0].doc["ids"] == [1]
    assert slow.listed() == {1: "running"}


def test_a_task_whose_change_is_under_way_is_listed_once_as_it_was(slow: Slow) -> None:
    first = slow.begin(pool="default", slots=2)
    told = slow.submit()
    slow.commit()
    waiting = told[0].doc["ids"][0]
    slow.end()
    assert slow.listed() == {first: "running", waiting: "ready"}, "one has ended, the other has started: to come"
    slow.commit()
    assert slow.listed() == {waiting: "running", first: "succeeded"}


def test_a_large_submission_under_way_hides_nothing_that_is_there(slow: Slow) -> None:
    slow.submit(hold=True)
    slow.settle()
    slow.submit(5000, priority=3)
    assert slow.listed() == {1: "blocked"}
    slow.commit()
    assert len(slow.listed()) == 12


def test_who_waits_is_told_of_an_end_when_it_is_committed(slow: Slow) -> None:
    task_id = slow.begin()
    waits = slow.ask(WaitTasks(select=ref(task_id)))
    slow.end(7)
    late = slow.ask(WaitTasks(select=ref(task_id)))
    everybody = slow.ask(WaitTasks(select=Selector(all=True)))
    assert (waits, late, everybody) == ([], [], [])
    slow.commit()
    for told in (waits, late, everybody):
        assert [document["status"] for document in told[0].doc["tasks"]] == ["failed"]


def test_who_waits_for_what_is_over_waits_for_no_commit(slow: Slow) -> None:
    task_id = slow.begin()
    slow.end()
    slow.settle()
    slow.submit()
    (reply,) = slow.ask(WaitTasks(select=ref(task_id)))
    assert reply.doc["tasks"][0]["status"] == "succeeded"


def test_a_watcher_is_told_each_event_once_though_the_store_has_it_before_the_loop_knows(slow: Slow) -> None:
    application = Application(slow.daemon.desk, None)  # type: ignore[arg-type]
    messages: list[dict[str, Any]] = []
    slow.submit()
    slow.daemon.thread.go_on()  # committed, and the loop has not heard of it
    application.watch(Watch(after_seq=0), messages.append)
    slow.settle()
    seqs = [message["event"]["seq"] for message in messages if "event" in message]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == len(slow.world.base.events)


# -- who decides -------------------------------------------------------------------------------------------------------


def test_who_decides_waits_for_the_commit_under_way_and_is_told_after_the_next(slow: Slow) -> None:
    slow.submit(hold=True)
    told = slow.ask(Cancel(select=ref(1)))
    slow.commit()
    assert (told, slow.stored(1)) == ([], Status.BLOCKED)
    slow.commit()
    assert told[0].doc["tasks"][0]["status"] == "cancelled"
    assert slow.stored(1) is Status.CANCELLED


def test_a_refusal_that_rests_on_an_uncommitted_end_waits_for_it_too(slow: Slow) -> None:
    task_id = slow.begin()
    slow.submit(hold=True)
    slow.end(3)
    told = slow.ask(Cancel(select=ref(task_id)))
    slow.commit()
    assert (told, slow.stored(task_id)) == ([], Status.RUNNING)
    slow.commit()
    assert isinstance(told[0], ConflictError)
    assert slow.stored(task_id) is Status.FAILED


def test_what_is_told_of_pools_is_committed(slow: Slow) -> None:
    slow.ask(PausePool(names=["default"]))
    told = slow.ask(Pools(name="default"))
    assert told == []
    slow.commit()
    assert told[0].doc["pool"]["paused"]


def test_decisions_are_made_in_the_order_they_were_asked_for(slow: Slow) -> None:
    slow.submit(hold=True)
    told = [slow.submit(key="k", hold=True) for _ in range(3)]
    slow.commit()
    slow.commit()
    assert [one[0].doc["ids"] for one in told] == [[2]] * 3
    assert [one[0].doc["tasks"][0]["duplicate"] for one in told] == [False, True, True]


def test_a_client_that_goes_away_before_its_request_was_begun_has_asked_nothing(slow: Slow) -> None:
    slow.submit(hold=True)
    forget = slow.daemon.scheduler.run(
        lambda: carry_out(slow.daemon.desk, Cancel(select=ref(1))), lambda result: pytest.fail("nobody listens")
    )
    assert forget is not None
    forget()
    slow.settle()
    assert slow.stored(1) is Status.BLOCKED


# -- what happens meanwhile --------------------------------------------------------------------------------------------


def test_ends_gather_and_share_the_next_commit_and_orders_follow_it(slow: Slow) -> None:
    tasks = [slow.begin(), slow.begin()]
    slow.submit(hold=True)
    before = slow.daemon.scheduler.commits
    for _ in tasks:
        slow.end()
    slow.commit()
    assert [slow.stored(task_id) for task_id in tasks] == [Status.RUNNING] * 2
    slow.commit()
    assert [slow.stored(task_id) for task_id in tasks] == [Status.SUCCEEDED] * 2
    assert slow.daemon.scheduler.commits == before + 2


def test_runners_are_compared_when_what_is_ordered_is_known(slow: Slow) -> None:
    slow.submit()
    slow.world.cut(0)
    slow.turn()  # the runner has told what it has, which is nothing, while the start waits for its commit
    slow.settle()
    assert [len(model.running) for model in slow.world.runners.values()] == [1]
    assert slow.stored(1) is Status.RUNNING


# -- jobs on the store -------------------------------------------------------------------------------------------------


def test_pruning_goes_between_two_commits_and_nobody_decides_meanwhile(slow: Slow) -> None:
    task_id = slow.begin()
    slow.end()
    slow.settle()
    slow.world.pass_time(100.0)
    pruned = slow.ask(Prune(older_than_s=10.0))
    held = slow.submit(hold=True)
    assert (pruned, held) == ([], [])
    slow.commit()
    assert task_id not in slow.world.base.tasks
    assert pruned[0].doc == {"pruned": 1, "dry_run": False}
    assert held == []
    slow.commit()
    assert held[0].doc["ids"] == [task_id + 1]


def test_a_job_that_fails_tells_who_asked(slow: Slow) -> None:
    outcomes: list[Any] = []

    def fail(store: Store) -> None:
        raise StoreFullError("no space")

    slow.daemon.scheduler.write_later(fail, outcomes.append)
    slow.settle()
    assert isinstance(outcomes[0], StoreFullError)
    told = slow.submit()
    slow.settle()
    assert told[0].doc["ids"] == [1]


# -- failures --------------------------------------------------------------------------------------------------------


def test_a_commit_that_fails_refuses_its_answers_and_those_gathered_behind_it(slow: Slow) -> None:
    task_id = slow.begin()
    slow.world.faults.append("full")
    first = slow.submit()
    second = slow.submit()
    slow.end(3)
    looked = slow.ask(ListTasks(limit=10))
    assert (first, second, len(looked)) == ([], [], 1)
    slow.commit()
    assert [type(told[0]) for told in (first, second)] == [TryLaterError] * 2
    assert slow.listed() == {task_id: "running"}
    assert isinstance(slow.submit()[0], TryLaterError), "refused at once"
    slow.world.pass_time(1.0)
    slow.settle()
    assert slow.listed() == {task_id: "failed"}, "the runner had kept the end, and was asked"


def test_while_the_disk_is_tried_again_who_looks_and_who_asks_is_answered_at_once(slow: Slow) -> None:
    slow.world.faults.append("full")
    slow.submit()
    slow.commit()
    slow.world.pass_time(1.0)
    slow.turn()  # the try is under way
    assert isinstance(slow.submit()[0], TryLaterError)
    assert slow.listed() == {}
    slow.settle()
    assert slow.daemon.scheduler.refusing is None


def test_a_busy_store_is_tried_again_and_nothing_is_told_or_lost_meanwhile(slow: Slow) -> None:
    slow.world.faults.append("busy")
    told = slow.submit(hold=True)
    slow.commit()
    assert (told, slow.listed()) == ([], {})
    slow.world.pass_time(0.1)
    slow.turn()
    slow.commit()
    assert told[0].doc["ids"] == [1]


def test_an_error_of_our_own_in_the_thread_stores_nothing_and_is_told(slow: Slow, monkeypatch: Any) -> None:
    def fail(changes: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(slow.daemon.store, "commit", fail)
        told = slow.submit()
        slow.commit()
    assert isinstance(told[0], CronoqError)
    assert "ZeroDivisionError" in told[0].message
    assert slow.world.base.tasks == {}
    slow.world.pass_time(1.0)
    slow.settle()
    assert slow.submit() == []
    slow.settle()
    assert len(slow.world.base.tasks) == 1


def test_memory_that_runs_out_while_a_commit_is_under_way_undoes_what_came_after_it_alone(
    slow: Slow, monkeypatch: Any
) -> None:
    committed = slow.submit(hold=True)
    monkeypatch.setattr(slow.daemon.thread, "wait", slow.commit)
    with monkeypatch.context() as patch:
        patch.setattr(slow.daemon.scheduler.engine, "handle", lambda event, now: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(TryLaterError):
            slow.daemon.scheduler.hear_first()
    assert committed[0].doc["ids"] == [1]
    assert slow.daemon.scheduler.engine.find(1) is not None


def test_the_end_of_the_daemon_commits_what_is_under_way_and_what_gathered(slow: Slow, monkeypatch: Any) -> None:
    task_id = slow.begin()
    slow.submit(hold=True)
    slow.end(3)
    monkeypatch.setattr(slow.daemon.thread, "wait", lambda: slow.daemon.thread.go_on() and slow.turn())
    slow.daemon.scheduler.flush_all()
    slow.daemon.scheduler.close()
    assert slow.stored(task_id) is Status.FAILED
    assert task_id + 1 in slow.world.base.tasks
