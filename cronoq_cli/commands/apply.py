"""`cronoq apply` and `cronoq export`: pools, resources and schedules as one file, and the way back.

What a file sets of pools and resources is stored as `pool set` and `resource set` store it. How tables of schedules are
read and written stands in `schedule_table` and `schedule_toml`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cronoq_cli.commands.answers import Json, ask
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.declare import argument, option, verb
from cronoq_cli.commands.reading import read_text
from cronoq_cli.commands.render.json import print_json
from cronoq_cli.commands.render.lines import print_line
from cronoq_cli.config.effective import COMMAND, Value, list_values
from cronoq_cli.config.live import POOL_KEYS, change_resource, override_pool, read_pool_changes
from cronoq_cli.config.loading import find_content, load_settings, parse_document, read_setting
from cronoq_cli.config.paths import find_paths
from cronoq_cli.config.pools import PoolSettings
from cronoq_cli.config.resources import ResourceSettings
from cronoq_cli.config.settings import Settings
from cronoq_cli.config.written import format_key, format_toml
from cronoq_cli.errors import CronoqError, InvalidError, UsageError
from cronoq_cli.model.words import hint_for
from cronoq_cli.wire.requests import Request, SetPool, SetResource

if TYPE_CHECKING:
    from cronoq_cli.commands.schedule_editing import Wanted
    from cronoq_cli.commands.schedule_store import Kept

POOLS, RESOURCES, SCHEDULES, ENVIRONMENTS = "pools", "resources", "recurring", "environments"
RESOURCE_KEYS = ("permits", "rate", "burst")
PANEL = "Pools and daemon"
HEADING = (
    "# What cronoq apply reads: what was changed of pools and resources by command, and the recurring schedules.\n"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that would change: `key` as in the file, its value now and then; None: it is not there."""

    key: str
    now: Any
    then: Any


@dataclass(slots=True)
class Plan:
    """What a file would change, and the requests that do it, in their order."""

    differences: list[Difference] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)


def declare(app: typer.Typer) -> None:
    """Declare the verbs."""
    verb(app, "apply", examples=("cronoq apply --dry-run queue.toml", "cronoq apply queue.toml"), panel=PANEL)(apply)
    verb(app, "export", examples=("cronoq export > queue.toml",), panel=PANEL)(export)


def apply(
    context: Context,
    file: Annotated[str, argument("FILE|-", help="TOML with [pools.NAME], [resources.NAME] and [recurring.NAME].")],
    dry_run: Annotated[bool, option("--dry-run", help="Only show what would change.")] = False,
    prune: Annotated[bool, option("--prune", help="Remove schedules that the file does not have.")] = False,
    json: Json = False,
) -> int | None:
    """Bring pools, resources and schedules to what a file says, and show what changes; the rest is left alone.

    Pools and resources must be in the configuration; their keys are those of `cronoq pool set` and
    `cronoq resource set`, and like there a change holds until a reset or `cronoq daemon reload`. Schedules are the
    tables of `cronoq recurring export`: new ones are added, others replaced. The whole file is judged before
    anything is changed.
    """
    context.json = json
    context.need_streams()
    text = read_text(context, file).removeprefix(HEADING)
    document = parse_document(text.encode("utf-8", "surrogateescape"), file)
    known = (POOLS, RESOURCES, SCHEDULES, ENVIRONMENTS)
    for name in document:
        if name not in known:
            raise InvalidError(f"{file}: unknown table {name!r}", hint=hint_for(name, known))
    plan = Plan()
    _plan_settings(plan, document, file, context)
    if SCHEDULES in document or prune:
        _plan_schedules(plan, text, context, prune=prune)
    if not json:
        _print(context, plan)
    for request in () if dry_run else plan.requests:
        ask(context, request)
    if json:
        rows = [{"key": one.key, "now": one.now, "then": one.then} for one in plan.differences]
        print_json(context, {"changes": rows, "dry_run": dry_run})
    return 0


