"""Text that is safe on a terminal: what is not printable made visible, and how wide text is.

What people named, typed or printed comes from anywhere; nothing of it reaches a terminal without
`escape_for_terminal`. Aligning lives in `layout`, colour in `colour`.
"""

from __future__ import annotations

import unicodedata

_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
"""Categories that a terminal obeys, reorders text by, or cannot draw: controls, format characters
(among them all bidirectional ones), surrogates, what is unassigned, line and paragraph separators."""
_KNOWN_WIDTHS = 4096
_EMOJI_SIGN = "\ufe0f"


def escape_for_terminal(text: str) -> str:
    """The text with everything that is not printable made visible, on one line.

    Newline, tab and carriage return are `\\n`, `\\t`, `\\r`; other ASCII controls and bytes that are
    not UTF-8 `\\xNN`; other hidden characters `\\uNNNN`. Backslashes stay: commands are full of them.
    """
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(char: str) -> str:
    if char.isprintable() or unicodedata.category(char) not in _HIDDEN:
        return char
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display_width(text: str) -> int:
    """How many columns escaped text takes on a terminal; never less than it really does."""
    if text.isascii():
        return len(text)
    return sum(map(_WIDTHS.__getitem__, text))


class _Widths(dict[str, int]):
    """The widths of characters met so far, a few thousand at most: a table asks for the same ones again."""

    def __missing__(self, char: str) -> int:
        width = _char_width(char)
        if len(self) < _KNOWN_WIDTHS:
            self[char] = width
        return width


def _char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    if char == _EMOJI_SIGN:  # it makes the sign before it wide, where the terminal knows
        return 1
    return 0 if unicodedata.category(char) in ("Mn", "Me") else 1


_WIDTHS = _Widths()


def cut_to_width(text: str, width: int, mark: str = "…") -> str:
    """The text if it fits into `width` columns, else its beginning with `mark` behind it."""
    if display_width(text) <= width:
        return text
    if width <= len(mark):
        return mark[: max(width, 0)]
    if text.isascii():
        return text[: width - len(mark)] + mark
    return _take(text, width - len(mark)) + mark


def _take(text: str, width: int) -> str:
    """The longest beginning that fits into `width` columns."""
    used = 0
    for position, char in enumerate(text):
        used += _WIDTHS[char]
        if used > width:
            return text[:position]
    return text


def pad_left_aligned(text: str, width: int) -> str:
    """The text with blanks behind it up to `width` columns."""
    return text.ljust(width) if text.isascii() else text + " " * (width - display_width(text))


def pad_right_aligned(text: str, width: int) -> str:
    """The text with blanks before it up to `width` columns."""
    return text.rjust(width) if text.isascii() else " " * (width - display_width(text)) + text


def wrap_to_width(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, nothing lost: broken at blanks, else where it must be."""
    lines = []
    while display_width(text) > width:
        head = _take(text, width) or text[:1]
        blank = head.rfind(" ") if len(head) < len(text) and text[len(head)] != " " else len(head)
        if blank > len(head) // 2:
            head = head[:blank]
        lines.append(head)
        text = text[len(head) :].lstrip(" ")
    lines.append(text)
    return lines
