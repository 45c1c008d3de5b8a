"""What `explain` says of a task: blockers, the arithmetic of its score, place and estimated start, or its end.

The document is made by the daemon; nothing is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.words import Document

_LABELS = 13
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def print_explanation(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the explanations of `{"explain": {...}}`, or of `{"explain": [{...}, ...]}`, blank lines between."""
    found = doc["explain"]
    style = style_of(context)
    blocks = found if isinstance(found, list) else [found]
    context.out.write("\n".join("\n".join(explanation_lines(block, style)) + "\n" for block in blocks))


def explanation_lines(explanation: Document, style: Style) -> list[str]:
    """The lines of one task."""
    status = style.word(str(explanation["status"]))
    lines = [style.paint(f"Task {explanation['id']}: {status}", "bold")]
    for group in (
        _end(explanation),
        _running(explanation, style),
        _blockers(explanation, style),
        _score(explanation),
        _start(explanation, style),
    ):
        lines += layout_facts(group, style, _LABELS)
    return lines


def _end(explanation: Document) -> Iterator[Fact]:
    yield Fact("decided by", explanation["decided_by"])


def _running(explanation: Document, style: Style) -> Iterator[Fact]:
    """Since when it runs, and how long it may."""
    running = explanation["running"]
    if running is not None:
        yield Fact("runs since", _near(running["started_at"], style) if running["started_at"] else None)
        yield Fact("expected run", f"{short_span(running['expected_s'])}, {running['basis']}")


def _near(moment: str, style: Style) -> str:
    """`18:30:05 CET, 12s ago`."""
    return f"{style.local(moment)} {style.zone_name}, {near_now(moment_of(moment), style.now)}"


def _blockers(explanation: Document, style: Style) -> Iterator[Fact]:
    """The first blocker, then the others, each once."""
    first = explanation["first"]
    known = [blocker for blocker in explanation["blockers"] if first is not None and _is_same(blocker, first)]
    since = known[0]["since"] if known else None
    yield Fact("waits for", None if first is None else _blocker(first, since, style), "yellow")
    for blocker in explanation["blockers"]:
        if first is None or not _is_same(blocker, first):
            yield Fact("also", _blocker(blocker, blocker["since"], style))


def _is_same(one: Document, other: Document) -> bool:
    return bool(one["what"] == other["what"] and one["detail"] == other["detail"])


def _blocker(blocker: Document, since: str | None, style: Style) -> str:
    """`resource gpu: wants 2, 1 is free (since 12s ago)`, moments in the caller's zone."""
    text = blocker["what"] if not blocker["detail"] else f"{blocker['what']}: {blocker['detail']}"
    text = _MOMENT.sub(lambda found: _near(found[0], style), text)
    return text if since is None else f"{text} (since {near_now(moment_of(since), style.now)})"


def _score(explanation: Document) -> Iterator[Fact]:
    """The sum as it could be checked by hand, and where the urgency comes from."""
    score = explanation["score"]
    if score is None:
        return
    terms = f"{_points(score['base'])} base + {_points(score['wait_points'])} waited"
    urgent = "" if not score["urgency"] else f" + {_points(score['urgency'])} urgent"
    yield Fact("score", f"{_points(score['total'])} = {terms}{urgent}")
    rate = f"{_points(score['rate'])} a second"
    most = "" if abs(score["rate"] * score["wait_s"] - score["wait_points"]) < 0.5 else ", at its cap"
    yield Fact("waited", f"{short_span(score['wait_s'])} at {rate}{most}")
    yield Fact("slack", None if score["slack_s"] is None else _slack(score["slack_s"]))
    yield Fact("expected run", f"{short_span(score['expected_s'])}, {score['basis']}")


def _points(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _slack(seconds: float) -> str:
    """How long it may still wait and be done by its deadline."""
    if seconds < 0:
        return f"none: {short_span(-seconds)} too late to be done by its deadline"
    return f"{short_span(seconds)} until it must start to be done by its deadline"


def _start(explanation: Document, style: Style) -> Iterator[Fact]:
    yield Fact("place", _place(explanation))
    at, basis = explanation["estimated_start"], explanation["estimate_basis"]
    if at is not None:
        when = "any moment" if moment_of(at) - style.now < 1 else _near(at, style)
        yield Fact("starts about", when if basis is None else f"{when} ({basis})")
    else:
        yield Fact("starts about", None if basis is None else f"not known: {basis}")


def _place(explanation: Document) -> str | None:
    place, ahead = explanation["place"], explanation["ahead"]
    if place is None:
        return None
    return str(place) if ahead is None else f"{place}, {ahead} ahead of it"
