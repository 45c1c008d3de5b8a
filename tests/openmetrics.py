"""A strict reader of OpenMetrics text (version 1.0), by the rules of the format: what breaks one raises ValueError."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
ESCAPED = r'(?:[^"\\\n]|\\["\\n])*'
PAIR = re.compile(rf'([a-zA-Z_][a-zA-Z0-9_]*)="({ESCAPED})"')
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_][a-zA-Z0-9_]*="{ESCAPED}",?)*)\}})? (\S+)')
SUFFIXES = {"gauge": {""}, "counter": {"_total", "_created"}, "histogram": {"_bucket", "_count", "_sum", "_created"}}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Metrics:
    """One family as it was read: samples by suffix and labels."""

    name: str
    type: str
    unit: str | None = None
    help: str | None = None
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


def read_metrics(text: str) -> dict[str, Metrics]:
    """The families by name. Raises ValueError with the line."""
    if not text.endswith("\n# EOF\n"):
        raise ValueError("the text does not end in # EOF")
    families: dict[str, Metrics] = {}
    current: Metrics | None = None
    for line in text.removesuffix("# EOF\n").splitlines():
        if line.startswith("# "):
            current = _read_descriptor(line, families, current)
            continue
        if current is None:
            raise ValueError(f"a sample before its family: {line}")
        _read_sample(line, current)
    for family in families.values():
        _check(family)
    return families


def _read_descriptor(line: str, families: dict[str, Metrics], current: Metrics | None) -> Metrics:
    parts = line.split(" ", 3)
    if len(parts) != 4 or parts[1] not in ("TYPE", "UNIT", "HELP") or not re.fullmatch(NAME, parts[2]):
        raise ValueError(f"no descriptor: {line}")
    _, what, name, value = parts
    if what == "TYPE":
        if name in families or value not in SUFFIXES:
            raise ValueError(f"twice, or of no type: {line}")
        families[name] = Metrics(name, value)
        return families[name]
    if current is None or current.name != name or current.samples or getattr(current, what.lower()) is not None:
        raise ValueError(f"out of its place: {line}")
    if what == "UNIT" and not name.endswith(f"_{value}"):
        raise ValueError(f"the name has not its unit: {line}")
    setattr(current, what.lower(), value)
    return current


def _read_sample(line: str, family: Metrics) -> None:
    found = SAMPLE.fullmatch(line)
    if found is None:
        raise ValueError(f"no sample: {line}")
    name, labels, value = found.groups()
    suffix = name.removeprefix(family.name)
    if not name.startswith(family.name) or suffix not in SUFFIXES[family.type]:
        raise ValueError(f"not of {family.name}: {line}")
    pairs = PAIR.findall(labels or "")
    if labels is not None and ",".join(f'{key}="{text}"' for key, text in pairs) != labels:
        raise ValueError(f"labels: {line}")
    if len(dict(pairs)) != len(pairs):
        raise ValueError(f"a label twice: {line}")
    unescaped = tuple((key, re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)) for key, text in pairs)
    if (suffix, unescaped) in family.samples:
        raise ValueError(f"a sample twice: {line}")
    family.samples[suffix, unescaped] = float(value)


def _check(family: Metrics) -> None:
    if family.type == "counter" and any(value < 0 for value in family.samples.values()):
        raise ValueError(f"{family.name} counts below 0")
    if family.type == "histogram":
        _check_histogram(family)


def _check_histogram(family: Metrics) -> None:
    buckets: dict[Labels, list[tuple[float, float]]] = {}
    for (suffix, labels), value in family.samples.items():
        if suffix == "_bucket":
            bound = dict(labels)["le"]
            if bound != "+Inf" and "." not in bound and "e" not in bound:
                raise ValueError(f"{family.name}: the bound {bound} is not canonical")
            rest = tuple(pair for pair in labels if pair[0] != "le")
            buckets.setdefault(rest, []).append((float(bound), value))
    for labels, found in buckets.items():
        bounds, counts = zip(*found, strict=True)
        if list(bounds) != sorted(bounds) or bounds[-1] != inf or list(counts) != sorted(counts):
            raise ValueError(f"{family.name}: buckets out of order")
        if family.samples["_count", labels] != counts[-1] or ("_sum", labels) not in family.samples:
            raise ValueError(f"{family.name}: count or sum does not fit")
