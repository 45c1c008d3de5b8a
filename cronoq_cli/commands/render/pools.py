"""The table of `pool ls`: how full each pool is and what waits in it; and all of one pool, with its last 24 hours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style, style_of
from cronoq_cli.commands.render.words import Document, join_facts

_LABELS = 12


def print_pools(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table for a document `{"pools": [...]}`."""
    pools = list(doc["pools"])
    if not pools:
        print_notes(context, ["no pools"])
        return
    style = style_of(context)
    context.out.write("\n".join(layout_table(_columns(pools), style)) + "\n")


def print_pool(context: Context, doc: Mapping[str, Any]) -> None:
    """Write all facts of a document `{"pool": {...}}`."""
    pool, style = doc["pool"], style_of(context)
    lines = [style.paint(f"Pool {pool['name']}: {'paused' if pool['paused'] else 'open'}", "bold")]
    lines += [*layout_facts(_now(pool), style, _LABELS), "", style.paint("Last 24 hours", "bold")]
    lines += layout_facts(_past(pool), style, _LABELS)
    lines += ["", style.paint("In all", "bold"), *layout_facts(_in_all(pool), style, _LABELS)]
    if pool["scalings"]:
        lines += ["", *layout_table(_scaling_columns(pool["scalings"], style), style)]
    context.out.write("\n".join(lines) + "\n")


def _scaling_columns(scalings: Sequence[Document], style: Style) -> list[Column]:
    """The last changes of its size."""
    return [
        Column(f"AT ({style.zone_name})", [style.local(one["at"]) for one in scalings]),
        Column("WORKERS", [f"{one['from']} to {one['to']}" for one in scalings]),
        Column("WHY", [one["reason"] for one in scalings], least=8),
    ]


def _now(pool: Document) -> Iterator[Fact]:
    kept = join_facts(*_kept(pool))
    yield Fact("busy", join_facts(f"{pool['busy']} of {pool['workers']}", kept))
    yield Fact("scales", _scaling(pool))
    yield Fact("groups", join_facts(*_groups(pool)) or None)
    yield Fact("reason", pool["reason"])
    oldest = pool["oldest_ready_s"]
    yield Fact("ready", join_facts(_ready(pool["waiting"]), oldest and f"the oldest for {short_span(oldest)}"))
    for field in ("blocked", "scheduled", "retrying"):
        yield Fact(field, str(pool[field]) if pool[field] else None)


def _past(pool: Document) -> Iterator[Fact]:
    for field in ("started", "succeeded", "failed", "retried"):
        yield Fact(field, str(pool[field]), "red" if field == "failed" and pool[field] else None)
    yield Fact("waits", _times(pool["wait_s"]))
    yield Fact("runs", _times(pool["run_s"]))
    yield Fact("deadlines", _share(pool["deadline_hit_rate"], "kept"))
    yield Fact("fixed starts", _share(pool["fixed_start_hit_rate"], "on time"))


def _in_all(pool: Document) -> Iterator[Fact]:
    yield Fact("worker time", None if pool["worker_s"] is None else f"{short_span(pool['worker_s'])} offered")
    yield Fact("used", _share(pool["utilisation"], "of it"))
    yield Fact("cost", None if pool["cost"] is None else f"{pool['cost']:.6g}")


def _share(share: float | None, of_what: str) -> str | None:
    return None if share is None else f"{share:.1%} {of_what}"


def _times(times: Mapping[str, float] | None) -> str | None:
    """`mean 1.2s, half within 1s, 90% within 2s, 99% within 5s`."""
    if times is None:
        return None
    parts = (("p50", "half"), ("p90", "90%"), ("p99", "99%"))
    within = [f"{label} within {short_span(times[name])}" for name, label in parts]
    return join_facts(f"mean {short_span(times['mean'])}", *within)


def _columns(pools: list[Document]) -> list[Column]:
    states = ["paused" if pool["paused"] else "open" for pool in pools]
    oldest = [short_span(pool["oldest_ready_s"]) for pool in pools]
    reasons = [join_facts(_scaling(pool), *_groups(pool), *_kept(pool), pool["reason"]) or "-" for pool in pools]
    return [
        Column("POOL", [pool["name"] for pool in pools], least=8),
        Column("STATE", states, colours=["yellow" if word == "paused" else "green" for word in states]),
        Column("BUSY", [f"{pool['busy']}/{pool['workers']}" for pool in pools], right=True),
        Column("READY", [_ready(pool["waiting"]) for pool in pools], least=6),
        Column("OLDEST", oldest, right=True, usual="-"),
        _counts("BLOCKED", "blocked", pools),
        _counts("SCHED", "scheduled", pools),
        _counts("RETRY", "retrying", pools),
        Column("REASON", reasons, least=8, usual="-"),
    ]


def _counts(title: str, field: str, pools: list[Document], colour: str | None = None) -> Column:
    counts = [pool[field] for pool in pools]
    colours = [colour if count else None for count in counts]
    return Column(title, list(map(str, counts)), right=True, usual="0", colours=colours)


def _ready(waiting: Mapping[str, int]) -> str:
    """`12`, with the classes where they differ from normal: `12 (2 critical, 10 low)`."""
    parts = [f"{count} {word}" for word, count in waiting.items() if count]
    total = sum(waiting.values())
    if not total or (len(parts) == 1 and waiting.get("normal")):
        return str(total)
    return f"{total} ({', '.join(parts)})"


def _scaling(pool: Document) -> str | None:
    """`1 to 8 workers, target 3` for a pool that changes its size."""
    if pool["min"] == pool["max"]:
        return None
    return f"{pool['min']} to {pool['max']} workers, target {pool['target']}"


def _kept(pool: Document) -> list[str]:
    """`1 held, 3 reserved`: slots kept free now, and fixed starts to come."""
    return [f"{pool[field]} {word}" for field, word in (("held", "held"), ("reservations", "reserved")) if pool[field]]


def _groups(pool: Document) -> list[str]:
    """`gpu=yes 1/2`: how full each group of labelled workers is."""
    return [f"{_labels(group['labels'])} {group['busy']}/{group['workers']}" for group in pool["groups"]]


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in labels.items())
