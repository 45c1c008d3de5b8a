"""`cronoq doctor`: what is wrong here, and what to do. What is looked at is the client's matter."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context, Finding
from cronoq_cli.commands.declare import option, verb
from cronoq_cli.commands.render.facts import Fact, layout_facts
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.style import style_of
from cronoq_cli.errors import ExitStatus

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}
_LABELS = 8


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "doctor", examples=("cronoq doctor", "cronoq doctor -q"), panel="Pools and daemon")(doctor)


def doctor(
    context: Context,
    quiet: Annotated[bool, option("--quiet", "-q", help="Only what is wrong or worth knowing.")] = False,
    json: Json = False,
) -> int | None:
    """Look at everything cronoq needs, and say of each what is wrong and what to do. Exit status 1 when something is.

    Files and their modes, configuration, socket, lock, daemon, runner, versions, store, disk, clock and zone, kernel,
    service, and where the daemon's PATH is another one. It changes nothing and starts no daemon.
    """
    context.json = json
    findings = list(context.need_streams().housekeeping().examine())
    shown = [finding for finding in findings if not quiet or finding.level != "ok"]
    if json:
        print_json(context, {"findings": [msgspec.structs.asdict(finding) for finding in shown]})
    else:
        _print(context, shown)
    return ExitStatus.NO if any(finding.level == "problem" for finding in findings) else ExitStatus.OK


def _print(context: Context, findings: list[Finding]) -> None:
    style = style_of(context)
    facts = []
    for finding in findings:
        said = f"{finding.subject}: {finding.message}"
        facts.append(Fact(finding.level, said, label_colour=_COLOURS[finding.level]))
        if finding.hint is not None:
            facts.append(Fact("", f"-> {finding.hint}"))
    for line in layout_facts(facts, style, _LABELS) if facts else ["nothing is wrong"]:
        context.out.write(line + "\n")
