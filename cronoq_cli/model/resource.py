"""Resources as text: names, amounts `NAME=AMOUNT`, rates `10/s`, and the variable that names the units given.

What there is of a resource, and who holds it, is the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cronoq_cli.errors import UsageError

RESOURCE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
NAME_HINT = "it starts with a letter or _ and goes on with letters, digits and _ . -"
RATE_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
"""Seconds of the time a rate is given for."""
RATE_HINT = "write it like 10/s, 5/m, 100/h or 0.5/s"
MOST = 1e9
"""No amount, no capacity and no rate (by the second) is larger: a mistyped number ends here."""
VARIABLE_PREFIX = "CRONOQ_RESOURCE_"

_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15}", re.ASCII)


def parse_amount(text: str) -> float:
    """An amount, more than zero; a fraction is allowed. Raises UsageError."""
    word = text.strip()
    amount = float(word) if _NUMBER.fullmatch(word) else 0.0
    if not 0 < amount <= MOST:
        raise UsageError(f"{text!r} is not an amount", hint="write a number more than zero")
    return amount


def parse_use(text: str) -> tuple[str, float]:
    """Name and amount of `NAME=AMOUNT`. Raises UsageError."""
    name, equals, amount = text.partition("=")
    if not equals:
        raise UsageError(f"{text!r} is not an amount of a resource", hint="write it as NAME=AMOUNT, like gpu=1")
    return parse_name(name), parse_amount(amount)


def parse_name(text: str) -> str:
    """The name of a resource itself, when it has the form of one. Raises UsageError."""
    if not RESOURCE_NAME.fullmatch(text):
        raise UsageError(f"{text!r} is not a name for a resource", hint=NAME_HINT)
    return text


def parse_rate(text: str) -> float:
    """Units a second of a rate such as `10/s`, `5/m`, `100/h`. Raises UsageError."""
    number, _, unit = (part.strip() for part in text.partition("/"))
    every_s = RATE_UNITS_S.get(unit)
    if every_s is None or not _NUMBER.fullmatch(number):
        raise UsageError(f"{text!r} is not a rate", hint=RATE_HINT)
    rate_s = float(number) / every_s
    if not 0 < rate_s <= MOST:
        raise UsageError(f"{text!r} is not a rate", hint=f"it must be more than zero; {RATE_HINT}")
    return rate_s


def format_rate(rate_s: float) -> str:
    """A rate by the shortest time that makes a plain number of it: `10/s`, `5/m`, `0.5/s`."""
    for unit, every_s in RATE_UNITS_S.items():
        number = rate_s * every_s
        if abs(number - round(number)) < 1e-9 * max(number, 1.0) and round(number) > 0:
            return f"{round(number)}/{unit}"
    return f"{format_amount(rate_s)}/s"


def format_amount(amount: float) -> str:
    """An amount without needless zeros: `2`, `0.5`."""
    return f"{amount:.12g}"


def variable_of(name: str) -> str:
    """The variable of a task's environment that names the units of a resource: `CRONOQ_RESOURCE_GPU`."""
    return VARIABLE_PREFIX + re.sub(r"[^A-Z0-9_]", "_", name.upper())


def format_units(units: Iterable[int]) -> str:
    """The units given to a task, as its environment has them: `0,1`."""
    return ",".join(str(unit) for unit in units)
