"""The pools: how full each is, what it aims at, what waits in it and for how long."""

from __future__ import annotations

from cronoq_cli.client.dashboard.board import Board, Document, Panel
from cronoq_cli.client.dashboard.lines import GAP, Line, Piece, fill, rule, safe
from cronoq_cli.client.dashboard.sparkline import draw_gauge
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style
from cronoq_cli.commands.render.text import cut_to_width, pad_left_aligned

_MOST_NAME = 16
_LATER = ("retrying", "scheduled", "blocked")


def draw_pools(board: Board, width: int, height: int, style: Style) -> list[Line]:
    """The heading and a line a pool, `height` lines altogether."""
    board.pool_rows.resize(len(board.pools), height - 1)
    rows = board.pool_rows
    lines = [rule("Pools", rows.span, width, style, focused=board.panel is Panel.POOLS)]
    name = min(max((len(safe(pool["name"])) for pool in board.pools), default=4), _MOST_NAME)
    load = max((len(_load(pool)) for pool in board.pools), default=3)
    for place in range(rows.top, min(rows.top + height - 1, rows.count)):
        mark = ">" if place == rows.cursor and board.panel is Panel.POOLS else " "
        pool = _age(board.pools[place], style.now - board.fetched_at)
        lines.append(_pool_line(pool, (name, load), width, style, mark))
    return fill(lines, width, height, style.mark)


def _age(pool: Document, passed_s: float) -> Document:
    """The pool as it would be now: what has waited longest goes on waiting."""
    oldest_s = pool["oldest_ready_s"]
    return pool if oldest_s is None else {**pool, "oldest_ready_s": oldest_s + max(passed_s, 0.0)}


def _load(pool: Document) -> str:
    return f"{pool['busy']}/{pool['workers']}"


def _pool_line(pool: Document, widths: tuple[int, int], width: int, style: Style, mark: str) -> Line:
    name = pad_left_aligned(cut_to_width(safe(pool["name"]), widths[0], style.mark), widths[0])
    share = pool["busy"] / max(pool["workers"], 1)  # a pool without workers may still finish what runs
    gauge = draw_gauge(share, 10 if width < 100 else 16, unicode=style.unicode)
    look = "yellow" if pool["paused"] else "green"
    pieces: list[Piece] = [(mark, "bold"), (name, "bold"), (GAP, ""), (gauge, look), (GAP, "")]
    pieces += [(_load(pool).rjust(widths[1]), ""), (GAP, "")]
    ready = sum(pool["waiting"].values())
    facts: list[Piece] = [("paused", "yellow")] if pool["paused"] else []
    if pool["min"] != pool["max"]:
        facts.append((f"target {pool['target']} ({pool['min']}..{pool['max']})", ""))
    later: list[Piece] = [(f"{pool[word]:,} {word}", "yellow") for word in _LATER if pool[word]]
    if ready or not later:
        facts.append((f"{ready:,} ready", "cyan" if ready else "dim"))
    if ready and pool["oldest_ready_s"] is not None:
        facts.append((f"oldest {short_span(pool['oldest_ready_s'])}", ""))
    facts += later
    if pool["failed"]:
        facts.append((f"{pool['failed']:,} failed", "red"))
    facts += _reasons(pool)
    for place, fact in enumerate(facts):
        pieces += [(", " if place else "", ""), fact]
    return tuple(pieces)


def _reasons(pool: Document) -> list[Piece]:
    found: list[Piece] = [(f"{pool[word]} {word}", "") for word in ("held", "reservations") if pool[word]]
    if pool["reason"] and not pool["paused"]:
        found.append((safe(pool["reason"]), "dim"))
    return found


def cursor_line(board: Board) -> int | None:
    """The line of the cursor in the panel, None when it is elsewhere."""
    if board.panel is not Panel.POOLS or not board.pools:
        return None
    return board.pool_rows.cursor - board.pool_rows.top + 1
