"""Which runners of a cronoq live, without a daemon to ask: by the locks that they hold."""

from __future__ import annotations

import contextlib
import fcntl
import os

from cronoq_cli.config.paths import Paths
from cronoq_cli.logs.files import open_regular


def list_living_runners(paths: Paths) -> list[str]:
    """The journals that a living runner holds: what it has is not in any backup."""
    held = []
    try:
        names = sorted(name for name in os.listdir(paths.runner_dir) if name.endswith(".journal"))
    except OSError:
        return []
    for name in names:
        with contextlib.suppress(OSError), open_regular(os.path.join(paths.runner_dir, name)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(name)
    return held
