"""The daemon as a service of the user's systemd: the unit's text, where it lies, and the manager that runs it.

What the daemon tells the manager while it runs is in daemon/systemd.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from cronoq_cli.client.daemon_command import build_command
from cronoq_cli.config.paths import Paths
from cronoq_cli.errors import ConflictError, CronoqError, ExitStatus

USUAL_NAME = "cronoq.service"
ANSWERS_WITHIN_S = 150.0
"""As long as the slowest start may take (`TimeoutStartSec` of the unit is less)."""
WATCHDOG_S = 60
STOPS_AFTER_S = 60

_UNIT = """\
# Written by: cronoq daemon install. To change it: systemctl --user edit {name}
[Unit]
Description={description}
Documentation=man:cronoq(1)

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{environment}# Only the daemon itself is stopped: tasks run under a runner of their own, and go on without it.
KillMode=process
OOMPolicy=continue
TasksMax=infinity
Restart=on-failure
RestartSec=1
# A daemon runs already, or the configuration or the store is wrong: no use in trying again.
RestartPreventExitStatus={conflict} {invalid}
WatchdogSec={watchdog}
WatchdogSignal=SIGKILL
TimeoutStartSec=120
TimeoutStopSec={stop}

[Install]
WantedBy=default.target
"""


def unit_name(paths: Paths) -> str:
    """The unit of this cronoq: each home has one of its own."""
    if paths.home is None:
        return USUAL_NAME
    return f"cronoq-{hashlib.sha256(os.fsencode(paths.home)).hexdigest()[:12]}.service"


def unit_dir(env: Mapping[str, str]) -> str:
    """Where a user's units lie (systemd.unit(5))."""
    config = env.get("XDG_CONFIG_HOME", "")
    return os.path.join(config if config.startswith("/") else os.path.join(_home(env), ".config"), "systemd", "user")


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def find_unit(paths: Paths, env: Mapping[str, str]) -> str | None:
    """The file of the installed unit; None when there is none."""
    place = os.path.join(unit_dir(env), unit_name(paths))
    return place if os.path.isfile(os.fsencode(place)) else None


def format_unit(paths: Paths, env: Mapping[str, str], stop_timeout_s: float) -> str:
    """The text of the unit. `stop_timeout_s`: how long tasks are given to end (`daemon.stop_timeout`)."""
    description = "cronoq, the queue and the schedules of this user"
    if paths.home is not None:
        description += f", in {paths.home}"
    return _UNIT.format(
        name=unit_name(paths),
        description=_escape(description.replace("\n", " ")),
        command=" ".join(_quote(word) for word in build_command(paths, "--foreground")),
        environment=_format_environment(env),
        conflict=int(ExitStatus.CONFLICT),
        invalid=int(ExitStatus.INVALID),
        watchdog=WATCHDOG_S,
        stop=int(stop_timeout_s) + STOPS_AFTER_S,
    )


def _format_environment(env: Mapping[str, str]) -> str:
    """Where the package is, when the interpreter alone would not find it: a checkout that is not installed."""
    spec = find_spec("cronoq_cli")
    root = os.path.dirname(os.path.dirname(spec.origin)) if spec is not None and spec.origin else ""
    named = [os.path.abspath(place) for place in env.get("PYTHONPATH", "").split(os.pathsep) if place]
    if root not in named or root in sys.path[len(named) + 1 :]:
        return ""
    return f"Environment={_quote_plain(f'PYTHONPATH={root}')}\n"


def _escape(text: str) -> str:
    return text.replace("%", "%%")


def _quote_plain(text: str) -> str:
    """A word of a unit's line (systemd.syntax(7))."""
    escaped = _escape(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"' if any(char in " \t\n\"'\\;" for char in text) or not text else escaped


def _quote(text: str) -> str:
    """A word of a command line, in which variables would be filled in."""
    return _quote_plain(text).replace("$", "$$")


# The manager


def is_manager_here(env: Mapping[str, str]) -> bool:
    """Whether a systemd of this user runs."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    return runtime.startswith("/") and os.path.exists(os.path.join(runtime, "systemd", "private"))


def need_manager(env: Mapping[str, str]) -> None:
    """Raises ConflictError where there is no systemd of this user."""
    if not is_manager_here(env):
        raise ConflictError(
            "there is no systemd for users here (nothing at $XDG_RUNTIME_DIR/systemd/private)",
            hint="cronoq daemon install --print shows the unit; without a service the next command starts the daemon",
        )


def ask_manager(env: Mapping[str, str], *words: str) -> str:
    """What `systemctl --user` prints. Raises ConflictError with what it says when it fails."""
    try:
        done = subprocess.run(
            ("systemctl", "--user", *words),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWERS_WITHIN_S,
            check=False,
        )
    except OSError as error:
        raise ConflictError(
            f"systemctl cannot be run: {error.strerror}", hint="cronoq daemon install --print only shows the unit"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ConflictError(f"systemctl --user {words[0]} does not come to an end", hint="try it by hand") from error
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"it ended with {done.returncode}"
        raise ConflictError(f"systemctl --user {' '.join(words)}: {said}", hint="journalctl --user may say more")
    return done.stdout


def write_unit(paths: Paths, env: Mapping[str, str], text: str) -> str:
    """Put the unit in its place, whole or not at all; where that is. Raises ConflictError."""
    place = os.path.join(unit_dir(env), unit_name(paths))
    try:
        os.makedirs(os.fsencode(os.path.dirname(place)), exist_ok=True)
        with open(os.fsencode(f"{place}.new"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(os.fsencode(f"{place}.new"), os.fsencode(place))
    except OSError as error:
        raise ConflictError(
            f"cannot write {place}: {error.strerror}", hint="its directory must be yours to write to"
        ) from error
    return place


def start_service(paths: Paths, env: Mapping[str, str]) -> bool:
    """Whether the installed unit has started the daemon; false where there is none, or it could not."""
    if find_unit(paths, env) is None or not is_manager_here(env):
        return False
    with contextlib.suppress(CronoqError):
        ask_manager(env, "start", unit_name(paths))
        return True
    return False
