"""The full way as a process: streams, exits, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.client.main import find_cwd
from tests.client.harness import FAKE_DAEMON, PATIENCE_S, ROOT, Client

FULL = f"""
import sys
from cronoq_cli.client import launch, main as full
launch.build_command = lambda paths, *o: [sys.executable, {str(FAKE_DAEMON)!r}, "--home", paths.home, *o]
import posix
posix._exit(full.main())
"""


def run(home: Path, *words: str, code: str = FULL, env: dict[str, str] | None = None, **more: Any) -> Any:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CRONOQ_HOME": str(home)} | (env or {})
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    command = [sys.executable, "-P", "-c", code, *words]
    return subprocess.run(command, env=variables, timeout=PATIENCE_S, check=False, **(options | more))


def raising(statement: str) -> str:
    """The full way, where the application does `statement` instead of its work."""
    patch = f"def run_line(argv, context):\n    {statement}\nfull.run_line = run_line\n"
    return FULL.replace("import posix\n", patch + "import posix\n")


def test_help_and_version_need_no_daemon(home: Path) -> None:
    done = run(home, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"cronoq 0.1.0\n", b"")
    assert b"submit" in run(home, "--help").stdout
    assert not home.exists()


def test_bad_words_are_exit_2_on_one_line(home: Path) -> None:
    done = run(home, "ls", "--colour-of-the-sky")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"cronoq: ") and done.stderr.count(b"\n") == 1


def test_without_a_daemon_reads_answer_with_one_document_and_a_note(home: Path) -> None:
    done = run(home, "ls", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["tasks"] == []
    assert done.stderr == b"cronoq: no daemon runs; this is what its store says\n"


def test_an_error_with_json_is_one_document(home: Path) -> None:
    done = run(home, "cancel", "7", "--json", env={"CRONOQ_NO_AUTOSTART": "1"})
    assert done.returncode == 5
    document = json.loads(done.stdout)
    assert document["schema"] == 1 and document["error"]["code"] == "no-daemon" and document["error"]["exit"] == 5


def test_a_home_that_cannot_be_used_is_exit_7(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "home", "submit", "--", "true")
    assert done.returncode == 7 and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("raise RuntimeError('one\\ntwo')", 125, b"cronoq: internal error: RuntimeError: one two"),
        ("raise OSError(28, 'No space left on device', '/a/file')", 125, b"cronoq: /a/file: No space left on device\n"),
        ("raise KeyboardInterrupt", 130, b""),
        ("raise BrokenPipeError", 141, b""),
    ],
)
def test_whatever_is_raised_ends_in_a_line_and_a_status(home: Path, statement: str, status: int, said: bytes) -> None:
    done = run(home, "ls", code=raising(statement))
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.startswith(said) and done.stderr.count(b"\n") == (1 if said else 0)


def test_only_for_finding_defects_there_is_a_traceback(home: Path) -> None:
    done = run(home, "ls", code=raising("raise RuntimeError('x')"), env={"CRONOQ_DEBUG": "1"})
    assert b"Traceback" in done.stderr


def test_foreign_bytes_pass_through(home: Path) -> None:
    done = run(home, "ls", code=raising(r"context.out.write('\udcff é\n'); return 0"), env={"LC_ALL": "C"})
    assert done.stdout == b"\xff \xc3\xa9\n"


def test_a_reader_that_has_gone_ends_it_quietly(home: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run(home, "--help", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_told_and_never_a_success(home: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = run(home, "--version", stdout=full)
    assert (done.returncode, done.stderr) == (125, b"cronoq: cannot write the answer: No space left on device\n")


def test_an_interrupt_while_waiting_is_130_without_a_word(home: Path) -> None:
    Client(home).start()
    work = "context.streams.wait(WaitTasks(select=Selector(all=True)), None)"
    code = raising(f"print('here', flush=True); {work}")
    code = "from cronoq_cli.wire.requests import Selector, WaitTasks\n" + code
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CRONOQ_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (130, b"")


def test_a_deleted_working_directory_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("PWD", str(gone))
    assert find_cwd() == str(gone)
    monkeypatch.setenv("PWD", "nowhere")
    assert find_cwd() == "/"
    monkeypatch.chdir("/")
