"""What a daemon imports only when it listens already, while no client wants anything of it: the first answer does not
wait for it, and no later request has to, nor meets a reinstalled package. Nothing else is done here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from cronoq_cli.commands.verb_files import HIDDEN_FILES, VERB_FILES
from cronoq_cli.engine.cron import parse_cron
from cronoq_cli.model.moment import load_zone

log = logging.getLogger(__name__)

EARLY = (
    "pathlib",
    "shutil",
    "typer",
    "cronoq_cli.commands.app",
    "cronoq_cli.commands.options",
    "cronoq_cli.commands.submission",
    "cronoq_cli.commands.render.tables",
    "cronoq_cli.commands.schedule_table",
    "cronoq_cli.commands.recurring_add",
    "cronoq_cli.commands.recurring_change",
    "cronoq_cli.commands.recurring_edit",
    "croniter",
)
"""The parser of lines, and large parts of what the verbs import, for steps of their own."""
FIRST_WORD_S = 0.005
"""Soon after readiness comes what the client wants that has started the daemon: it asks by a request, not by a line."""
QUIET_S = 0.05
"""So long no client must have said anything before the next step: most take a few ms, some up to 50."""
LONGEST_WAIT_S = 10.0
"""After so long clients that ask on and on are not minded any more."""
LATER = (
    "cronoq_cli.commands.render.notes",
    "cronoq_cli.engine.endings",
    "cronoq_cli.engine.explain",
    "concurrent.futures.thread",  # of asyncio.to_thread
    "cronoq_cli.commands.render.schedule_plan",
    "cronoq_cli.config.lines",
    "cronoq_cli.engine.recurrence",
    "difflib",
    "glob",
    "hashlib",
    "tomllib",
    "urllib.parse",
)
"""What commands and handlers load only when they need it."""


def list_steps() -> Iterator[Callable[[], object]]:
    """All of it in small steps, and what comes with the first use: the parsers of the verbs, the list of zones, and the
    parser of expressions."""
    for name in EARLY:
        yield partial(import_module, name)
    for name in (*VERB_FILES, *HIDDEN_FILES):
        yield partial(_build_command, name)
    for name in LATER:
        yield partial(import_module, name)
    yield partial(load_zone, "UTC")
    yield partial(parse_cron, "@daily")


def _build_command(name: str) -> None:
    from cronoq_cli.commands.app import build_command  # imported by a step, as all else here

    build_command(name)


async def finish(find_heard_at: Callable[[], float] = lambda: float("-inf")) -> None:
    """Import it; what has come for the loop meanwhile has its turn between any two steps.

    `find_heard_at`: when a client has last said anything, by the monotonic clock."""
    await asyncio.sleep(FIRST_WORD_S)
    deadline = time.monotonic() + LONGEST_WAIT_S
    for step in list_steps():
        while (now := time.monotonic()) < deadline and now < find_heard_at() + QUIET_S:
            await asyncio.sleep(QUIET_S)
        try:
            step()
        except ImportError as error:  # the package is taken away, or replaced, at this moment: who needs it is told
            log.error("a part of cronoq could not be loaded: %s", error)
        await asyncio.sleep(0)
