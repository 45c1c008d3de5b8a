"""The caller's zone: names, rules, files, and what means nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronoq_cli.commands import zone
from cronoq_cli.commands.zone import load_caller_zone

SUMMER, WINTER = 1_750_000_000, 1_736_000_000


def hours(text: str, at: int) -> float:
    """The offset from UTC that a TZ gives at a moment."""
    offset = datetime.fromtimestamp(at, load_caller_zone({"TZ": text})).utcoffset()
    assert offset is not None
    return offset / timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "summer", "winter"),
    [
        ("Europe/Berlin", 2, 1),
        (":Asia/Tokyo", 9, 9),
        ("CET-1CEST,M3.5.0,M10.5.0/3", 2, 1),
        ("XYZ3", -3, -3),
        ("<+0330>-3:30", 3.5, 3.5),
        ("UTC", 0, 0),
        ("", 0, 0),
        ("No/Such_Zone", 0, 0),
        ("../../etc/passwd", 0, 0),
        ("/no/such/file", 0, 0),
        ("ü", 0, 0),
    ],
)
def test_a_zone_is_a_name_a_rule_or_nothing(text: str, summer: float, winter: float) -> None:
    assert (hours(text, SUMMER), hours(text, WINTER)) == (summer, winter)


def test_without_tz_the_machines_zone_is_followed_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "localtime"
    monkeypatch.setattr(zone, "MACHINE_ZONE", str(link))
    assert load_caller_zone({}) is UTC
    source = Path("/usr/share/zoneinfo")
    if not (source / "Asia/Tokyo").exists():
        pytest.skip("this machine has no compiled zones")
    for name, offset in (("Asia/Tokyo", 9), ("America/Lima", -5)):
        link.unlink(missing_ok=True)
        link.symlink_to(source / name)
        found = datetime.fromtimestamp(SUMMER, load_caller_zone({})).utcoffset()
        assert found == timedelta(hours=offset)
