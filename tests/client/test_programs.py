"""The programs that the client runs for its caller: crontab and the editor, as fakes that PATH finds first."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cronoq_cli.client import programs
from cronoq_cli.errors import InvalidError

CRONTAB = """#!/bin/sh
file="$0.kept"
case "$1" in
  -l) if [ -f "$file" ]; then cat "$file"; else echo "no crontab for ann" >&2; exit 1; fi ;;
  -) cat > "$file.new"
     if grep -q refused "$file.new"; then echo "bad minute" >&2; exit 1; fi
     mv "$file.new" "$file" ;;
esac
"""
Write = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a program that PATH finds before all others."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    return write


def test_a_crontab_is_read_and_written_byte_for_byte(program: Write) -> None:
    program("crontab", CRONTAB)
    assert programs.read_crontab() == b"", "somebody who has none has an empty one"
    programs.write_crontab(b"0 1 * * * a \xff\n")
    assert programs.read_crontab() == b"0 1 * * * a \xff\n"


def test_a_crontab_that_is_refused_stays_as_it_was(program: Write) -> None:
    program("crontab", CRONTAB)
    programs.write_crontab(b"0 1 * * * a\n")
    with pytest.raises(InvalidError, match="crontab refused its new text: bad minute"):
        programs.write_crontab(b"refused\n")
    assert programs.read_crontab() == b"0 1 * * * a\n"


def test_a_crontab_program_that_changes_nothing_is_noticed(program: Write) -> None:
    program("crontab", "#!/bin/sh\ncat > /dev/null\necho old\n")
    with pytest.raises(InvalidError, match="has not changed"):
        programs.write_crontab(b"new\n")


def test_no_crontab_program_and_one_that_fails_are_one_line(program: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    program("crontab", "#!/bin/sh\necho 'you are not allowed' >&2\nexit 1\n")
    with pytest.raises(InvalidError, match="crontab -l: you are not allowed"):
        programs.read_crontab()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidError, match="cannot run crontab: No such file"):
        programs.read_crontab()


def test_an_editor_with_options_changes_the_text_and_leaves_no_file(program: Write, tmp_path: Path) -> None:
    program("ed it", '#!/bin/sh\n[ "$1" = --wait ] && printf "%s" more >> "$2"\n')
    (tmp_path / "files").mkdir()
    env = {"EDITOR": "'ed it' --wait"}
    assert programs.edit_text("text \udcff\n", ".toml", env) == "text \udcff\nmore"
    assert programs.edit_text("text\n", ".toml", {"VISUAL": "true", "EDITOR": "false"}) == "text\n"


def test_the_text_of_an_editor_that_fails_is_kept() -> None:
    with pytest.raises(InvalidError, match="ended with status 1") as caught:
        programs.edit_text("precious\n", ".toml", {"EDITOR": "false"})
    path = Path(str(caught.value.hint).removeprefix("the text is kept in "))
    assert path.read_text() == "precious\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.unlink()


def test_a_copy_is_private_and_a_new_file_each_time(tmp_path: Path) -> None:
    first, second = (programs.keep_copy(str(tmp_path / "state"), b"old", "crontab") for _ in range(2))
    assert first != second
    assert Path(first).read_bytes() == b"old"
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o600


def test_without_a_terminal_nobody_says_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert programs.ask_yes("again?") is False
