"""What SECURITY.md and the page of reliability say is tested, is: every test they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "SECURITY.md", ROOT / "docs" / "reliability.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_test_that_is_named_exists(page: Path) -> None:
    named = set(re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")))
    assert len(named) > 10
    defined: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        defined.update(re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.M))
    assert named - defined == set()
