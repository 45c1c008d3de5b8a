"""The rows of the table, by theme. Each yields figures; `ROWS` names them in the order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.measuring import Figure
from benchmarks.rows import commands, engine, idle, latency, scale, throughput

Row = Callable[[bool], Iterator[Figure]]
"""Takes whether it is to be quick: fewer repetitions and smaller sizes, the same ratios."""

ROWS: dict[str, Row] = {
    "commands": commands.measure,
    "terminal": commands.measure_terminal,
    "throughput": throughput.measure,
    "short-tasks": throughput.measure_short_tasks,
    "latency": latency.measure,
    "dispatch": latency.measure_dispatch,
    "slow-disk": latency.measure_slow_disk,
    "waiting": scale.measure_waiting,
    "finished": scale.measure_finished,
    "restart": scale.measure_restart,
    "fan-out": scale.measure_fan_out,
    "clients": scale.measure_clients,
    "slots": scale.measure_slots,
    "idle": idle.measure,
    "engine": engine.measure,
}
