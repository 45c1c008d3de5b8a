"""`[hooks]` and `[pools.NAME.hooks]`: commands that are told what became of tasks and schedules.

What they are told, and when, stands in `model/notice` and `engine/notices`.
"""

from __future__ import annotations

import msgspec

from cronoq_cli.config.values import CommandWords, PositiveSeconds, Table
from cronoq_cli.model.notice import HOOK_NAMES, Told

HOOK_LIMIT_S = 30.0


class HookSettings(Table, frozen=True, kw_only=True):
    """Commands by the notice they are run for; a list is executed as given, a text is a shell line.

    What a pool does not say is as in `[hooks]`; what a schedule says itself comes before both."""

    on_failure: CommandWords | None = None
    """Run when something failed for good, once an incident; a list is executed as given, a text is a shell line.
    Example: "mail -s 'a task failed' me\""""
    on_missed: CommandWords | None = None
    """Run when something did not run at all, once an incident. Example: "logger -t cronoq missed\""""
    on_late: CommandWords | None = None
    """Run when something started behind its tolerance or ended behind its deadline, once an incident.
    Example: "logger -t cronoq late\""""
    on_recovery: CommandWords | None = None
    """Run when the success comes that closes an incident. Example: "mail -s 'it works again' me\""""
    on_success: CommandWords | None = None
    """Run at each success. Example: "logger -t cronoq done\""""
    on_end: CommandWords | None = None
    """Run whenever something ran and ended, well or badly. Example: "gzip -k $CRONOQ_LOG\""""
    timeout_s: PositiveSeconds | None = msgspec.field(default=None, name="timeout")
    """How long a hook may run before it is ended with its group; 30 s without it. Example: "1m\""""

    def find_command(self, told: Told) -> list[str] | str | None:
        """The command for a notice, None where there is none."""
        found: list[str] | str | None = getattr(self, HOOK_NAMES[told])
        return found

    def over(self, under: HookSettings) -> HookSettings:
        """These settings, and where they say nothing those of `under`."""
        said = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(under, **said)

    @property
    def told(self) -> frozenset[Told]:
        """The notices there is a command for."""
        return frozenset(told for told in Told if self.find_command(told) is not None)
