"""How a verb is declared: a plain function whose parameters, and groups of parameters, become a Typer command.

Also the quick parse that a cached command makes of its words, and the drawing of help. Which verbs there are
stands in `app`, what they do in a file each.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NoReturn, get_type_hints

import msgspec
import typer
from typer.core import TyperCommand, TyperGroup

from cronoq_cli.commands.context import Context, NeedsClient
from cronoq_cli.commands.familiar import FAMILIAR
from cronoq_cli.errors import UsageError
from cronoq_cli.model.words import hint_for, suggest

MORE = "More options"
"""The panel of options that only `--help-all` shows."""
PLAIN_WIDTH = 100
_FRAME, _LEAST_TEXT = 12, 34
"""Columns of drawn help for its frame, the short names and the gaps; and what a text needs beside that."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""What the parser raises for words it cannot take."""
NOTHING: Mapping[type, Collection[str]] = MappingProxyType({})
_SHOWN = "cronoq.help"
_OWN = ("help", "help_all")
_ALSO = "Another name of "
"""How an alias is described, which only `--help-all` lists."""


def option(*names: str, help: str, metavar: str | None = None, more: bool = False) -> Any:  # noqa: A002
    """An option for `Annotated`; `more` hides it from the everyday help."""
    return typer.Option(
        *names, help=help, metavar=metavar or "", show_default=False, rich_help_panel=MORE if more else None
    )


def argument(metavar: str, *, help: str) -> Any:  # noqa: A002
    """A positional word for `Annotated`; `metavar` as the usage line shows it, and needs no line of its own then."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, hidden=True)


class _Words:
    """The quick parse of a cached command: words as they are, for the verb itself to judge.

    The parser is kept, since making it costs more than everything else, and what Typer would do for each parameter
    that was not given (environment, defaults, prompts, conversions) is left out.
    """

    def __init__(self, command: Any, ctx: Any) -> None:
        self._parser = command.make_parser(ctx)
        # Single-letter options are found at once too, without a search for the nearest long name first.
        self._parser._long_opt.update(self._parser._short_opt)
        self._values = tuple(
            (param.name, param.default, (param.metavar or param.name) if param.required else None)
            for param in command.params
        )

    def read(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill `ctx.params`; the words left over. Shows the help when that was asked for."""
        self._parser.ctx = ctx
        try:
            given, rest, _ = self._parser.parse_args(args)
        except USAGE_ERROR as error:
            error.ctx = error.ctx or ctx  # the parser does not say of which command an option lacks its value
            raise
        if given.get("help") or given.get("help_all"):
            show_help(ctx, everyday=not given.get("help_all"))
        for name, default, required in self._values:
            value = given.get(name)
            if value is None:
                if required is not None:
                    raise UsageError(f"{title(ctx)}{required} is missing", hint=see_help(ctx))
                value = default
            ctx.params[name] = list(value) if isinstance(value, tuple) else value
        return list(rest)


class Verb(TyperCommand):
    """A command that takes its words as they are: values are parsed by the verb, which says what is wrong where."""

    _words: _Words | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Fill `ctx.params`. Raises UsageError for words that belong to nothing."""
        self._words = self._words or _Words(self, ctx)
        rest = self._words.read(ctx, args)
        if rest:
            raise UsageError(f"{title(ctx)}unexpected {rest[0]!r}", hint=see_help(ctx))
        ctx.args = []
        return []

    def invoke(self, ctx: Any) -> Any:
        """Call the verb itself; the wrapper that Typer puts around it would go through all parameters again."""
        return inspect.unwrap(self.callback)(ctx, **ctx.params) if self.callback else None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS]`, then the arguments as they were named."""
        return ["[OPTIONS]", *(str(param.metavar) for param in self.params if param.param_type_name == "argument")]

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, or the everyday ones while the everyday help is drawn."""
        return _shown(ctx, super().get_params(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_epilog(self.epilog, formatter)


class Verbs(TyperGroup):
    """A group of verbs, which suggests the nearest one for a mistyped word."""

    _words: _Words | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the group's own options; what follows belongs to the verb."""
        self._words = self._words or _Words(self, ctx)
        ctx.args = self._words.read(ctx, args)
        return list(ctx.args)

    def invoke(self, ctx: Any) -> Any:
        """Call the group itself, then the verb that the first word names."""
        verb_name, command, args = self.resolve_command(ctx, ctx.args) if ctx.args else (None, None, [])
        ctx.invoked_subcommand = verb_name
        if self.callback is not None:
            inspect.unwrap(self.callback)(ctx, **ctx.params)
        if command is None:
            return show_help(ctx, everyday=True)
        with command.make_context(verb_name, args, parent=ctx) as inner:
            return command.invoke(inner)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The verb named by the first word. Raises UsageError with the nearest one, or what it is called here."""
        command = self.commands.get(args[0])
        if command is None:
            raise UsageError(f"{title(ctx)}there is no command {args[0]!r}", hint=self._hint_for(ctx, args[0]))
        return args[0], command, args[1:]

    def _hint_for(self, ctx: Any, word: str) -> str:
        known = sorted(name for name in self.commands if not name.startswith("_"))
        if ctx.parent is not None:
            return hint_for(word, known)
        if word in FAMILIAR:
            return f"here it is {FAMILIAR[word]}"
        near = suggest(word, known)
        return f"did you mean {near}?" if near else "cronoq --help lists all of them"

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, one a line."""
        _write_epilog(self.epilog, formatter)


