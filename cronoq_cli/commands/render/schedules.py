"""Schedules as tables and facts: the listing, everything about one, and the history of its slots.

What to know of its times is made by `schedule_plan`, which is loaded only for a single one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.layout import GAP, Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.text import display_width, escape_for_terminal
from cronoq_cli.commands.render.words import Document, how_it_ended, join_facts

_LABELS = 20
_LEAST_WORDS = 24
"""Columns that must be left for the words of an expression on a terminal."""
_BROKEN = "its last run did not succeed; cronoq recurring resume begins anew"
_MOST_TIME = 20
"""Columns of an expression that other columns give way to."""


def print_schedules(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table of `{"recurring": [...]}`, in the order they come in; times are in the caller's zone."""
    schedules = doc["recurring"]
    if not schedules:
        print_notes(context, ["no schedules; cronoq recurring add makes one"])
        return
    style = style_of(context)
    columns = _columns(schedules, style)
    room = None if style.columns is None else style.columns - sum(map(_width, columns))
    if room is None or room >= _LEAST_WORDS:
        columns.append(Column("IN WORDS", [one["words"] or "-" for one in schedules], least=_LEAST_WORDS))
    context.out.write("\n".join(layout_table(columns, style)) + "\n")


def _width(column: Column) -> int:
    return max(map(display_width, (column.title, *column.cells))) + len(GAP)


def _columns(schedules: Sequence[Document], style: Style) -> list[Column]:
    states = [state_of(one, style) for one in schedules]
    zones = [one["zone"] or "-" for one in schedules]
    whens = [when_of(one) for one in schedules]
    lasts = [(one["last"] or {}).get("status") for one in schedules]
    return [
        Column("NAME", [one["name"] for one in schedules], least=8),
        Column("WHEN", whens, least=min(max(map(len, whens)), _MOST_TIME)),
        Column("NEXT", [_distance(one["next"], style) for one in schedules], right=True),
        Column(f"AT ({style.zone_name})", [style.local(one["next"]) for one in schedules]),
        Column(
            "LAST",
            [style.word(word) if word else "-" for word in lasts],
            colours=[STATUS_COLOURS.get(word or "") for word in lasts],
        ),
        Column("AGO", [_ago(one["last"], style) for one in schedules], right=True, usual="-"),
        Column("STATE", states, usual="-", least=6, colours=["yellow" if word != "-" else None for word in states]),
        Column("OVERLAP", [one["overlap"] for one in schedules], usual="skip"),
        Column("ZONE", zones, usual=zones[0], least=6),
    ]


def _ago(last: Document | None, style: Style) -> str:
    """How long ago the last run ended; of one that has not, how long ago it was due."""
    at = last and (last.get("finished_at") or last.get("due_at"))
    return "-" if not at else short_span(max(float(int(style.now - moment_of(at))), 0.0))


def when_of(schedule: Document) -> str:
    """The time as it was given: the expression, `@reboot`, or `@every 1h30m`."""
    if schedule["every"] is not None:
        return f"@every {schedule['every']}"
    return str(schedule["expr"] or "@reboot")


def _distance(at: str | None, style: Style) -> str:
    return "-" if at is None else near_now(moment_of(at), style.now)


def state_of(schedule: Document, style: Style) -> str:
    """`paused`, `paused until Mar 09 08:00`, `broken` (a chain on success), `ended`, `cannot run`, or `-`: it runs."""
    if schedule["paused"]:
        until = schedule["paused_until"]
        return "paused" if until is None else f"paused until {style.local(until)}"
    if schedule["words"] is None:
        return "cannot run"
    if schedule["broken"]:
        return "broken"
    return "ended" if schedule["next"] is None and schedule["expr"] != "@reboot" else "-"


# -- one -------------------------------------------------------------------------------------------------------------


def print_schedule(context: Context, schedule: Document) -> None:
    """Write everything about one schedule, as its document with its spec has it."""
    from cronoq_cli.commands.render import schedule_plan as plan

    style = style_of(context)
    lines = [style.paint(f"Schedule {escape_for_terminal(schedule['name'])}", "bold")]
    lines += layout_facts(_plan_facts(schedule, style), style, _LABELS)
    lines += layout_facts(_task_facts(schedule), style, _LABELS)
    lines += layout_facts(_policy_facts(schedule, style), style, _LABELS)
    if schedule["skips"]:
        lines += ["", style.paint("Left out", "bold"), *(f"  {style.local(slot)}" for slot in schedule["skips"])]
    if schedule["next_runs"]:
        zone = plan.zone_of(context, schedule)
        lines += ["", style.paint("Next runs", "bold")]
        for at in map(moment_of, schedule["next_runs"]):
            lines.append(f"  {plan.format_run(at, zone)}  {near_now(at, style.now)}")
    if schedule.get("env"):
        lines += ["", style.paint("Environment", "bold")]
        lines += [f"  {escape_for_terminal(f'{name}={value}')}" for name, value in sorted(schedule["env"].items())]
    context.out.write("\n".join(lines) + "\n")
    print_notes(context, plan.list_plan_notes(context, schedule))


