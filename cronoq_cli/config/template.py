"""The file that `config init` writes: every key there is, commented out at its default, with what it means."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator

from cronoq_cli.config.declared import Key, Section, list_sections
from cronoq_cli.errors import ConflictError, InvalidError

WIDTH = 100
HEAD = """\
# The configuration of cronoq. Everything can be left out; what is commented out stands at its default, or as an
# example where there is none. Durations are "90s", "1h30m", "2d", "500ms" or plain seconds; sizes "64MiB" or bytes.
# Take the # away before a key to change it (and before its [table], where that has one). Then:
#   cronoq config check     says what is wrong, and where
#   cronoq daemon reload    takes it, whole or not at all
"""


def format_template() -> str:
    """The text of a new configuration file; as it is written it changes nothing."""
    return HEAD + "".join(f"\n{_format_section(section)}" for section in list_sections())


def _format_section(section: Section) -> str:
    header = section.header if section.can_be_empty else f"#{section.header}"
    lines = [*_comment(section.help), header]
    for key in section.keys:
        lines += ["", *_comment(key.help), *_format_key(key)]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _format_key(key: Key) -> Iterator[str]:
    if key.default is not None:
        yield f"#{key.name} = {key.default}"
    if key.example is not None:
        if key.default is not None:
            yield "# or for example:"
        yield f"#{key.name} = {key.example}"


def write_template(path: str) -> None:
    """Write the file with its directory. Raises ConflictError where there is one, InvalidError where it cannot be."""
    raw = os.fsencode(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_EXCL
    try:
        os.makedirs(os.path.dirname(raw), mode=0o700, exist_ok=True)
        with open(os.open(raw, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(format_template())
    except FileExistsError as error:
        raise ConflictError(
            f"{path} is there already", hint="cronoq config init --print shows what would be written"
        ) from error
    except OSError as error:
        raise InvalidError(
            f"cannot write {path}: {error.strerror}", hint="its directory must be yours to write to"
        ) from error
