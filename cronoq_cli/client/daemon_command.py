"""The command line and the environment that a daemon is started with, by us or by a service manager."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from cronoq_cli.config.paths import Paths
from cronoq_cli.errors import NoDaemonError


def build_command(paths: Paths, *options: str) -> list[str]:
    """The command that is the daemon. `-P`: what lies in the working directory is no module of ours.

    Raises NoDaemonError when this interpreter does not know where it is.
    """
    if not sys.executable:
        raise NoDaemonError(
            "this Python does not know its own file, so it cannot start a daemon with it",
            hint="install cronoq with another Python",
        )
    home = [] if paths.home is None else ["--home", paths.home]
    return [sys.executable, "-P", "-m", "cronoq_cli.daemon", *home, *options]


def build_environment(env: Mapping[str, str], *, foreground: bool = False) -> dict[str, str]:
    """The caller's environment without what belongs to its own task or service."""
    kept = {name: value for name, value in env.items() if not name.startswith("CRONOQ_")}
    if not foreground:
        kept.pop("NOTIFY_SOCKET", None)
    return kept
