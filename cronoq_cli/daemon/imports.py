"""What commands load only when they need it: a daemon has it all before it is ready, so that a reinstall under it does
no harm. Nothing else is done here.
"""

from __future__ import annotations

from importlib import import_module

from cronoq_cli.engine.cron import parse_cron
from cronoq_cli.model.moment import load_zone

LATER = (
    "concurrent.futures.thread",  # of asyncio.to_thread
    "cronoq_cli.commands.render.schedule_plan",
    "cronoq_cli.engine.recurrence",
)


def finish() -> None:
    """Import it, and what comes with the first use: the list of zones, and the parser of expressions."""
    for name in LATER:
        import_module(name)
    load_zone("UTC")
    parse_cron("@daily")
