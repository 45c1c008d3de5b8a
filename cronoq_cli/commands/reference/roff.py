"""Text as man(7) wants it: escapes, paragraphs, lists. What the pages say stands in `pages`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_QUOTED = re.compile(r"`([^`]+)`")


def escape(text: str) -> str:
    """Text that is set as it is: hyphens as typed, nothing read as a request."""
    escaped = text.replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    escaped = escaped.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped


def prose(text: str) -> str:
    """Running text on lines of its own, what stands in backquotes in bold."""
    parts = _QUOTED.split(" ".join(text.split()))
    said = "".join(bold(part) if odd % 2 else _in_line(part) for odd, part in enumerate(parts))
    return f"\\&{said}" if said.startswith((".", "'")) else said


def _in_line(text: str) -> str:
    return text.replace("\\", "\\(rs").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")


def bold(text: str) -> str:
    """What is typed as it stands."""
    return f"\\fB{escape(text)}\\fR"


def italic(text: str) -> str:
    """What is replaced by something."""
    return f"\\fI{escape(text)}\\fR"


def title(name: str, section: int, version: str) -> str:
    """The head of a page."""
    return f'.TH "{escape(name.upper())}" {section} "" "cronoq {version}" "cronoq"\n'


def section(name: str) -> str:
    """A heading, of which the words are set in capitals; what stands in brackets is no word."""
    return f".SH {escape(name if name.startswith('[') else name.upper())}\n"


def subsection(name: str) -> str:
    """A heading below a heading."""
    return f".SS {escape(name)}\n"


def paragraphs(text: str) -> str:
    """Several paragraphs, parted by blank lines."""
    return "".join(f".PP\n{prose(part)}\n" for part in text.split("\n\n") if part.strip())


def entries(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of terms (set already) and what they are (plain text, perhaps of several paragraphs)."""
    return "".join(_entry(term, text) for term, text in pairs)


def _entry(term: str, text: str) -> str:
    first, *more = [part for part in text.split("\n\n") if part.strip()] or [""]
    return f".TP\n{term}\n" + "\n.IP\n".join(prose(part) or "\\&" for part in (first, *more)) + "\n"


def example(lines: Iterable[str]) -> str:
    """Lines as they are typed."""
    shown = "\n".join(_typed(line) for line in lines)
    return f".PP\n.RS 4\n.nf\n{shown}\n.fi\n.RE\n" if shown else ""


def _typed(line: str) -> str:
    return escape(line) if line.strip() else ""


def page(parts: Iterator[str]) -> str:
    """A whole page."""
    return '.\\" Generated from the commands and the settings by: make docs\n' + "".join(parts)
