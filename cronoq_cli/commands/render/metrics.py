"""The text of metrics in the OpenMetrics format (version 1.0), with what must be escaped in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_IN_LABELS = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


def format_metrics(families: Iterable[Mapping[str, Any]]) -> str:
    """The whole text, `# EOF` at its end; the families as `model.metrics.describe_families` gives them."""
    return "".join(f"{line}\n" for family in families for line in _family_lines(family)) + "# EOF\n"


def _family_lines(family: Mapping[str, Any]) -> Iterator[str]:
    name = family["name"]
    yield f"# TYPE {name} {family['type']}"
    if family["unit"] is not None:
        yield f"# UNIT {name} {family['unit']}"
    yield f"# HELP {name} {_escape(family['help'])}"
    for sample in family["samples"]:
        labels = ",".join(f'{label}="{_escape(value)}"' for label, value in sample["labels"].items())
        yield f"{name}{sample['suffix']}{f'{{{labels}}}' if labels else ''} {_number(sample['value'])}"


def _escape(text: str) -> str:
    """A text within quotes; bytes that are no UTF-8, which the format cannot carry, become question marks."""
    shown = "".join(_IN_LABELS.get(char, char) for char in text)
    return shown.encode("utf-8", "replace").decode()


def _number(value: float) -> str:
    """Whole numbers without a fraction."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
