"""Small values people type: keys, tags, environment assignments, signals, exit codes, sizes.

Each `parse_` raises UsageError with one line that says what would be right. Durations, moments and ids have
modules of their own.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

from cronoq_cli.errors import UsageError

KEY_PATTERN = r"[A-Za-z_][A-Za-z0-9_.:@/+-]*"
RESERVED_KEY = "last"
HIGHEST_SIGNAL = 64

SIZE_UNITS: dict[str, int] = {
    "": 1,
    "b": 1,
    **{unit + tail: 1024**power for power, unit in enumerate("kmgt", 1) for tail in ("", "ib")},
    **{unit + "b": 1000**power for power, unit in enumerate("kmgt", 1)},
}
"""Bytes of each unit in lower case. As coreutils has it: K and KiB are 1024, KB is 1000."""

_KEY = re.compile(KEY_PATTERN)
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]*)")
_CODES = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_REAL_TIME = re.compile(r"(RTMIN|RTMAX)(?:([+-])([0-9]{1,2}))?")


MOST_NAMED = 40
"""So many known names are told; a home may have hundreds of schedules."""


def suggest(word: str, known: Iterable[str]) -> str | None:
    """The known name nearest to `word`, or None when none is near."""
    names = list(known)
    folded = {name.casefold(): name for name in names}
    if word.casefold() in folded:
        return folded[word.casefold()]
    import difflib  # only for who has mistyped something

    near = difflib.get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def hint_for(word: str, known: Iterable[str]) -> str:
    """The hint behind an unknown name: the nearest known one, else all of them."""
    names = list(known)
    near = suggest(word, names)
    if near:
        return f"did you mean {near}?"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return "known are: " + ", ".join(names[:MOST_NAMED]) + more


KEY_HINT = "submit --key gives one; --name selects by name"
"""The hint behind a key that no task has."""


def hint_for_schedule(name: str) -> str:
    """The hint where the name of a schedule stands in the place of a task."""
    return f"it is a schedule: --recurring {name} selects its runs; see cronoq recurring history {name}"


def parse_key(text: str) -> str:
    """The key itself, when it has the form of one and is not the word `last`."""
    if text == RESERVED_KEY:
        raise UsageError("a task cannot have the key 'last'", hint="'last' always means the newest task")
    if not _KEY.fullmatch(text):
        raise UsageError(
            f"{text!r} is not a key",
            hint="a key starts with a letter or _ and goes on with letters, digits and _ . : @ / + -",
        )
    return text


def is_key(text: str) -> bool:
    """Whether `text` could be the key of a task."""
    return text != RESERVED_KEY and _KEY.fullmatch(text) is not None


def parse_tag(text: str) -> tuple[str, str]:
    """Name and value of a tag `K=V`; the value may be empty and may contain `=`."""
    name, equals, value = text.partition("=")
    if not equals or not name or name != name.strip() or "\0" in text:
        raise UsageError(f"{text!r} is not a tag", hint="write it as NAME=VALUE")
    return name, value


def parse_label(text: str) -> tuple[str, str]:
    """Name and value of a label of workers `K=V`, as `--on` asks for it; the value may be empty."""
    try:
        return parse_tag(text)
    except UsageError as error:
        raise UsageError(f"{text!r} is not a label", hint=error.hint) from error


def parse_env_assignment(text: str) -> tuple[str, str | None]:
    """Name and value of `K=V`; the value is None for a bare `K`, which means the caller's own."""
    name, equals, value = text.partition("=")
    if not name or "\0" in text:
        raise UsageError(
            f"{text!r} does not set an environment variable", hint="write NAME=VALUE, or NAME to take it over"
        )
    return name, value if equals else None


def parse_signal(text: str) -> int:
    """The number of a signal given as `TERM`, `SIGTERM`, `RTMIN+1` or `15`."""
    word = text.strip().upper()
    if word.isascii() and word.isdigit():
        number = int(word) if len(word) < 4 else 0
        if 1 <= number <= HIGHEST_SIGNAL:
            return number
        raise UsageError(f"{text!r} is not a signal", hint=f"signals are 1 to {HIGHEST_SIGNAL}")
    bare = word.removeprefix("SIG")
    names = {item.name.removeprefix("SIG"): int(item) for item in signal.Signals}
    found = names.get(bare) or _find_real_time_signal(bare)
    if found is None:
        near = suggest(bare, names)
        raise UsageError(
            f"{text!r} is not a signal",
            hint=f"did you mean {near}?" if near else "write it like TERM, INT or 15",
        )
    return found


def _find_real_time_signal(name: str) -> int | None:
    match = _REAL_TIME.fullmatch(name)
    if match is None:
        return None
    base, sign, distance = match.groups()
    number = int(signal.SIGRTMIN if base == "RTMIN" else signal.SIGRTMAX)
    number += int(f"{sign}{distance}") if sign else 0
    return number if signal.SIGRTMIN <= number <= signal.SIGRTMAX else None


def format_signal(number: int) -> str:
    """The name of a signal, as `SIGTERM` or `SIGRTMIN+1`; the bare number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        if signal.SIGRTMIN < number < signal.SIGRTMAX:
            return f"SIGRTMIN+{number - signal.SIGRTMIN}"
        return str(number)


def parse_exit_codes(text: str) -> tuple[int, ...]:
    """The exit codes of a list such as `0,3,5-9`, sorted, each once; they lie in 0..255."""
    codes: set[int] = set()
    for part in text.split(","):
        match = _CODES.fullmatch(part.strip())
        first = int(match[1]) if match else 256
        last = int(match[2]) if match and match[2] else first
        if not first <= last <= 255:
            raise UsageError(
                f"{text!r} is not a list of exit codes: {part.strip()!r}",
                hint="write it like 0,3,5-9, within 0 to 255",
            )
        codes.update(range(first, last + 1))
    return tuple(sorted(codes))


def format_exit_codes(codes: Iterable[int]) -> str:
    """The shortest list that parses back to the same codes: `0,3,5-9`."""
    runs: list[list[int]] = []
    for code in sorted(set(codes)):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def parse_size(text: str) -> int:
    """Bytes of a size such as `1GiB`, `64MiB`, `500k`, `4096`; a fraction is rounded down to whole bytes."""
    match = _SIZE.fullmatch(text.strip())
    unit = match[2].lower() if match else None
    if match is None or unit not in SIZE_UNITS:
        raise UsageError(f"{text!r} is not a size", hint="write it like 64MiB, 1GiB, 500k, or as plain bytes")
    whole, _, fraction = match[1].partition(".")
    factor = SIZE_UNITS[unit]
    size = int(whole) * factor
    if fraction:
        size += int(int(fraction) * factor // 10 ** len(fraction))
    if size >= 1 << 63:
        raise UsageError(f"{text!r} is larger than any file can be", hint="write it like 64MiB or 1GiB")
    return size


def format_size(size: int) -> str:
    """A size in the largest binary unit with at most one decimal: `64MiB`, `1.5GiB`, `512B`."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.1f}".removesuffix(".0") + unit
        amount /= 1024
    return f"{amount:.1f}".removesuffix(".0") + "TiB"
