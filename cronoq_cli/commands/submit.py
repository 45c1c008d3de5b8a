"""`cronoq submit`: queue tasks and print their ids. How words become a request stands in `submission`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer

from cronoq_cli.commands.answers import ask, tasks_of
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.following import follow_one
from cronoq_cli.commands.options import SpecOptions
from cronoq_cli.commands.outcome import decide_exit, decide_exit_of_all, describe_end, is_final
from cronoq_cli.commands.own_slot import warn_of_own_slot
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.commands.result import write_result
from cronoq_cli.commands.submission import CommandOptions, ManyOptions, build_submission
from cronoq_cli.errors import UsageError
from cronoq_cli.model.ids import format_ids
from cronoq_cli.wire.requests import Reply, Selector, Submit, WaitTasks

EXAMPLES = (
    "cronoq submit -- make -j4 test",
    "cronoq submit 'sort big.txt | uniq > u.txt'",
    "cronoq submit --after last --retries 3 --timeout 1h -- ./upload",
    "ls *.wav | cronoq submit --each - -- flac {}",
)
WORDS = "[COMMAND] [ARG]..."


class AnswerOptions(msgspec.Struct):
    """What is answered, and when."""

    wait: Annotated[bool, option("--wait", "-w", help="Wait for the end; exit as the task did.")] = False
    follow: Annotated[bool, option("--follow", "-f", help="Show its output until the end; exit as it did.")] = False
    no_wait: Annotated[
        bool, option("--no-wait", help="Be refused at once (75) where a full pool would have this wait.", more=True)
    ] = False
    quiet: Annotated[bool, option("--quiet", "-q", help="Print nothing but errors.")] = False
    json: Annotated[bool, option("--json", help="Answer with one JSON document.")] = False
    dry_run: Annotated[bool, option("--dry-run", help="Check all of it, queue nothing, say what would be.")] = False
    result: Annotated[
        str | None,
        option(
            "--result",
            help="With --wait or --follow: write the ended task to a file, as JSON.",
            metavar="FILE",
            more=True,
        ),
    ] = None

    def check(self) -> None:
        """Refuse what contradicts itself."""
        if self.dry_run and (self.wait or self.follow):
            raise UsageError("--dry-run with --wait or --follow", hint="nothing is queued, so nothing ends")
        if self.json and self.follow:
            raise UsageError("--json with --follow", hint="use --wait: its answer is the ended task")
        if self.result is not None and not (self.wait or self.follow):
            raise UsageError("--result without --wait or --follow", hint="only an ended task has a result")


def declare(app: typer.Typer) -> None:
    """Declare the verb."""
    verb(app, "submit", aliases=("add",), examples=EXAMPLES, words_follow=True, panel="Submit tasks")(submit)


def submit(
    context: Context,
    spec: SpecOptions,
    command: CommandOptions,
    many: ManyOptions,
    answer: AnswerOptions,
    words: Annotated[list[str] | None, argument(WORDS, help="What to execute.")] = None,
) -> int | None:
    """Queue a command and print the task's id.

    Options of cronoq come before the command; everything after its first word belongs to the command. Several words
    are executed exactly as given, without a shell; a single word is a shell line.
    """
    context.json = answer.json
    answer.check()
    if answer.wait or answer.follow:
        context.need_streams()
        context.one_task = many.source() is None
        if answer.follow and not context.one_task:
            raise UsageError("--follow with many tasks", hint="use --wait, or cronoq logs -f ID for one of them")
    request = build_submission(context, spec, command, many, words or [])
    request.dry_run, request.no_wait, request.brief = answer.dry_run, answer.no_wait, not answer.json
    reply = ask(context, request)
    if answer.wait or answer.follow:
        return until_the_end(context, submitted_ids(reply), answer)
    _print_answer(context, reply, request, answer)
    return reply.exit


def submitted_ids(reply: Reply) -> list[int]:
    """The ids of a submission in its order, without the reactions behind its members."""
    return list(reply.doc["ids"])


def _print_answer(context: Context, reply: Reply, request: Submit, answer: AnswerOptions) -> None:
    if answer.json:
        print_json(context, _document(reply, request))
    elif answer.dry_run:
        count = reply.doc["count"]
        context.out.write(f"{count} {'task' if count == 1 else 'tasks'} would be queued\n")
    elif not answer.quiet:
        context.out.write(format_ids(submitted_ids(reply)) + "\n")


def _document(reply: Reply, request: Submit) -> dict[str, Any]:
    """One task stands under its noun alone; of a batch the ids are told too, also where it is too large for more."""
    if request.batch or request.dry_run:
        return reply.doc
    return {"task": tasks_of(reply.doc)[0]}


def until_the_end(context: Context, ids: list[int], answer: AnswerOptions) -> int:
    """Wait for tasks, or follow the only one, as was asked for; the exit status that their ends mean."""
    if not answer.quiet:
        warn_of_own_slot(context, Selector(refs=format_ids(ids).split(",")))
    if answer.follow:
        if not answer.quiet:
            print_notes(context, [f"task {ids[0]}"])
        tasks = [follow_one(context, ids[0])]
    else:
        if not answer.quiet and not answer.json:
            context.out.write(format_ids(ids) + "\n")
            context.out.flush()
        tasks = wait_for(context, ids, brief=not answer.json and answer.result is None)
        if answer.json:
            print_json(context, {"task": tasks[0]} if context.one_task else {"tasks": tasks})
    return finish(context, tasks, result=answer.result, quiet=answer.quiet)


def wait_for(context: Context, ids: list[int], *, brief: bool = False) -> list[Mapping[str, Any]]:
    """The documents of the tasks when all of them have ended; `brief`: of several that succeeded only that."""
    request = WaitTasks(select=Selector(refs=format_ids(ids).split(",")), brief=brief)
    return tasks_of(context.need_streams().wait(request, None).doc)


def finish(
    context: Context, tasks: Sequence[Mapping[str, Any]], *, result: str | None = None, quiet: bool = False
) -> int:
    """Say how badly tasks ended, write the result file, and return the exit status that they mean."""
    if result is not None:
        write_result(context, result, tasks)
    if not quiet:
        bad = [task for task in tasks if is_final(task) and task["status"] != "succeeded"]
        notes = [describe_end(task) for task in bad[:10]]
        print_notes(context, notes if len(bad) <= 10 else [*notes, f"{len(bad) - 10} more did not succeed"])
    return decide_exit(tasks[0]) if context.one_task else decide_exit_of_all(tasks)
