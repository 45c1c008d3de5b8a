"""The hook that stands for a crontab's MAILTO: a shell line that mails what a run has printed, as cron does.

Text only: the line is built here when a crontab is imported, and run by the daemon as any other hook.
"""

from __future__ import annotations

import re
from shlex import quote

from cronoq_cli.errors import UsageError

LARGEST_MAIL = 1 << 20
"""Bytes of output in a mail; the log has all of it."""

_ADDRESSES = re.compile(r"[A-Za-z0-9_.+=/!%@:][A-Za-z0-9_.+=/!%@:,~ \t-]*", re.ASCII)
"""What cron takes as a MAILTO: letters, digits and a few signs, never a leading `-` (an option of sendmail)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


def parse_mailto(text: str) -> list[str]:
    """The addresses of a MAILTO, none of an empty one. Raises UsageError for what cron would not mail to either."""
    text = text.strip()
    if text and not _ADDRESSES.fullmatch(text):
        raise UsageError(f"{text!r} is not an address to mail to", hint="names and addresses, with commas between")
    addresses = [address for part in text.split(",") for address in part.split()]
    if any(address.startswith("-") for address in addresses):
        raise UsageError(f"{text!r}: an address does not begin with -", hint="names and addresses, with commas between")
    return addresses


def build_mail_hook(mailto: str, *, sendmail: str, user: str, host: str, command: str) -> str | None:
    """The shell line of the hook `on_end` that mails the log of a run; None where `mailto` is empty.

    As with cron nothing is mailed when nothing was printed, and the subject is `Cron <user@host> command`. The line
    needs CRONOQ_LOG in its environment. Nothing of what comes in is taken as shell: not even a hostile name. Raises
    UsageError as `parse_mailto`.
    """
    addresses = parse_mailto(mailto)
    if not addresses:
        return None
    headers = [
        f"From: {_one_line(user)} (Cron Daemon)",
        f"To: {', '.join(addresses)}",
        f"Subject: Cron <{_one_line(user)}@{_one_line(host)}> {_one_line(command)}",
        "Auto-Submitted: auto-generated",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "",
    ]
    words = " ".join(quote(header) for header in headers)
    head = f"{{ printf '%s\\n' {words}; head -c {LARGEST_MAIL} \"$CRONOQ_LOG\"; }}"
    return f'test ! -s "$CRONOQ_LOG" || {head} | {quote(sendmail)} -i -t'


def _one_line(text: str) -> str:
    """The text without what would begin another header."""
    return _CONTROL.sub(" ", text).strip()
