"""What a simulation came to, as a table of starts and ends with the sums below it.

The picture of the same is in `gantt`, the document is made in commands/simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.spans import short_span
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.words import Document

_LABELS = 12


def print_simulation(context: Context, doc: Mapping[str, Any], limit: int | None) -> None:
    """Write the table of `{"simulation": {...}}`, of up to `limit` tasks, the sums, and notes."""
    found, style = doc["simulation"], style_of(context)
    tasks = found["tasks"] if limit is None else found["tasks"][:limit]
    lines: list[str] = []
    if tasks:
        lines += layout_table(_columns(tasks, moment_of(found["from"]), style), style)
    if len(found["tasks"]) > len(tasks):
        lines.append(style.paint(f"+{len(found['tasks']) - len(tasks)} more", "dim"))
    if found.get("recurring"):
        lines += ["", *layout_table(_schedule_columns(found["recurring"]), style)]
    lines += ["", *summary_lines(found, style)] if lines else summary_lines(found, style)
    context.out.write("\n".join(lines) + "\n")
    print_notes(context, list_notes(found))


def _schedule_columns(schedules: Sequence[Document]) -> list[Column]:
    """What became of each schedule; columns that are 0 for all go where space is short."""
    waits = [short_span(round(one["longest_wait_s"], 3)) for one in schedules]
    return [
        Column("SCHEDULE", [one["name"] for one in schedules], least=10),
        Column("RUNS", [str(one["runs"]) for one in schedules], right=True),
        Column("SKIPPED", [str(one["skipped"]) for one in schedules], right=True, usual="0"),
        Column("MISSED", [str(one["missed"]) for one in schedules], right=True, usual="0"),
        Column("NOT STARTED", [str(one["not_started"]) for one in schedules], right=True, usual="0"),
        Column("LONGEST WAIT", waits, right=True),
        Column("BUSY", [short_span(round(one["busy_s"], 3)) for one in schedules], right=True),
    ]


def _columns(tasks: Sequence[Document], began: float, style: Style) -> list[Column]:
    return [
        Column("ID", [str(task["id"]) for task in tasks], right=True),
        Column(
            "END",
            [style.word(task["status"]) for task in tasks],
            colours=[STATUS_COLOURS.get(task["status"]) for task in tasks],
        ),
        Column("PRIO", [task["priority"] for task in tasks], usual="normal"),
        Column("POOL", [task["pool"] for task in tasks], usual="default", least=8),
        Column("STARTS", [_after(task["started_at"], began) for task in tasks], right=True),
        Column("ENDS", [_after(task["finished_at"], began) for task in tasks], right=True),
        Column("WAITS", [short_span(task["wait_s"]) for task in tasks], right=True),
        Column("RUNS", [short_span(task["run_s"]) for task in tasks], right=True),
        Column("TASK", [task["name"] or "-" for task in tasks], least=10),
        Column("NOTE", [note_of(task) for task in tasks], usual="-", least=10),
    ]


def _after(at: str | None, began: float) -> str:
    """`+1m30s`, from the beginning of the simulation; what began before it has no sign of its own."""
    if at is None:
        return "-"
    after_s = moment_of(at) - began
    return f"+{short_span(round(after_s, 3))}" if after_s >= 0 else f"-{short_span(round(-after_s, 3))}"


def note_of(task: Document) -> str:
    """What is wrong with a task, if anything is: its deadline, its fixed start, how often it ran, why it did not."""
    facts = []
    if task["deadline_missed"]:
        facts.append("misses its deadline")
    if task["late_s"]:
        facts.append(f"starts {short_span(round(task['late_s'], 3))} late")
    if len(task["attempts"]) > 1:
        facts.append(f"{len(task['attempts'])} attempts")
    if task["reason"] and task["status"] != "succeeded":
        facts.append(task["reason"])
    return ", ".join(facts) or "-"


def summary_lines(found: Document, style: Style) -> list[str]:
    """The sums: how long all of it takes, how things end, what is late, how the pools are used."""
    return layout_facts(_facts(found), style, _LABELS)


def _facts(found: Document) -> Iterator[Fact]:
    yield Fact("takes", short_span(round(found["makespan_s"], 3)))
    counts = found["counts"]
    yield Fact("tasks", ", ".join(f"{n} {word.replace('_', ' ')}" for word, n in counts.items()) or "none")
    for name, total, bad, said in (
        ("deadlines", found["deadlines"]["total"], found["deadlines"]["missed"], "missed"),
        ("fixed starts", found["fixed_starts"]["total"], found["fixed_starts"]["late"], "late"),
    ):
        if total:
            yield Fact(name, f"{bad} of {total} {said}", "red" if bad else None)
    for pool in found["pools"]:
        if pool["started"] or pool["busy_s"]:
            yield Fact("pool", _pool_line(pool))


def _pool_line(pool: Document) -> str:
    share = "-" if pool["utilisation"] is None else f"{pool['utilisation']:.0%}"
    return f"{pool['name']}: {pool['workers']} workers, {share} used, at most {pool['most_busy']} busy"


def list_notes(found: Document) -> list[str]:
    """What the table does not say: tasks that were not taken, and that it is not the whole story."""
    notes = [f"line {one['line']} is refused: {one['reason']}" for one in found["refused"][:10]]
    if len(found["refused"]) > 10:
        notes.append(f"{len(found['refused']) - 10} more are refused")
    if not found["complete"] and "recurring" not in found:
        horizon_s = found["horizon_s"]
        why = "what is left never starts as things stand" if horizon_s is None else f"it ends after {horizon_s:g} s"
        notes.append(f"not everything ends: {why}")
    return notes
