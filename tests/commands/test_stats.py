"""`stats`: what is asked, what is said of wrong words, and how the figures look."""

from __future__ import annotations

import json

import pytest

from cronoq_cli.commands.render.spark import draw_bar, draw_sparkline
from cronoq_cli.commands.render.stats import print_stats
from cronoq_cli.model.history import EndSums, Window, describe_stats
from cronoq_cli.model.task import Ended
from cronoq_cli.wire.requests import Pools, Reply, Stats
from tests.commands.conftest import Caller
from tests.commands.render.samples import make_context, out_of

WINDOW = Window(0.0, 480.0)


def document() -> dict[str, object]:
    parts = [EndSums("default", "make"), EndSums("batch", "a-kind-with-a-long-name")]
    for at in range(10, 200, 10):
        parts[0].add(float(at), Ended("make", "succeeded", "succeeded", 0.5, 2.0, in_time=at > 20), WINDOW)
    parts[1].add(300.0, Ended("x", "failed", "failed", 4.0, 60.0), WINDOW)
    return {"stats": describe_stats(parts, [], WINDOW)}


def test_a_window_of_one_pool_is_asked_for_and_how_busy_it_was_by_its_workers(caller: Caller) -> None:
    caller.gateway.answer(Stats, Reply(doc=document()))
    caller.gateway.answer(Pools, Reply(doc={"pool": {"name": "default", "workers": 2}}))
    done = caller("stats", "--window", "1h", "--pool", "default", "--json")
    assert caller.gateway.requests == [Stats(window_s=3600.0, pool="default"), Pools(name="default")]
    figures = {one["pool"]: one for one in json.loads(done.out)["stats"]["pools"]}
    assert figures["default"]["utilisation"] == pytest.approx(38 / 960, abs=1e-4)
    assert figures["batch"]["utilisation"] is None


@pytest.mark.parametrize(
    "words", [["--window", "soon"], ["--window", "0s"], ["--window", "-1h"], ["7"], ["--windw", "1h"]]
)
def test_wrong_words_are_refused_before_anything_is_asked(caller: Caller, words: list[str]) -> None:
    done = caller("stats", *words)
    assert (done.status, done.out, caller.gateway.requests) == (2, "", [])
    assert done.err.startswith("cronoq: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize("env", [{"LANG": "C.UTF-8"}, {"LC_ALL": "C"}])
def test_no_line_is_wider_than_the_terminal(columns: int, env: dict[str, str]) -> None:
    context = make_context(columns=columns, env=env, color="never")
    print_stats(context, document())
    lines = out_of(context).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[2].split()[:4] == ["POOL", "STARTED", "OK", "FAILED"]
    assert [line.split()[0] for line in lines[3:6]] == ["batch", "default", "total"]
    assert lines[-2].startswith("ended ") and lines[-1].startswith("mean wait ")
    assert env != {"LC_ALL": "C"} or out_of(context).isascii()


def test_a_pipe_has_every_column_and_no_picture() -> None:
    context = make_context()
    print_stats(context, document())
    header = out_of(context).splitlines()[2]
    for title in ("STARTED", "RETRIED", "WAIT P50", "RUN P50", "MEAN", "DEADLINE", "ON TIME", "WORK", "COST"):
        assert title in header
    assert out_of(context).isascii()


def test_a_sparkline_tells_little_from_nothing_and_fits() -> None:
    assert draw_sparkline([0, 1, 1000, None, 500], 10, unicode=True) == "▁▂█ ▅"
    assert draw_sparkline([0, 1, 1000, None, 500], 10, unicode=False) == ".:@ +"
    assert len(draw_sparkline(list(range(100)), 20, unicode=True)) == 20
    assert draw_sparkline([], 5, unicode=True) == ""


def test_a_bar_is_as_full_as_its_share_and_an_estimate_looks_different() -> None:
    assert draw_bar(0.5, 4, unicode=True) == "██░░"
    assert draw_bar(0.5, 4, unicode=False) == "##.."
    assert draw_bar(0.5, 4, unicode=False, estimated=True) == "~~.."
    assert draw_bar(7.0, 4, unicode=True) == "████" and draw_bar(-1.0, 4, unicode=True) == "░░░░"
    assert draw_bar(0.5, 4, unicode=True, estimated=True) != draw_bar(0.5, 4, unicode=True)
