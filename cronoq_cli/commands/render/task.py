"""All that `show` knows of a task: its facts in groups, its attempts, the names of its environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.colour import STATUS_COLOURS
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.spans import near_now, short_span
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.tables import progress_of, status_word
from cronoq_cli.commands.render.text import cut_to_width, escape_for_terminal
from cronoq_cli.commands.render.words import Document, command_line, how_it_ended, join_facts, why_of
from cronoq_cli.model.resource import format_amount
from cronoq_cli.model.words import format_size

_LABELS = 13
_CONDITIONS = {"any": "any end", "fail": "failure", "gone": "gone"}
_OUTCOME_COLOURS = {"succeeded": "green", "failed": "red", "lost": "red", "interrupted": "yellow"}


def print_task(context: Context, doc: Mapping[str, Any]) -> None:
    """Write everything about the tasks of `{"task": {...}}` or `{"tasks": [...]}`, blank lines between."""
    style = style_of(context)
    tasks = [doc["task"]] if "task" in doc else list(doc["tasks"])
    blocks = ["\n".join(task_lines(task, style)) + "\n" for task in tasks]
    context.out.write("\n".join(blocks))


def task_lines(task: Document, style: Style) -> list[str]:
    """The lines of one task."""
    head = f"Task {task['id']}: {escape_for_terminal(task['name'])}"
    if style.columns is not None:
        head = cut_to_width(head, style.columns, style.mark)
    lines = [style.paint(head, "bold")]
    for group in (_state(task, style), _work(task), _order(task), _times(task, style), _limits(task, style)):
        lines += layout_facts(group, style, _LABELS)
    lines += layout_facts(_result(task), style, _LABELS)
    if task.get("attempts"):
        lines += ["", style.paint("Attempts", "bold"), *attempt_lines(task["attempts"], style)]
    return lines + _environment_lines(task, style)


def _state(task: Document, style: Style) -> Iterator[Fact]:
    word = status_word(task, style)
    # What waits for its first or another turn has not ended, however its last attempt did.
    ended = None if task["status"] in ("blocked", "scheduled", "ready", "running") else how_it_ended(task)
    yield Fact("status", join_facts(style.word(word), ended), STATUS_COLOURS.get(word))
    reason = why_of(task)
    yield Fact("reason", None if reason == how_it_ended(task) else reason)
    yield Fact("message", None if task["message"] == task["reason"] else task["message"])
    yield Fact("progress", progress_of(task, style))
    if task.get("place") is not None:
        yield Fact("place", f"{task['place']} among the waiting")
    yield Fact("attempt", _attempt_text(task))
    yield Fact("pid", None if task["pid"] is None else str(task["pid"]))


def _attempt_text(task: Document) -> str:
    """`2 of 4, retry`: why it was started where that is not simply its submission."""
    if not task["attempt"]:
        return "none yet" if task["max_attempts"] == 1 else f"none yet, at most {task['max_attempts']}"
    why = None if task["reason_started"] == "submitted" else task["reason_started"]
    return join_facts(f"{task['attempt']} of {task['max_attempts']}", why)


def _work(task: Document) -> Iterator[Fact]:
    yield Fact("command", command_line(task))
    if task["shell"] is not None:
        yield Fact("shell", (task["command"] or [None])[0])
    yield Fact("directory", task["cwd"])
    yield Fact("log", None if task["log"] is None else join_facts(task["log"], task.get("log_note")))


def _order(task: Document) -> Iterator[Fact]:
    slots = task["slots"]
    yield Fact("pool", task["pool"] if slots == 1 else f"{task['pool']}, {slots} slots")
    yield Fact("priority", task["priority"])
    yield Fact("key", task["key"])
    yield Fact("kind", task["kind"])
    yield Fact("tenant", task["tenant"])
    yield Fact("tags", _pairs(task["tags"]))
    yield Fact("runs on", _pairs(task["labels"]))
    yield Fact("uses", ", ".join(f"{format_amount(n)} {name}" for name, n in task["resources"].items()) or None)
    yield Fact("group", task["group"])
    yield Fact("after", ", ".join(map(_dependency, task["after"])) or None)
    if task["batch"] is not None:
        index = task["array_index"]
        yield Fact("batch", str(task["batch"]) if index is None else f"{task['batch']}, index {index}")


def _pairs(pairs: Mapping[str, str]) -> str | None:
    return ", ".join(f"{name}={value}" for name, value in pairs.items()) or None


def _dependency(item: Document) -> str:
    """`3`, `build (task 7, open)`, `12 (any end, open)`: the parts of one stand in its brackets."""
    task = item.get("task")
    named = None if task is None or item["ref"] == str(task) else f"task {task}"
    notes = join_facts(named, _CONDITIONS.get(item["condition"]), "open" if item["open"] else None)
    return f"{item['ref']} ({notes})" if notes else str(item["ref"])


def _times(task: Document, style: Style) -> Iterator[Fact]:
    zone = style.zone_name
    yield Fact("submitted", _when(task["submitted_at"], style, zone))
    yield Fact("not before", _when(task["not_before"], style, zone))
    yield Fact("fixed start", _when(task["start_at"], style, zone))
    yield Fact("deadline", _when(task["deadline"], style, zone))
    yield Fact("expires", _when(task["expires_at"], style, zone))
    yield Fact("estimate", _span(task["estimate_s"]))
    yield Fact("started", _when(task["started_at"], style, zone))
    yield Fact("finished", _when(task["finished_at"], style, zone))
    yield Fact("waited", _span(task["wait_s"]))
    yield Fact("ran", _span(task["run_s"]))


def _when(text: str | None, style: Style, zone: str) -> str | None:
    """`18:30:05 CET, 2h05m ago`: the moment in the caller's zone, and how far it is."""
    if text is None:
        return None
    return f"{style.local(text)} {zone}, {near_now(moment_of(text), style.now)}"


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else short_span(seconds)


