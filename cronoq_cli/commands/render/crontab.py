"""The report of an import: what became of each line of a crontab, and what to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cronoq_cli.commands.context import Context
from cronoq_cli.commands.render.layout import Column, layout_table
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.render.schedule_plan import list_plan_notes, words_of
from cronoq_cli.commands.render.spans import near_now
from cronoq_cli.commands.render.style import Style, moment_of, style_of
from cronoq_cli.commands.render.words import Document

_DRY = " (a dry run: nothing was changed)"
_COLOURS = {"added": "green", "replaced": "yellow", "refused": "red", "variable": "dim", "comment": "dim"}


def print_report(context: Context, report: Mapping[str, Any]) -> None:
    """Write the report: a line for each that is not blank, notes to stderr, and the sum."""
    if "given_back" in report:
        _print_given_back(context, report)
        return
    documents = {document["name"]: document for document in report["recurring"]}
    if "lines" in report:
        shown = [line for line in report["lines"] if line["result"] != "blank"]
        style = style_of(context)
        if shown:
            context.out.write("\n".join(layout_table(_columns(shown, documents, style), style)) + "\n")
        print_notes(context, _notes(context, shown, documents))
    print_line(context, _sum(report))


def _columns(lines: Sequence[Document], documents: Mapping[str, Document], style: Style) -> list[Column]:
    results = [line["result"] for line in lines]
    return [
        Column("LINE", [str(line["line"]) for line in lines], right=True),
        Column("RESULT", results, colours=[_COLOURS.get(word) for word in results]),
        Column("SCHEDULE", [line["name"] or "-" for line in lines], least=8),
        Column("NEXT", [_next(line, style) for line in lines], right=True),
        Column("ABOUT", [_about(line, documents) for line in lines], least=16),
    ]


def _next(line: Document, style: Style) -> str:
    return "-" if line["next"] is None else near_now(moment_of(line["next"]), style.now)


def _about(line: Document, documents: Mapping[str, Document]) -> str:
    """Why it was refused, when it runs, or the line itself."""
    if line["reason"] is not None:
        return str(line["reason"])
    document = documents.get(line["name"] or "")
    return words_of(document) if document is not None else str(line["text"]).strip()


def _notes(context: Context, lines: Sequence[Document], documents: Mapping[str, Document]) -> Iterator[str]:
    """Warnings of each line, and what is often misread in its expression."""
    now = context.now()
    for line in lines:
        for warning in line["warnings"]:
            yield f"line {line['line']}: {warning}"
        document = documents.get(line["name"] or "")
        if document is not None:
            for note in list_plan_notes(context, document, now):
                yield f"line {line['line']}: {note}"


def _sum(report: Mapping[str, Any]) -> str:
    counts = {word: len(report[word]) for word in ("added", "replaced", "unchanged")}
    counts["refused"] = sum(line["result"] == "refused" for line in report.get("lines", ()))
    if "started" in report:
        counts["started here"] = len(report["started"])
    summed = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no job in it"
    return summed + _DRY if report["dry_run"] else summed


def _print_given_back(context: Context, report: Mapping[str, Any]) -> None:
    count = len(report["given_back"])
    lines = f"{count} line{'' if count == 1 else 's'}"
    print_line(context, f"{lines} given back to the crontab" + (_DRY if report["dry_run"] else ""))
    if report["removed"]:
        print_line(context, f"removed here: {', '.join(report['removed'])}")
