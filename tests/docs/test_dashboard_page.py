"""docs/dashboard.md names every key, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from cronoq_cli.client.dashboard.keys import GROUPS

PAGE = (Path(__file__).parents[2] / "docs" / "dashboard.md").read_text(encoding="utf-8")


def test_the_page_has_exactly_the_keys_there_are() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(key.shown, key.does) for _, keys in GROUPS for key in keys]


def test_the_picture_fits_on_80_columns() -> None:
    picture = PAGE.split("```")[1].strip().splitlines()
    assert len(picture) <= 24
    assert max(map(len, picture)) <= 80
