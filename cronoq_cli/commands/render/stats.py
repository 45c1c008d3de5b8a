"""The figures of `stats`, by pool and by kind, and what `pool show` says of one pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.spark import draw_sparkline
from cronoq_cli.commands.render.style import Style, style_of
from cronoq_cli.commands.render.words import Document

MOST_KINDS = 20
"""Kinds shown on a terminal: those that took most of the workers' time."""
_LABELS = 9


def print_stats(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the figures of a document `{"stats": {...}}`: the window, tables by pool and by kind, the history."""
    stats = doc["stats"]
    style = style_of(context)
    lines = [style.paint(_headline(stats, style), "bold")]
    if not stats["kinds"]:
        context.out.write(lines[0] + "\n")
        print_notes(context, ["nothing ran or ended in this window"])
        return
    pools = [*stats["pools"], *([{"pool": "total", **stats["total"]}] if len(stats["pools"]) > 1 else [])]
    lines += ["", *layout_table(_columns(pools, "pool"), style)]
    kinds = sorted(stats["kinds"], key=lambda one: (-one["worker_s"], one["pool"], one["kind"]))
    shown = kinds if style.columns is None else kinds[:MOST_KINDS]
    lines += ["", *layout_table(_columns(shown, "kind"), style)]
    if len(shown) < len(kinds):
        lines.append(style.paint(f"+{len(kinds) - len(shown)} more kinds", "dim"))
    if style.columns is not None:
        lines += ["", *history_lines(stats["total"]["history"], stats, style)]
    context.out.write("\n".join(lines) + "\n")


def _headline(stats: Document, style: Style) -> str:
    """`last 24h: since 14:05:00 CET`."""
    return f"last {short_span(stats['window_s'])}, since {style.local(stats['since'])} {style.zone_name}"


def _columns(figures: Sequence[Document], by: str) -> list[Column]:
    names = [Column("POOL", [one["pool"] for one in figures], least=8, usual=None if by == "pool" else "default")]
    used = [Column("USED", [_percent(one["utilisation"]) for one in figures], right=True, usual="-")]
    if by == "kind":
        names.insert(0, Column("KIND", [one["kind"] or "-" for one in figures], least=8))
        used = []
    return [
        *names,
        _counts("STARTED", "started", figures, shown=True),
        _counts("OK", "succeeded", figures, shown=True),
        _counts("FAILED", "failed", figures, shown=True, colour="red"),
        _counts("RETRIED", "retried", figures),
        Column("SUCCESS", [_percent(one["success_rate"]) for one in figures], right=True, usual="-"),
        *_times(figures),
        *used,
        _counts("CANCEL", "cancelled", figures),
        _counts("SKIP", "skipped", figures),
        _counts("MISSED", "missed", figures),
        _counts("SHED", "shed", figures),
        Column("DEADLINE", [_percent(one["deadline_hit_rate"]) for one in figures], right=True, usual="-"),
        Column("ON TIME", [_percent(one["fixed_start_hit_rate"]) for one in figures], right=True, usual="-"),
        Column("WORK", [short_span(one["worker_s"]) for one in figures], right=True),
        Column("COST", [_amount(one["cost"]) for one in figures], right=True, usual="-"),
    ]


def _counts(
    title: str, field: str, figures: Sequence[Document], *, shown: bool = False, colour: str | None = None
) -> Column:
    counts = [one[field] for one in figures]
    colours = [colour if count else None for count in counts]
    return Column(title, list(map(str, counts)), right=True, usual=None if shown else "0", colours=colours)


def _times(figures: Sequence[Document]) -> Iterator[Column]:
    """Waits and runs side by side, what tells most first: on a narrow terminal the last columns go."""
    for name in ("p50", "p90", "p99", "mean"):
        for title, field in (("WAIT", "wait_s"), ("RUN", "run_s")):
            cells = [short_span(one[field][name]) if one[field] else "-" for one in figures]
            yield Column(f"{title} {name.upper()}", cells, right=True, usual="-")


def _percent(share: float | None) -> str:
    """`99.2%`; never 100 % where anything is missing, nor 0 % where there is something."""
    if share is None:
        return "-"
    percent = share * 100
    if percent in (0, 100):
        return f"{percent:.0f}%"
    return f"{min(max(percent, 0.1), 99.9):.1f}%" if percent < 10 or percent > 90 else f"{percent:.0f}%"


def _amount(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:.2f}"


def history_lines(history: Document, stats: Document, style: Style) -> list[str]:
    """How many ended and how long they had waited over the window, as two small pictures."""
    room = (style.columns or 80) - _LABELS - 24
    each = short_span(stats["bucket_s"])
    lines = []
    for label, values, most in (
        ("ended", history["ended"], _most_ended(history["ended"], each)),
        ("mean wait", history["wait_s"], _most_waited(history["wait_s"])),
    ):
        drawn = draw_sparkline(values, max(room, 8), unicode=style.unicode)
        lines.append(f"{style.paint(label.ljust(_LABELS), 'dim')}  {style.paint(drawn, 'cyan')}  {most}".rstrip())
    return lines


def _most_ended(values: Sequence[int], each: str) -> str:
    return f"most {max(values)} in {each}"


def _most_waited(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"most {short_span(max(known))}" if known else ""
