"""The chart: how many tasks ended, how many failed, and how long those that started had waited."""

from __future__ import annotations

from math import ceil

from cronoq_cli.client.dashboard.board import Board
from cronoq_cli.client.dashboard.history import STEP_S, Bar
from cronoq_cli.client.dashboard.lines import GAP, Line, fill, rule
from cronoq_cli.client.dashboard.sparkline import draw_bars
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style

_LABEL, _FIGURE = 6, 9
_RATES = ((86_400.0, "/day"), (3600.0, "/h"), (60.0, "/min"), (1.0, "/s"))


def draw_chart(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading and as many of the three charts as there is room for."""
    bars_wide = max(width - _LABEL - _FIGURE - 2 * len(GAP), 5)
    bar_s = ceil(board.span_s / bars_wide / STEP_S) * float(STEP_S)  # whole steps, or bars would differ by chance
    bars = board.history.chart(bar_s * bars_wide, bars_wide, style.now)
    title = f"Last {short_span(round(bar_s * bars_wide / 60) * 60.0)}"
    lines = [rule(title, f"a bar is {short_span(bar_s)}", width, style, focused=False)]
    known_s = _known_s(board, bar_s * bars_wide, style.now)
    together = board.history.total(known_s, style.now)
    rows = [
        ("done", _rate(together.ended, known_s), [_ended(bar) for bar in bars], "green"),
        ("waited", short_span(together.wait_s), [None if bar is None else bar.wait_s for bar in bars], "cyan"),
        (
            "failed",
            _rate(together.failed, known_s),
            [_failed(bar) for bar in bars],
            "red" if together.failed else "dim",
        ),
    ]
    for label, figure, values, look in rows:
        chart = draw_bars(values, unicode=style.unicode)
        lines.append(((label.ljust(_LABEL), ""), (GAP, ""), (figure.rjust(_FIGURE), "bold"), (GAP, ""), (chart, look)))
    return fill(lines, width, height, style.mark)


def _ended(bar: Bar | None) -> float | None:
    return None if bar is None else float(bar.ended)


def _failed(bar: Bar | None) -> float | None:
    return None if bar is None else float(bar.failed)


def _known_s(board: Board, span_s: float, now: float) -> float:
    """Of the span the part that is known, in seconds, not less than a step."""
    since = board.history.since
    return float(STEP_S) if since is None else min(max(now - since, float(STEP_S)), span_s)


def _rate(count: int, span_s: float) -> str:
    """`3.2/s`, `12/min`, `4/h`: in the largest unit of time that makes the number at least 1."""
    if not count:
        return "0"
    for unit_s, name in reversed(_RATES):
        value = count / span_s * unit_s
        if value >= 1:
            return f"{value:.1f}{name}" if value < 10 else f"{value:,.0f}{name}"
    return "<1/day"