def _shown(ctx: Any, params: list[Any]) -> list[Any]:
    if ctx.meta.get(_SHOWN) != "everyday":
        return params
    return [param for param in params if getattr(param, "rich_help_panel", None) != MORE]


def title(ctx: Any) -> str:
    """`submit: `, what an error is about; nothing for cronoq itself, which every error names anyway."""
    path = str(ctx.command_path).removeprefix("cronoq").strip()
    return f"{path}: " if path else ""


def see_help(ctx: Any) -> str:
    """Where to read more."""
    return f"see {ctx.command_path} --help"


def _write_epilog(epilog: str | None, formatter: Any) -> None:
    if epilog:
        formatter.write_paragraph()
        formatter.write("\n  ".join(epilog.split("\n\n")) + "\n")


def show_help(ctx: Any, *, everyday: bool) -> NoReturn:
    """Write the help of a command to the caller and end the line; on a terminal it is drawn, by the client."""
    context: Context = ctx.obj
    if context.stdout_tty and context.in_daemon:
        raise NeedsClient
    ctx.meta[_SHOWN] = "everyday" if everyday else "all"
    with contextlib.nullcontext() if everyday else _listed_aliases(ctx.command):
        if context.stdout_tty and context.extras.get("color") != "never" and not _is_cramped(ctx, context.columns):
            _draw_help(ctx, context)
        else:
            ctx.terminal_width = ctx.max_content_width = context.columns or PLAIN_WIDTH
            context.out.write(ctx.get_help() + "\n")
    raise typer.Exit(0)


def _is_cramped(ctx: Any, columns: int | None) -> bool:
    """Whether the columns of drawn help would leave the texts of the options too little room: plain help has more."""
    shown = ctx.command.get_params(ctx)
    names = max((len(name) for param in shown for name in param.opts), default=0)
    metavar = max((len(param.metavar or "") for param in shown if param.param_type_name == "option"), default=0)
    return (columns or PLAIN_WIDTH) - names - metavar - _FRAME < _LEAST_TEXT


@contextlib.contextmanager
def _listed_aliases(command: Any) -> Iterator[None]:
    """While this lasts, the aliases of the verbs in a group are listed as verbs are."""
    known = getattr(command, "commands", {}).values()
    aliases = [one for one in known if one.hidden and str(one.short_help).startswith(_ALSO)]
    try:
        for one in aliases:
            one.hidden = False
        yield
    finally:
        for one in aliases:
            one.hidden = True


def _draw_help(ctx: Any, context: Context) -> None:
    """Have Typer draw it, with each paragraph as one line for it to wrap, and the examples as they are typed."""
    from typer import rich_utils

    command = ctx.command
    text, examples = command.help, command.epilog
    command.help = "\n\n".join(part.replace("\n", " ") for part in (text or "").split("\n\n"))
    command.epilog = None
    try:
        with contextlib.redirect_stdout(context.out):
            rich_utils.rich_format_help(obj=command, ctx=ctx, markup_mode="rich")
    finally:
        command.help, command.epilog = text, examples
    if examples:
        context.out.write("\n " + examples.replace("\n\n", "\n   ") + "\n\n")


