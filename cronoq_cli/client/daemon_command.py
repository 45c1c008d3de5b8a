"""The command line and the environment that a daemon is started with, by us or by a service manager."""

from __future__ import annotations

import sys
from collections.abc import Mapping

TYPE_CHECKING = False  # as of `typing`: `head_start` has no time for it
if TYPE_CHECKING:
    from cronoq_cli.config.paths import Paths

PROGRAM = ("-P", "-m", "cronoq_cli.daemon")
"""`-P`: what lies in the working directory is no module of ours."""
WORDS_ON_STDIN = "--words-on-stdin"
"""The last word for a daemon that is to load its modules and to hear then what else it is told (`daemon/detach`)."""


def build_command(paths: Paths, *options: str) -> list[str]:
    """The command that is the daemon. Raises NoDaemonError when this interpreter does not know where it is."""
    from cronoq_cli.errors import NoDaemonError

    if not sys.executable:
        raise NoDaemonError(
            "this Python does not know its own file, so it cannot start a daemon with it",
            hint="install cronoq with another Python",
        )
    return [sys.executable, *PROGRAM, *build_options(paths, *options)]


def build_options(paths: Paths, *options: str) -> list[str]:
    """What the daemon is told: which home, and how."""
    return [*([] if paths.home is None else ["--home", paths.home]), *options]


def build_environment(env: Mapping[str, str], *, foreground: bool = False) -> dict[str, str]:
    """The caller's environment without what belongs to its own task or service."""
    kept = {name: value for name, value in env.items() if not name.startswith("CRONOQ_")}
    if not foreground:
        kept.pop("NOTIFY_SOCKET", None)
    return kept