# Pools and resources


def _load_values(context: Context) -> tuple[Settings, dict[str, Value]]:
    """The configuration, and what holds of it by place."""
    place = find_paths(context.home, context.env).config_file
    content = find_content(place)
    document = {} if content is None else parse_document(content, place)
    settings, changes = load_settings(place), context.need_streams().housekeeping().load_changes()
    return settings, {value.place: value for value in list_values(settings, document, changes)}


def _plan_settings(plan: Plan, document: Mapping[str, Any], file: str, context: Context) -> None:
    pools, resources = (_tables_of(document, top, file) for top in (POOLS, RESOURCES))
    if not pools and not resources:
        return
    settings, values = _load_values(context)
    for top, tables, known in ((POOLS, pools, settings.pools), (RESOURCES, resources, settings.resources)):
        for name, table in tables.items():
            place = f"{top}.{name}"
            _need_configured(place, known)
            try:
                _check_table(name, table, known[name])
            except CronoqError as error:
                raise InvalidError(f"{file}: {place}.{error.message}", hint=error.hint) from error
            now = {key: values[f"{place}.{key}"].value for key in table}
            changed = {key: value for key, value in table.items() if not _is_same(top, key, now[key], value)}
            plan.differences += [Difference(f"{place}.{key}", now[key], value) for key, value in changed.items()]
            if changed:
                plan.requests.append(SetPool(name=name, changes=changed) if top == POOLS else _set(name, changed))


def _check_table(name: str, table: Mapping[str, Any], known: PoolSettings | ResourceSettings) -> None:
    """Raises UsageError, or InvalidError, for what the daemon would refuse."""
    if isinstance(known, PoolSettings):
        override_pool(known, read_pool_changes(table))
        return
    for key, value in table.items():
        if key not in RESOURCE_KEYS:
            raise UsageError(f"{key}: unknown key", hint=hint_for(key, RESOURCE_KEYS))
        read_setting(ResourceSettings, key, value)
    wanted = _set(name, table)
    change_resource(name, known, permits=wanted.permits, rate_s=wanted.rate_s, burst=wanted.burst)


