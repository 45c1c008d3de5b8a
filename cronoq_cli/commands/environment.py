"""The environment of a task: what is captured of the caller's, and what `-E`, `--env-file` and `--clean-env` change.

A captured environment is bytes, `K=V` ended by NUL, sorted, and known by its hash: the store keeps each once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from cronoq_cli.errors import InvalidError, UsageError
from cronoq_cli.model.words import parse_env_assignment

OWN_PREFIX = "CRONOQ_"
KEPT_OWN = "CRONOQ_HOME"
CLEAN_NAMES = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")
"""What `--clean-env` leaves of the caller's environment: who the user is and where programs are."""

NAME_HINT = "write NAME=VALUE, or NAME to take it over"


def capture_environment(env: Mapping[str, str], *, clean: bool = False) -> tuple[str, bytes]:
    """Id and bytes of the environment a task gets.

    The variables cronoq gave to an enclosing task are not the new task's, except the home that both belong to.
    """
    return pack_environment(select_variables(env, clean=clean))


def select_variables(env: Mapping[str, str], *, clean: bool = False) -> dict[str, str]:
    """What of the caller's environment a task gets, as `capture_environment` has it."""
    if clean:
        return {name: env[name] for name in CLEAN_NAMES if name in env}
    return {k: v for k, v in env.items() if not k.startswith(OWN_PREFIX) or k == KEPT_OWN}


def pack_environment(env: Mapping[str, str]) -> tuple[str, bytes]:
    """Id and bytes of exactly these variables."""
    text = "\0".join(sorted([f"{name}={value}" for name, value in env.items()]))
    blob = (text + "\0" if text else "").encode("utf-8", "surrogateescape")
    return hashlib.sha256(blob).hexdigest(), blob


def read_assignments(words: Iterable[str], env: Mapping[str, str]) -> dict[str, str | None]:
    """What the `-E` options set; a bare name takes over the caller's value, which must exist."""
    changes: dict[str, str | None] = {}
    for word in words:
        name, value = parse_env_assignment(word)
        changes[name] = _own_value(name, env) if value is None else value
    return changes


def _own_value(name: str, env: Mapping[str, str]) -> str:
    if name not in env:
        raise UsageError(f"{name} is not set here", hint="give it a value: NAME=VALUE")
    return env[name]


def parse_env_file(text: str, where: str, env: Mapping[str, str]) -> dict[str, str | None]:
    """The variables of an env file: `NAME=VALUE` a line, `#` comments, `export` in front and quotes around allowed.

    A bare name takes over the caller's value. Nothing is expanded. Raises InvalidError naming file and line.
    """
    changes: dict[str, str | None] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            name, value = parse_env_assignment(line.removeprefix("export ").lstrip())
            if not name.isprintable() or name != name.strip() or " " in name:
                raise UsageError(f"{name!r} is not the name of a variable", hint=NAME_HINT)
            changes[name] = _own_value(name, env) if value is None else _unquote(value)
        except UsageError as error:
            raise InvalidError(f"{where}, line {number}: {error.message}", hint=error.hint) from error
    return changes


def _unquote(value: str) -> str:
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
