"""What is written of the configuration comes from its declarations: no key without a word, no example that is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from cronoq_cli.config.declared import Section, explain_fields, list_sections
from cronoq_cli.config.loading import parse_settings, read_setting
from cronoq_cli.config.pools import WorkerRange
from cronoq_cli.config.settings import Settings
from cronoq_cli.config.template import format_template, write_template
from cronoq_cli.config.values import Table
from cronoq_cli.errors import ConflictError

SECTIONS = list_sections()
TEMPLATE = format_template()


def list_tables(kind: type[Table]) -> set[type[Table]]:
    return {kind, *(kind for one in SECTIONS for kind in (one.kind,)), WorkerRange}


@pytest.mark.parametrize("kind", sorted(list_tables(Settings), key=lambda kind: kind.__name__))
def test_every_key_says_what_it_means(kind: type[Table]) -> None:
    explained = explain_fields(kind)
    for field in msgspec.structs.fields(kind):
        text, _ = explained[field.name]
        assert text.endswith((".", ",")), f"{kind.__name__}.{field.name}: {text!r} is no sentence"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.header)
def test_every_key_of_a_table_has_a_default_or_an_example_that_is_read(section: Section) -> None:
    declared = {field.encode_name for field in msgspec.structs.fields(section.kind)}
    below = {one.header.strip("[]").split(".")[-1] for one in SECTIONS}
    assert {key.name for key in section.keys} >= declared - below
    for key in section.keys:
        assert key.default is not None or key.example is not None, f"{key.name}: write `Example: VALUE` at its end"
        for text in filter(None, (key.default, key.example)):
            read_setting(section.kind, key.name, tomllib.loads(f"x = {text}")["x"])


def test_a_new_file_changes_nothing() -> None:
    assert parse_settings(TEMPLATE.encode(), "new") == Settings()


def test_a_new_file_has_every_table_and_every_key_behind_a_sign_that_can_be_taken_away() -> None:
    for section in SECTIONS:
        assert re.search(rf"(?m)^#?{re.escape(section.header)}$", TEMPLATE)
        for key in section.keys:
            assert re.search(rf"(?m)^#{key.name} = ", TEMPLATE)
    alone = "\n".join(line for line in TEMPLATE.splitlines() if not line.startswith(("#rate", "#burst")))
    opened = re.sub(r"(?m)^#(?! )", "", alone)
    # Where default and example stand below each other, the later one counts.
    lines = opened.splitlines()
    kept = [line for line, after in zip(lines, [*lines[1:], ""], strict=True) if after != "# or for example:"]
    settings = parse_settings("\n".join(kept).encode(), "opened")
    assert settings.pools["default"].workers == WorkerRange(min=1, start=2, max=8)
    assert settings.groups["mail"].command == ["send-all"]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "config.toml"
    write_template(str(place))
    assert place.read_text() == TEMPLATE
    assert place.stat().st_mode & 0o777 == 0o600
    place.write_text("mine")
    with pytest.raises(ConflictError, match="is there already"):
        write_template(str(place))
    assert place.read_text() == "mine"
