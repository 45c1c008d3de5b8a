"""The thread beside the loop: outcomes come back to the loop, each once, also while the loop waits for them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from cronoq_cli.daemon.commits import Commits
from cronoq_cli.daemon.pace import Pace
from cronoq_cli.daemon.writer_thread import WriterThread
from cronoq_cli.store.contract import Store


@pytest.fixture
def outcomes() -> list[Any]:
    """What was delivered, with the thread it was delivered in."""
    return []


def run(main: Any) -> None:
    asyncio.run(asyncio.wait_for(main, 20))


def test_a_job_is_done_in_another_thread_and_its_outcome_is_delivered_in_the_loop(outcomes: list[Any]) -> None:
    async def main() -> None:
        thread, delivered = WriterThread(), asyncio.Event()

        def deliver(outcome: Any) -> None:
            outcomes.append((outcome, threading.get_ident()))
            delivered.set()

        for _ in range(2):
            delivered.clear()
            thread.submit(threading.get_ident, deliver)
            await delivered.wait()
        thread.close()
        worker = outcomes[0][0]
        assert worker != threading.get_ident()
        assert outcomes == [(worker, threading.get_ident())] * 2

    run(main())


def test_an_exception_is_an_outcome_and_the_thread_goes_on(outcomes: list[Any]) -> None:
    async def main() -> None:
        thread = WriterThread()
        thread.submit(lambda: 1 // 0, outcomes.append)
        thread.wait()
        thread.submit(lambda: "well", outcomes.append)
        thread.wait()
        thread.close()

    run(main())
    assert isinstance(outcomes[0], ZeroDivisionError)
    assert outcomes[1] == "well"


def test_the_loop_goes_on_while_a_job_is_done_and_waiting_for_it_delivers_it_once(outcomes: list[Any]) -> None:
    async def main() -> None:
        thread, may_end = WriterThread(), threading.Event()
        thread.submit(lambda: may_end.wait(10), outcomes.append)
        for _ in range(3):
            await asyncio.sleep(0)
        assert outcomes == []
        may_end.set()
        thread.wait()
        assert outcomes == [True]
        thread.submit(lambda: "next", outcomes.append)
        thread.wait()
        await asyncio.sleep(0)  # what the thread had sent to the loop comes too late
        thread.close()

    run(main())
    assert outcomes == [True, "next"]


def test_closing_waits_for_the_job_and_ends_the_thread(outcomes: list[Any]) -> None:
    async def main() -> None:
        thread, done = WriterThread(), threading.Event()
        before = threading.active_count()
        thread.submit(done.set, outcomes.append)
        thread.close()
        assert done.is_set()
        assert threading.active_count() == before
        thread.close()

    run(main())


class Counted:
    """A store that can be read beside its writer, as far as `Commits` asks."""

    def open_beside(self) -> Counted:
        return self


def test_where_no_thread_can_be_started_a_commit_is_made_in_the_loop_and_the_thread_is_tried_again(
    outcomes: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        commits = Commits(cast(Store, Counted()), Pace("thread"))
        with monkeypatch.context() as lacking:
            lacking.setattr(threading.Thread, "start", refuse)
            for _ in range(2):
                commits.write(lambda store: threading.get_ident(), outcomes.append)
                assert not commits.beside
        commits.write(lambda store: threading.get_ident(), outcomes.append)
        assert commits.beside
        commits.wait()
        commits.close()

    run(main())
    here = threading.get_ident()
    assert outcomes[:2] == [here, here]
    assert outcomes[2] != here