def _plan_facts(schedule: Document, style: Style) -> Iterator[Fact]:
    yield Fact("runs", schedule["words"])
    yield Fact("written", when_of(schedule))
    yield Fact("zone", schedule["zone"] if schedule["tz"] else f"{schedule['zone']}, the machine's")
    state = state_of(schedule, style)
    reason = _BROKEN if state == "broken" else schedule["pause_reason"]
    yield Fact("state", "active" if state == "-" else join_facts(state, reason), None if state == "-" else "yellow")
    last = schedule["last"]
    if last:
        task = None if last.get("id") is None else f"task {last['id']}"
        at = last.get("finished_at") or last.get("started_at") or last.get("due_at")
        when = None if at is None else near_now(moment_of(at), style.now)
        yield Fact("last run", join_facts(last["status"], task, when), STATUS_COLOURS.get(last["status"]))


def _task_facts(schedule: Document) -> Iterator[Fact]:
    template = (schedule.get("spec") or {}).get("template") or {}
    shell = schedule["shell"]
    yield Fact("command", shell if shell is not None else shlex.join(schedule["command"] or ()))
    yield Fact("shell", template.get("shell"))
    yield Fact("directory", template.get("cwd", "/"))
    yield Fact("umask", f"{template.get('umask', 0o022):04o}")
    yield Fact("pool", schedule["pool"])
    yield Fact("sets", ", ".join(template.get("env_changes", {})) or None)
    stdin = template.get("stdin_text")
    yield Fact("input", template.get("stdin") if stdin is None else f"{len(stdin)} characters, kept with it")
    yield Fact("time limit", _span(template.get("timeout_s")))
    retries = template.get("retries")
    yield Fact("retries", None if retries is None else str(retries))


def _policy_facts(schedule: Document, style: Style) -> Iterator[Fact]:
    spec = schedule.get("spec") or {}
    yield Fact("overlap", schedule["overlap"])
    within = _span(spec.get("catch_up_within_s"))
    yield Fact("catch up", join_facts(schedule["catch_up"], f"within {within}" if within else None))
    yield Fact("jitter", _span(spec.get("jitter_s") or None))
    yield Fact("until", None if spec.get("until") is None else str(style.local_moment(spec["until"])))
    yield Fact("at most", None if spec.get("max_runs") is None else f"{spec['max_runs']} runs")
    failures = spec.get("pause_after_failures")
    yield Fact("pauses after", None if failures is None else f"{failures} failures in a row")
    yield Fact("room", "kept for each start" if spec.get("reserve") else None)
    yield Fact("tolerance", join_facts(_span(spec.get("tolerance_s")), spec.get("on_miss")) or None)
    yield Fact("deadline after", _span(spec.get("deadline_after_s")))
    for name, lines in spec.get("reactions", {}).items():
        yield Fact(name.replace("_", " "), "; then ".join(lines))
    for name, command in spec.get("hooks", {}).items():
        yield Fact(f"told {name.replace('_', ' ')}", command)
    yield Fact("pings", spec.get("ping"))
    for number, line in enumerate(spec.get("comment", "").split("\n")):
        yield Fact("" if number else "comment", line or None)


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else short_span(seconds)


# -- history ---------------------------------------------------------------------------------------------------------


def print_history(context: Context, doc: Mapping[str, Any]) -> None:
    """Write the table of `{"runs": [...]}`, newest last."""
    runs = doc["runs"]
    if not runs:
        print_notes(context, ["nothing has become due yet"])
        return
    style = style_of(context)
    columns = [
        Column(f"DUE ({style.zone_name})", [style.local(run["due_at"]) for run in runs]),
        Column("TASK", ["-" if run["id"] is None else str(run["id"]) for run in runs], right=True),
        Column(
            "STATUS",
            [style.word(run["status"]) for run in runs],
            colours=[STATUS_COLOURS.get(run["status"]) for run in runs],
        ),
        Column("STARTED", [style.local(run["started_at"]) for run in runs], usual="-"),
        Column("RUNS", [short_span(run["run_s"]) for run in runs], right=True, usual="-"),
        Column("REASON", [_reason(run, style) for run in runs], usual="-", least=10),
    ]
    context.out.write("\n".join(layout_table(columns, style)) + "\n")


def _reason(run: Document, style: Style) -> str:
    ended = how_it_ended({"signal": None, **run})
    return join_facts("manual" if run["manual"] else None, ended, run["reason"], _how_many(run, style)) or "-"


def _how_many(run: Document, style: Style) -> str | None:
    """Many slots in a row that were missed or skipped for one reason are one line."""
    count = run.get("count", 1)
    if count == 1:
        return None
    return f"{'more than ' if run.get('more') else ''}{count} slots, up to {style.local(run['last_due_at'])}"
