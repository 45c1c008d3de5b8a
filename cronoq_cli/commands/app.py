"""The one application of all verbs, used from two sides, and the place where a command line's errors are printed.

How a verb is declared stands in `declare`, what each does in a file of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from cronoq_cli import __version__
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import USAGE_ERROR, Verbs, option, see_help, title
from cronoq_cli.commands.outcome import BROKEN_PIPE, exit_of_error
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.notes import print_error
from cronoq_cli.commands.verb_files import HIDDEN_FILES, VERB_FILES, find_file
from cronoq_cli.errors import CronoqError, ExitStatus, UsageError
from cronoq_cli.model.words import hint_for

COLOURS = ("auto", "always", "never")

HELP = "cronoq queues, schedules and repeats shell commands for one user on one machine."
EXAMPLES = (
    "Examples:",
    "cronoq submit -- make -j4 test      queue a command; prints its id",
    "cronoq run -- ./backup.sh           queue, watch, wait; exits as the task did",
    "cronoq submit --after last -- ./next",
    "cronoq ls",
)


@cache
def build_command(file: str | None = None) -> Any:
    """The command that parses every line, or those with the verbs of one file: built once, as that takes longer than a
    thousand lines."""
    app = typer.Typer(
        name="cronoq",
        cls=Verbs,
        help=HELP,
        epilog="\n\n".join(EXAMPLES),
        add_completion=False,
        add_help_option=False,
        rich_markup_mode=None,
        invoke_without_command=True,
        subcommand_metavar="COMMAND [ARG]...",
    )
    app.callback()(_begin)
    for name in (*VERB_FILES, *HIDDEN_FILES) if file is None else (file,):
        import_module(f"cronoq_cli.commands.{name}").declare(app)
    return typer.main.get_command(app)


def _begin(
    typer_context: typer.Context,
    version: Annotated[bool, option("--version", help="Show the version.")] = False,
    home: Annotated[
        str | None, option("--home", help="Keep everything in this directory, as CRONOQ_HOME does.", metavar="DIR")
    ] = None,
    color: Annotated[str | None, option("--color", help="Colours: auto, always or never.", metavar="WHEN")] = None,
    help: Annotated[bool, option("--help", "-h", help="Show this help.")] = False,  # noqa: A002
    help_all: Annotated[bool, option("--help-all", help="Show this help with all names of the commands.")] = False,
) -> None:
    context: Context = typer_context.obj
    if version:
        context.out.write(f"cronoq {__version__}\n")
        raise typer.Exit(0)
    if home is not None:
        context.home = _home(home, context)
    if color is not None:
        if color not in COLOURS:
            raise UsageError(f"--color: {color!r} is not known here", hint=hint_for(color, COLOURS))
        context.extras["color"] = color


def _home(text: str, context: Context) -> str:
    if not text:
        raise UsageError("--home: the path is empty", hint="name a directory")
    return os.path.join(context.cwd, text)


def find_home(argv: Sequence[str], cwd: str) -> str | None:
    """The directory that `--home` names in front of the verb: a side must know it before it can ask anybody."""
    words = iter(argv)
    for word in words:
        if word == "--home":
            value = next(words, "")
            return os.path.join(cwd, value) if value else None
        if word.startswith("--home="):
            return os.path.join(cwd, word.removeprefix("--home="))
        if word == "--color":
            next(words, None)
        elif not word.startswith("-"):
            return None
    return None


def run_line(argv: Sequence[str], context: Context) -> int:
    """Execute one command line and return its exit status; all it says goes to the context's streams.

    Raises NeedsClient on the daemon's side for what only the client can do.
    """
    words = [*argv[1:], "--help"] if argv and argv[0] == "help" else list(argv)
    command = build_command(find_file(words))
    try:
        with command.make_context("cronoq", words, obj=context) as typer_context:
            status = command.invoke(typer_context)
        return int(status or context.exit)
    except typer.Exit as end:
        return int(end.exit_code)
    except USAGE_ERROR as error:
        return _refuse(context, _translate(error), argv)
    except CronoqError as error:
        return _refuse(context, error, argv)
    except (KeyboardInterrupt, typer.Abort):
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE


def _refuse(context: Context, error: CronoqError, argv: Sequence[str]) -> int:
    """Print an error: a line for people, and with `--json` its document for programs."""
    status = exit_of_error(error, one_task=context.one_task)
    print_error(context, error)
    if context.json or _asks_for_json(argv):
        doc = {"code": error.code, "message": error.message, "hint": error.hint, "exit": status}
        print_json(context, {"error": doc})
    return status


def _asks_for_json(argv: Sequence[str]) -> bool:
    """Whether a line that could not be parsed asked for a document, as far as one can tell."""
    words = list(argv)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _translate(error: Any) -> UsageError:
    """The parser's error in our words: what was wrong, where, and what would be right."""
    if hasattr(error, "possibilities"):
        near = _nearest_option(error)
        hint = f"did you mean {near}?" if near else see_help(error.ctx)
        if error.option_name in _options_of(error.ctx.find_root()):
            hint = f"it stands before the command: cronoq {error.option_name} ... {title(error.ctx).rstrip(': ')}"
        return UsageError(f"{title(error.ctx)}there is no option {error.option_name}", hint=hint)
    message = str(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return UsageError(f"{message[:1].lower()}{message[1:]}", hint="see cronoq --help")
    return UsageError(f"{title(context)}{message[:1].lower()}{message[1:]}", hint=see_help(context))


def _options_of(ctx: Any) -> list[str]:
    return [name for param in ctx.command.params for name in getattr(param, "opts", ())]


def _nearest_option(error: Any) -> str | None:
    from cronoq_cli.model.words import suggest

    known = _options_of(error.ctx)
    # Without the dashes, which would make any two options look alike.
    near = suggest(error.option_name.lstrip("-"), [name[2:] for name in known if name.startswith("--")])
    return near and f"--{near}"
