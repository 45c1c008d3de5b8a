"""The hook of a MAILTO, run by a real shell with a `sendmail` that keeps what it is given."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cronoq_cli.errors import UsageError
from cronoq_cli.model.mail_hook import build_mail_hook, parse_mailto


def run(tmp_path: Path, output: bytes, *, mailto: str = "alice", command: str = "true") -> tuple[str, list[str]] | None:
    """The mail and sendmail's arguments, or None when nothing was mailed."""
    sendmail = tmp_path / "the sendmail"
    sendmail.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\ncat > {tmp_path}/mail\n')
    sendmail.chmod(0o755)
    log = tmp_path / "log's $(touch hit)"
    log.write_bytes(output)
    line = build_mail_hook(mailto, sendmail=str(sendmail), user="bob", host="box", command=command)
    assert line is not None
    env = {"CRONOQ_LOG": str(log), "PATH": os.environ["PATH"]}
    done = subprocess.run(["/bin/sh", "-c", line], env=env, cwd=tmp_path, timeout=20, check=False)
    assert done.returncode == 0
    assert not (tmp_path / "hit").exists()
    if not (tmp_path / "mail").exists():
        return None
    return (tmp_path / "mail").read_text(), (tmp_path / "words").read_text().split("\n")[:-1]


def test_mail_has_crons_subject_and_the_output(tmp_path: Path) -> None:
    mail, words = run(tmp_path, b"line 1\n%s $HOME\n", mailto="alice, root@example.org", command="make 'all'") or (
        "",
        [],
    )
    head, _, body = mail.partition("\n\n")
    assert words == ["-i", "-t"]
    assert head.split("\n")[:3] == [
        "From: bob (Cron Daemon)",
        "To: alice, root@example.org",
        "Subject: Cron <bob@box> make 'all'",
    ]
    assert body == "line 1\n%s $HOME\n"


def test_nothing_is_mailed_when_nothing_was_printed(tmp_path: Path) -> None:
    assert run(tmp_path, b"") is None


@pytest.mark.parametrize(
    "command",
    ["$(touch hit)", "`touch hit`", "'; touch hit; '", '"; touch hit; "', "%s%n\\", "a\nBcc: eve@example.org\n\nx"],
)
def test_a_hostile_command_stays_in_the_subject(tmp_path: Path, command: str) -> None:
    mail, _ = run(tmp_path, b"x", command=command) or ("", [])
    head = mail.partition("\n\n")[0].split("\n")
    assert len(head) == 7
    assert head[2] == "Subject: Cron <bob@box> " + " ".join(command.split("\n")).replace("  ", " ").strip()


@pytest.mark.parametrize("mailto", ["-oQ/tmp", "a,-x", "a;b", "a\nBcc: b", "$(id)", "`id`", "|cat", "a'b", "<a@b>"])
def test_a_mailto_cron_would_not_take_is_refused(mailto: str) -> None:
    with pytest.raises(UsageError):
        parse_mailto(mailto)


def test_an_empty_mailto_means_no_mail() -> None:
    assert build_mail_hook(" ", sendmail="/usr/sbin/sendmail", user="u", host="h", command="c") is None
