"""The options of `recurring import`: what is imported, and what is done with the caller's own crontab."""

from __future__ import annotations

from typing import Annotated

import msgspec

from cronoq_cli.commands.declare import option
from cronoq_cli.errors import UsageError


class ImportOptions(msgspec.Struct):
    """What is imported, and how."""

    crontab: Annotated[bool, option("--crontab", help="Your crontab, as crontab -l prints it; added paused.")] = False
    system: Annotated[bool, option("--system", help="The file has a column with the user, as /etc/crontab.")] = False
    takeover: Annotated[
        bool, option("--takeover", help="With --crontab: comment the lines out there and start them here.")
    ] = False
    give_back: Annotated[
        bool, option("--give-back", help="With --crontab: undo --takeover; the lines run there again.")
    ] = False
    dry_run: Annotated[bool, option("--dry-run", help="Only say what would become of each line.")] = False
    paused: Annotated[bool, option("--paused", help="Add new schedules paused.")] = False

    def check(self, file: str | None) -> None:
        """Refuse what contradicts itself."""
        if self.crontab == (file is not None):
            raise UsageError("name a file, - for stdin, or --crontab", hint="use one of them")
        for given, name in ((self.takeover, "--takeover"), (self.give_back, "--give-back")):
            if given and not self.crontab:
                raise UsageError(f"{name} without --crontab", hint="only your own crontab can be changed")
            if given and self.paused:
                raise UsageError(f"{name} with --paused", hint="use one of them")
        if self.takeover and self.give_back:
            raise UsageError("--takeover with --give-back", hint="use one of them")
        if self.system and self.crontab:
            raise UsageError("--system with --crontab", hint="your crontab has no column with the user")
