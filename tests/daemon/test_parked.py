"""Requests that wait, and those whose client goes away meanwhile."""

from __future__ import annotations

from typing import Any

from cronoq_cli.daemon.parked import NotYet, Parked, Ticket, Unsettled


def _nothing() -> Any:
    return None


def _ignore(result: Any) -> None:
    """A client that does not listen."""


def test_a_call_is_taken_when_one_of_its_tasks_ends_and_only_once() -> None:
    parked, ticket = Parked(), Ticket()
    parked.add(NotYet([3, 4]), _nothing, _ignore, ticket)
    assert list(parked.take_ended([5])) == []
    assert len(list(parked.take_ended([3, 4]))) == 1
    assert list(parked.take_ended([4])) == []
    assert ticket.number is None


def test_a_call_that_waits_for_all_its_tasks_is_taken_once_when_the_last_has_ended() -> None:
    parked, ticket = Parked(), Ticket()
    parked.add(NotYet([3, 4, 5], every=True), _nothing, _ignore, ticket)
    assert list(parked.take_ended([4, 9])) == []
    assert list(parked.take_ended([4])) == []
    assert list(parked.take_ended([3])) == []
    assert ticket.number is not None
    assert len(list(parked.take_ended([5]))) == 1
    assert ticket.number is None


def test_a_forgotten_call_leaves_nothing_behind() -> None:
    parked, ticket = Parked(), Ticket()
    parked.add(NotYet([3, 4], every=True), _nothing, _ignore, ticket)
    assert list(parked.take_ended([3])) == []
    parked.forget(ticket.number)
    assert list(parked.take_ended([4])) == []


def test_a_ticket_follows_a_call_that_waits_again() -> None:
    parked, ticket = Parked(), Ticket()
    parked.add(NotYet([3]), _nothing, _ignore, ticket)
    list(parked.take_ended([3]))
    parked.add(NotYet([4]), _nothing, _ignore, ticket)
    assert isinstance(parked.forget(ticket.number), NotYet)
    assert list(parked.take_ended([4])) == []


def test_leases_settle_when_none_of_them_is_out() -> None:
    parked = Parked()
    parked.add(Unsettled([1, 2]), _nothing, _ignore, Ticket())
    assert parked.take_settled(lambda task_id: task_id == 2) == []
    assert [reason.ids for reason, *_ in parked.take_settled(lambda task_id: False)] == [(1, 2)]