def _tables_of(document: Mapping[str, Any], top: str, file: str) -> dict[str, dict[str, Any]]:
    tables = document.get(top, {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidError(f"{file}: {top} is no table of tables", hint=f"write it below [{top}.NAME]")
    return tables


def _need_configured(place: str, known: Collection[str]) -> None:
    top, _, name = place.partition(".")
    if name not in known:
        hint = f"{hint_for(name, known)}; a new one is added in config.toml" if known else "add it in config.toml"
        raise InvalidError(f"the configuration has no {place}", hint=hint, code=f"unknown-{top.removesuffix('s')}")


def _is_same(top: str, key: str, now: Any, value: Any) -> bool:
    """Whether a value means what holds already, however it is written."""
    kind = PoolSettings if top == POOLS else ResourceSettings
    return now is not None and bool(read_setting(kind, key, now) == read_setting(kind, key, value))


def _set(name: str, changes: Mapping[str, Any]) -> SetResource:
    rate = changes.get("rate")
    return SetResource(
        name=name,
        permits=changes.get("permits"),
        rate_s=None if rate is None else read_setting(ResourceSettings, "rate", rate),
        burst=changes.get("burst"),
    )


# Schedules


def _plan_schedules(plan: Plan, text: str, context: Context, *, prune: bool) -> None:
    from cronoq_cli.commands.schedule_editing import read_wanted  # brings the rules of expressions along
    from cronoq_cli.commands.schedule_store import load_kept
    from cronoq_cli.commands.schedule_toml import parse_tables

    kept, beside = load_kept(context), (POOLS, RESOURCES)
    for recorded in parse_tables(text, beside).environments.values():
        kept.environments.add(recorded)
    wanted = read_wanted(text, kept, context, beside)
    removed = wanted.removed if prune else []
    plan.differences += _schedule_differences(wanted, kept, removed)
    wanted.removed = removed
    if wanted:
        ask(context, wanted.to_request(kept, dry_run=True))
        plan.requests.append(wanted.to_request(kept))


def _schedule_differences(wanted: Wanted, kept: Kept, removed: list[str]) -> Iterator[Difference]:
    from cronoq_cli.commands.schedule_table import describe_schedule

    before = kept.to_tables().tables
    for spec in wanted.specs:
        place = f"{SCHEDULES}.{spec.name}"
        now, then = before.get(spec.name), describe_schedule(spec, kept.environments)
        if now is None:
            yield Difference(place, None, then)
            continue
        for key in dict.fromkeys((*now, *then)):
            if key != "paused" and now.get(key) != then.get(key):
                yield Difference(f"{place}.{key}", now.get(key), then.get(key))
        if spec.comment != kept.specs[spec.name].comment:
            yield Difference(f"{place} (comment)", kept.specs[spec.name].comment or None, spec.comment or None)
    for names, paused in ((wanted.paused, True), (wanted.resumed, False)):
        yield from (Difference(f"{SCHEDULES}.{name}.paused", not paused, paused) for name in names)
    yield from (Difference(f"{SCHEDULES}.{name}", before[name], None) for name in removed)


def _print(context: Context, plan: Plan) -> None:
    for one in plan.differences:
        if one.now is None and isinstance(one.then, dict) and one.key.startswith(SCHEDULES):
            print_line(context, f"+ {one.key}: {one.then.get('when')}")
        elif one.then is None and isinstance(one.now, dict) and one.key.startswith(SCHEDULES):
            print_line(context, f"- {one.key}: {one.now.get('when')}")
        else:
            print_line(context, f"~ {one.key}: {_show(one.now)} -> {_show(one.then)}")
    if not plan.differences:
        print_line(context, "nothing to change")


def _show(value: Any) -> str:
    return "not set" if value is None else format_toml(value)


# The way back


def export(
    context: Context,
    every: Annotated[
        bool, option("--all", help="Also what of pools and resources is as the configuration says.")
    ] = False,
    env: Annotated[bool, option("--env", help="Also the environments of schedules, with their values.")] = False,
    json: Json = False,
) -> int | None:
    """Print what `cronoq apply` reads: what was changed of pools and resources by command, and all schedules.

    Applied where it came from it changes nothing. For another machine take --env along, which writes the values of
    recorded environments.
    """
    from cronoq_cli.commands.schedule_store import load_kept
    from cronoq_cli.commands.schedule_toml import format_tables

    context.json = json
    _, values = _load_values(context)
    tables: dict[str, dict[str, Any]] = {}
    for value in values.values():
        keys = {POOLS: POOL_KEYS, RESOURCES: RESOURCE_KEYS}.get(value.table.split(".")[0], ())
        if value.key in keys and value.table.count(".") == 1 and (every or value.source == COMMAND):
            if value.value is not None:
                tables.setdefault(value.table, {})[value.key] = value.value
    kept = load_kept(context)
    schedules = kept.to_tables()
    if env:
        schedules.environments = kept.list_environments()
    if json:
        print_json(context, _document(tables) | {SCHEDULES: schedules.tables, ENVIRONMENTS: schedules.environments})
        return 0
    context.out.write(HEADING + "".join(_format_table(name, table) for name, table in tables.items()))
    written = format_tables(schedules)
    context.out.write(f"\n{written}" if written else "")
    return 0


def _document(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {POOLS: {}, RESOURCES: {}}
    for place, table in tables.items():
        top, _, name = place.partition(".")
        found[top][name] = table
    return found


def _format_table(place: str, table: Mapping[str, Any]) -> str:
    top, _, name = place.partition(".")
    lines = [f"{format_key(key)} = {format_toml(value)}\n" for key, value in table.items()]
    return f"\n[{top}.{format_key(name)}]\n{''.join(lines)}"
