"""A scenario in JSON lines, to arrivals of a simulation: lines as of a batch, with `run_s`, `submit_at_s`, `exit_code`.

A line needs no command. What a line's other fields mean stands in `spec_options`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from cronoq_cli.commands.batch import Line, read_object
from cronoq_cli.commands.context import Context
from cronoq_cli.commands.planning import QueueSnapshot
from cronoq_cli.commands.spec_options import apply_options
from cronoq_cli.commands.submission import Command
from cronoq_cli.config.pools import DEFAULT_POOL
from cronoq_cli.engine.messages import Newcomer, WantedEdge
from cronoq_cli.engine.simulated import Arrival, PlannedRun
from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.ids import find_run
from cronoq_cli.model.task import TaskSpec
from cronoq_cli.model.words import RESERVED_KEY

REACTIONS = ("on_success", "on_failure", "on_end")
ANY_COMMAND = "task"
"""Names a task that is given neither a command nor a name."""


@dataclass(slots=True)
class _Scenario:
    """What has been read so far. `places`: the positions of those that have a key."""

    context: Context
    snapshot: QueueSnapshot
    arrivals: list[Arrival]
    places: dict[str, int]


def parse_scenario(text: str, context: Context, snapshot: QueueSnapshot) -> list[Arrival]:
    """The arrivals of a scenario, in the order of its lines. Raises InvalidError naming the line and the field."""
    scenario = _Scenario(context, snapshot, [], {})
    for number, raw in enumerate(text.split("\n"), 1):
        if raw.strip():
            try:
                _add(scenario, _parse_json(raw), number)
            except UsageError as error:
                raise InvalidError(f"line {number}: {error.message}", hint=error.hint) from error
    if not scenario.arrivals:
        raise InvalidError("there is no task in it", hint='write one object a line: {"name": "make", "run_s": 30}')
    return scenario.arrivals


def find_positions(refs: Iterable[str], arrivals: list[Arrival]) -> set[int]:
    """The positions that references mean: the N-th task, runs of them, keys, `last`. Raises InvalidError."""
    keys = {arrival.newcomer.spec.key: position for position, arrival in enumerate(arrivals)}
    return {position for ref in refs for position in _find(ref, keys, len(arrivals))}


def _parse_json(raw: str) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", str(error))
        raise UsageError(f"it is not JSON: {what}", hint='write one object a line: {"name": "make"}') from error
    if not isinstance(found, dict):
        raise UsageError("it is not an object", hint='write {"name": "make", "run_s": 30}')
    return found


def _add(scenario: _Scenario, found: dict[str, Any], number: int) -> None:
    run_s = _take_number(found, "run_s")
    at_s = _take_number(found, "submit_at_s") or 0.0
    exit_code = found.pop("exit_code", None)
    if exit_code is not None and (type(exit_code) is not int or not 0 <= exit_code <= 255):
        raise UsageError(f"exit_code: {exit_code!r} is not a code", hint="codes are from 0 to 255")
    if found.get("command") is None and found.get("shell") is None:
        found["command"] = [str(found.get("name") or found.get("kind") or ANY_COMMAND)]
    spec = _build_spec(scenario, read_object(found, number), at_s)
    position = len(scenario.arrivals)
    if spec.key is not None:
        scenario.places.setdefault(spec.key, position)
    run = PlannedRun(run_s, exit_code or 0, scenario.snapshot.find_timeout_s(spec))
    edges = _resolve(scenario, spec, position)
    scenario.arrivals.append(Arrival(Newcomer(spec, edges), at_s=at_s, run=run, what=f"line {number}"))


def _take_number(found: dict[str, Any], name: str) -> float | None:
    value = found.pop(name, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise UsageError(f"{name}: {value!r} is no number of seconds", hint="write it like 12.5")
    return float(value)


def _build_spec(scenario: _Scenario, line: Line, at_s: float) -> TaskSpec:
    """The spec of a line. Times such as `+2h` count from its submission."""
    for name in REACTIONS:
        if name in line.given:
            raise UsageError(f"{name}: reactions are tasks of their own", hint="write them as lines with after")
    spec = TaskSpec(name="", pool=DEFAULT_POOL, cwd=scenario.context.cwd)
    at = scenario.context.now() + at_s
    then = msgspec.structs.replace(scenario.context, now=lambda: at)
    apply_options(spec, line.given, then, style=lambda name: name.rstrip("_"))
    return Command(line.command, line.shell_line).put(spec)


def _resolve(scenario: _Scenario, spec: TaskSpec, position: int) -> list[WantedEdge]:
    """The dependencies as positions in the scenario: of lines above, by number, key or `last`."""
    edges = []
    for dependency in spec.after:
        for target in _find(dependency.ref, scenario.places, position):
            if target >= position:
                raise UsageError(f"after: {dependency.ref} is not above this line", hint="write that task first")
            edges.append(WantedEdge(dependency.condition, index=target))
    return edges


def _find(ref: str, keys: Mapping[Any, int], count: int) -> list[int]:
    run = find_run(ref)
    if run is not None:
        if run[0] < 1 or run[-1] > count:
            raise UsageError(f"there is no task {ref} here", hint=f"tasks are numbered 1 to {count} in their order")
        return [number - 1 for number in run]
    if ref == RESERVED_KEY:
        if count == 0:
            raise UsageError("there is no task before the first", hint="write that task first")
        return [count - 1]
    if ref not in keys:
        raise UsageError(f"no task here has the key {ref!r}", hint="name tasks by their number, their key, or last")
    return [keys[ref]]