def verb(
    app: typer.Typer,
    name: str,
    *,
    panel: str | None = None,
    aliases: Sequence[str] = (),
    examples: Sequence[str] = (),
    words_follow: bool = False,
    hidden: bool = False,
    without: Mapping[type, Collection[str]] = NOTHING,
    cls: type[Verb] = Verb,
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Declare a function `(context, ...)` as a verb of `app`; its docstring is the help, its result the exit status.

    A parameter whose type is a struct of options stands for all of them. `words_follow`: the first word that is
    no option begins a command, and everything after it belongs to that command. Aliases are not listed. `without`:
    for a group of options the fields that this verb does not offer. `cls`: a way of its own to read its words.
    """

    def declare(function: Callable[..., int | None]) -> Callable[..., int | None]:
        call, text = _expand(function, without), inspect.getdoc(function) or ""
        epilog = "\n\n".join(("Examples:" if len(examples) > 1 else "Example:", *examples)) if examples else None
        settings = {"allow_interspersed_args": not words_follow}
        for position, known_as in enumerate((name, *aliases)):
            app.command(
                known_as,
                cls=cls,
                help=text,
                short_help=_first_clause(text) if position == 0 else f"{_ALSO}{name}.",
                epilog=epilog,
                context_settings=settings,
                add_help_option=False,
                hidden=hidden or position > 0,
                rich_help_panel=panel,
            )(call)
        return function

    return declare


def _first_clause(text: str) -> str:
    """What stands in a list of verbs: the first sentence up to its first pause."""
    sentence = text.split("\n\n", 1)[0].replace("\n", " ").split(". ", 1)[0]
    return re.split("[:;]", sentence, maxsplit=1)[0].rstrip(".") + "."


def group(
    app: typer.Typer,
    name: str,
    *,
    help: str,  # noqa: A002
    panel: str,
    alias: str | None = None,
) -> typer.Typer:
    """A group of verbs below `app`, such as `pool`; without a verb it shows its help. An alias is not listed."""
    inner = typer.Typer(
        name=name,
        cls=Verbs,
        help=help,
        add_help_option=False,
        invoke_without_command=True,
        subcommand_metavar="COMMAND [ARG]...",
    )
    inner.callback()(_begin_group)
    app.add_typer(inner, rich_help_panel=panel)
    if alias is not None:
        app.add_typer(inner, name=alias, hidden=True, short_help=f"{_ALSO}{name}.")
    return inner


def _begin_group(
    typer_context: typer.Context,
    help: Annotated[bool, option("--help", "-h", help="Show this help.")] = False,  # noqa: A002
    help_all: Annotated[bool, option("--help-all", help="Show this help with all names of the commands.")] = False,
) -> None:
    """A group does nothing itself."""


def _expand(
    function: Callable[..., int | None], without: Mapping[type, Collection[str]] = NOTHING
) -> Callable[..., int | None]:
    """The function Typer sees: groups of options are flat, and the context comes from Typer's."""
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    groups: dict[str, tuple[type, tuple[str, ...]]] = {}
    flat: list[inspect.Parameter] = []
    for parameter in parameters:
        kind = hints[parameter.name]
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            fields = [field for field in _parameters_of(kind) if field.name not in without.get(kind, ())]
            groups[parameter.name] = (kind, tuple(field.name for field in fields))
            flat += fields
        else:
            flat.append(_keyword(parameter.name, kind, parameter.default))
    flat += _help_parameters()

    def call(typer_context: typer.Context, **values: Any) -> int | None:
        for name, (kind, names) in groups.items():
            values[name] = kind(**{field: values.pop(field) for field in names})
        for name in _OWN:
            values.pop(name, None)
        return function(typer_context.obj, **values)

    first = _keyword("typer_context", typer.Context, inspect.Parameter.empty)
    call.__signature__ = inspect.Signature([first, *flat])  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in (first, *flat)}
    call.__name__ = function.__name__
    return call


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameters_of(kind: type[msgspec.Struct]) -> list[inspect.Parameter]:
    """One for each option of a group, all of which have defaults; what a group says anew keeps its place."""
    defaults = dict(zip(kind.__struct_fields__, kind.__struct_defaults__, strict=True))
    return [_keyword(name, hint, defaults[name]) for name, hint in get_type_hints(kind, include_extras=True).items()]


def _help_parameters() -> list[inspect.Parameter]:
    everyday = Annotated[bool, option("--help", "-h", help="Show the everyday options.")]
    everything = Annotated[bool, option("--help-all", help="Show all options.")]
    return [_keyword("help", everyday, False), _keyword("help_all", everything, False)]