def _limits(task: Document, style: Style) -> Iterator[Fact]:
    yield Fact("timeout", "none" if task["timeout_s"] is None else short_span(task["timeout_s"]))
    yield Fact("kill at", _when(task["kill_at"], style, style.zone_name))
    yield Fact("retries", str(task["retries"]))
    yield Fact("if lost", task["on_lost"])


def _result(task: Document) -> Iterator[Fact]:
    usage = task["usage"]
    if usage is not None:
        yield Fact("cpu", f"{_cpu(usage['cpu_user_s'])} user, {_cpu(usage['cpu_system_s'])} system")
        yield Fact("memory", None if usage["max_rss_bytes"] is None else format_size(usage["max_rss_bytes"]))
    if task["left_behind"]:
        yield Fact("left behind", f"{task['left_behind']}")
    for name, value in task["outputs"].items():
        yield Fact("output", f"{name}={value}")


def _cpu(seconds: float | None) -> str:
    return short_span(seconds)


def attempt_lines(attempts: Sequence[Document], style: Style) -> list[str]:
    """The table of attempts, oldest first."""
    outcomes = [attempt["outcome"] or "running" for attempt in attempts]
    columns = [
        Column("NO", [str(attempt["number"]) for attempt in attempts], right=True),
        Column("OUTCOME", outcomes, colours=[_OUTCOME_COLOURS.get(outcome) for outcome in outcomes]),
        Column("END", [how_it_ended(attempt) or "-" for attempt in attempts], usual="-"),
        Column(f"STARTED ({style.zone_name})", [style.local(attempt["started_at"]) for attempt in attempts]),
        Column("TIME", [short_span(attempt["run_s"]) for attempt in attempts], right=True),
        Column("CPU", [_attempt_cpu(attempt) for attempt in attempts], right=True, usual="-"),
        Column("MEMORY", [_attempt_memory(attempt) for attempt in attempts], right=True, usual="-"),
        Column("WHY", [_attempt_why(attempt) for attempt in attempts], least=8, usual="-"),
        Column("LOG", [attempt["log"] or "-" for attempt in attempts], least=8, usual="-"),
    ]
    return layout_table(columns, style)


def _attempt_cpu(attempt: Document) -> str:
    usage = attempt["usage"]
    if usage is None or usage["cpu_user_s"] is None:
        return "-"
    return short_span(usage["cpu_user_s"] + (usage["cpu_system_s"] or 0.0))


def _attempt_memory(attempt: Document) -> str:
    usage = attempt["usage"]
    return "-" if usage is None or usage["max_rss_bytes"] is None else format_size(usage["max_rss_bytes"])


def _attempt_why(attempt: Document) -> str:
    core = "core dumped" if attempt["core"] else None
    left = f"left behind: {attempt['left_behind']}" if attempt["left_behind"] else None
    started = None if attempt["reason_started"] == "submitted" else attempt["reason_started"]
    cause = None if attempt["cause"] == how_it_ended(attempt) else attempt["cause"]
    return join_facts(started, cause, attempt["message"], core, left) or "-"


def _environment_lines(task: Document, style: Style) -> list[str]:
    """The names of the environment on wrapped lines, or name and value a line where values were asked for."""
    env, names = task.get("env"), task.get("env_names")
    if env is not None:
        facts = [Fact(escape_for_terminal(name), value) for name, value in env.items()]
        width = min(max((len(fact.label) for fact in facts), default=0), 24)
        return ["", style.paint("Environment", "bold"), *layout_facts(facts, style, width)]
    if not names:
        return []
    facts = [Fact("environment", " ".join(names))]
    return ["", *layout_facts(facts, style, _LABELS)]
