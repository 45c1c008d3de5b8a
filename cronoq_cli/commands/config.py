"""`cronoq config`: write, judge and show the configuration. What can stand there is the settings' matter."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from cronoq_cli.commands.answers import Json
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, group, option, verb
from cronoq_cli.commands.render.config import print_config
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.commands.render.notes import print_notes
from cronoq_cli.config.effective import list_values
from cronoq_cli.config.loading import find_content, load_settings, parse_document
from cronoq_cli.config.paths import find_paths
from cronoq_cli.errors import InvalidError, NotFoundError
from cronoq_cli.model.words import hint_for


def declare(app: typer.Typer) -> None:
    """Declare the group and its verbs."""
    config = group(app, "config", help="Write, check and show the configuration.", panel="Pools and daemon")
    verb(config, "init", examples=("cronoq config init", "cronoq config init --print"))(init)
    verb(config, "check", examples=("cronoq config check", "cronoq config check new.toml"))(check)
    verb(config, "show", examples=("cronoq config show", "cronoq config show pools.default"))(show)
    verb(config, "path", examples=("$EDITOR $(cronoq config path)",))(path)


def init(
    context: Context,
    print_: Annotated[bool, option("--print", help="Write it to standard output instead.")] = False,
    json: Json = False,
) -> int | None:
    """Write a configuration file in which comments explain every key. One that is there is left alone (status 4)."""
    from cronoq_cli.config.template import format_template, write_template  # only here the declarations are read

    context.json = json
    if print_:
        text = format_template()
        if json:
            print_json(context, {"config": {"text": text}})
        else:
            context.out.write(text)
        return 0
    place = _find_path(context)
    write_template(place)
    _say(context, place, {"path": place}, json)
    return 0


def check(
    context: Context,
    file: Annotated[str | None, argument("[FILE]", help="The file; the one cronoq reads.")] = None,
    json: Json = False,
) -> int | None:
    """Read the configuration, or another file, and say what is wrong, with its line and key. Exit status 7 then."""
    context.json = json
    place = _find_path(context) if file is None else os.path.join(context.cwd, file)
    content = find_content(place)
    if content is None and file is not None:
        raise InvalidError(f"there is no {file}", hint="name a file")
    load_settings(place)
    said = f"{place}: nothing is wrong" if content is not None else f"{place}: not there, so all is at its default"
    _say(context, said, {"path": place, "exists": content is not None, "valid": True}, json)
    return 0


def show(
    context: Context,
    key: Annotated[str | None, argument("[KEY]", help="Only this key, or what is below it.")] = None,
    json: Json = False,
) -> int | None:
    """Show the configuration in force: each value, and whether it is the default, the file's, or changed by command.

    The file is read as it is now; the daemon goes by what it read at its start or at its last reload.
    """
    context.json = json
    keeper = context.need_streams().housekeeping()
    place = find_paths(context.home, context.env).config_file
    content = find_content(place)
    document: dict[str, Any] = {} if content is None else parse_document(content, place)
    values = list_values(load_settings(place), document, keeper.load_changes())
    if key is not None:
        known = [value.place for value in values]
        values = [value for value in values if value.place == key or value.place.startswith(f"{key}.")]
        if not values:
            raise NotFoundError(f"the configuration has no {key!r}", hint=hint_for(key, known))
    if json:
        rows = [{"key": value.place, "value": value.value, "source": value.source} for value in values]
        print_json(context, {"config": {"path": place, "exists": content is not None, "values": rows}})
    else:
        print_config(context, values)
        if content is None:
            print_notes(context, [f"there is no {place}; cronoq config init writes one"])
    return 0


def path(context: Context, json: Json = False) -> int | None:
    """Print where the configuration file is, or would be."""
    place = _find_path(context)
    _say(context, place, {"path": place, "exists": os.path.lexists(os.fsencode(place))}, json)
    return 0


def _find_path(context: Context) -> str:
    context.need_streams()  # where the usual places are, the caller's own process knows
    return find_paths(context.home, context.env).config_file


def _say(context: Context, text: str, doc: dict[str, Any], json: bool) -> None:
    if json:
        print_json(context, {"config": doc})
    else:
        print_line(context, text)
