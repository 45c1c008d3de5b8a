"""URLs to ping."""

from __future__ import annotations

import pytest

from cronoq_cli.errors import UsageError
from cronoq_cli.model.ping import Ping, parse_ping_url, ping_url


@pytest.mark.parametrize(
    ("base", "start", "fail"),
    [
        ("https://hc-ping.com/uuid", "https://hc-ping.com/uuid/start", "https://hc-ping.com/uuid/fail"),
        ("http://h:80/a/", "http://h:80/a/start", "http://h:80/a/fail"),
        ("https://h/k/slug?create=1", "https://h/k/slug/start?create=1", "https://h/k/slug/fail?create=1"),
        ("http://[::1]:8000", "http://[::1]:8000/start", "http://[::1]:8000/fail"),
    ],
)
def test_start_and_failure_stand_behind_the_path(base: str, start: str, fail: str) -> None:
    assert (ping_url(base, Ping.START), ping_url(base, Ping.FAILURE)) == (start, fail)
    assert ping_url(base, Ping.SUCCESS) == base


@pytest.mark.parametrize(
    "text",
    ["", "ftp://h/x", "file:///etc/passwd", "h/x", "https:///x", "http://h:port/", "http://h/a b", "http://[::1"],
)
def test_what_is_no_http_url_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_ping_url(text)
