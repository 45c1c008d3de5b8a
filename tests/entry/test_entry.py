"""The installed file as a process, against a socket whose answers the test chooses."""

from __future__ import annotations

import ast
import contextlib
import fcntl
import json
import os
import pty
import py_compile
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cronoq_cli
from cronoq_cli.client.main import BROKEN_PIPE
from cronoq_cli.config.paths import SOCKET_NAME, find_paths
from cronoq_cli.entry import fast
from cronoq_cli.errors import ExitStatus
from cronoq_cli.wire import codec, sockets
from cronoq_cli.wire.codec import CommandLine, FrameDecoder, LineAnswer
from cronoq_cli.wire.sockets import bind_unix
from cronoq_cli.wire.version import LINE_MARK, VERSION

ENTRY = Path(cronoq_cli.__file__).parent / "entry" / "cronoq"
PATIENCE_S = 30.0

FULL = """
import json, os, sys
def main(*, unanswered):
    begun = getattr(sys.modules.get("cronoq_cli.client.head_start"), "begun", None)
    print(json.dumps({"full": sys.argv[1:], "unanswered": unanswered, "path": sys.path, "begun": begun}))
    sys.stdout.flush()
    return 9
"""
BEGIN = """
import os
def begin(home, words, state_dir):
    global begun
    begun = [home, [*map(os.fsdecode, words)], os.fsdecode(state_dir)]
"""


class Daemon:
    """Accepts connections one after the other, notes the command line, answers with `reply(line)`: bytes, or None
    to hang until the test ends."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.listener = bind_unix(str(directory / SOCKET_NAME))
        self.lines: list[CommandLine] = []
        self.asked = threading.Event()
        self.reply: Callable[[CommandLine], bytes | None] = lambda line: codec.encode_line_answer(
            LineAnswer(0, b"out\n", b"err\n")
        )
        self.kept: list[socket.socket] = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            decoder = FrameDecoder(codec.TO_DAEMON)
            frames: list[codec.Frame] = []
            while not frames and (data := connection.recv(1 << 16)):
                frames = decoder.feed(data)
            self.lines += [codec.decode_line(frame.payload) for frame in frames]
            answer = self.reply(self.lines[-1])
            self.asked.set()
            if answer is None:
                self.kept.append(connection)
                continue
            with contextlib.suppress(OSError):
                connection.sendall(answer)
            connection.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(PATIENCE_S)
        for connection in self.kept:
            connection.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path / "home")
    yield one
    one.close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment of our own, with a package whose full way only says that it was taken."""
    package = tmp_path / "package" / "cronoq_cli" / "client"
    package.mkdir(parents=True)
    for directory in (package.parent, package):
        (directory / "__init__.py").touch()  # else any regular package of this name comes before it
    (package.parent / "entry").symlink_to(ENTRY.parent)  # imported where it is not compiled
    (package / "main.py").write_text(FULL)
    (package / "head_start.py").write_text(BEGIN)
    return {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "package"), "CRONOQ_HOME": str(tmp_path / "home")}


def run(environment: dict[str, str], *words: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, str(ENTRY), *words]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, env=environment, timeout=PATIENCE_S, check=False, **(options | more))


def full_way(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """What the stand-in of the full way said."""
    assert done.returncode == 9, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_the_answer_is_printed_and_its_status_is_the_exit(daemon: Daemon, environment: dict[str, str]) -> None:
    daemon.reply = lambda line: codec.encode_line_answer(LineAnswer(7, b"a\0b" * 100_000, b"note\n"))
    done = run(environment, "ls", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"a\0b" * 100_000, b"note\n")
    assert daemon.lines[0].argv == ["ls", "--json"]


def test_the_words_the_environment_and_the_place_arrive_byte_for_byte(
    daemon: Daemon, environment: dict[str, str], tmp_path: Path
) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    place.mkdir()
    done = run(environment | {"ODD": "\udcfe\n=x"}, "submit", b"--", b"a\xff b", "", "é", cwd=place, umask=0o027)
    assert done.returncode == 0
    (line,) = daemon.lines
    assert line.argv == ["submit", "--", "a\udcff b", "", "é"]
    assert line.env["ODD"] == "\udcfe\n=x"
    assert (line.cwd, line.umask, line.version) == (str(place), 0o027, VERSION)
    assert (line.stdin_tty, line.stdout_tty, line.stderr_tty, line.columns) == (False, False, False, None)


def test_terminals_are_told_with_their_width(daemon: Daemon, environment: dict[str, str]) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, 0x5414, b"\x18\0\x2a\0\0\0\0\0")  # TIOCSWINSZ: 24 rows, 42 columns
    try:
        assert run(environment, "ls", stdout=follower, stderr=follower).returncode == 0
    finally:
        os.close(leader)
        os.close(follower)
    (line,) = daemon.lines
    assert (line.stdin_tty, line.stdout_tty, line.stderr_tty, line.columns) == (False, True, True, 42)


def test_the_version_is_that_of_this_program_and_needs_nobody(environment: dict[str, str]) -> None:
    done = run(environment, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"cronoq %s\n" % VERSION.encode(), b"")


@pytest.mark.parametrize("form", [["--home", "{}", "ls"], ["--home={}", "ls"]])
def test_a_leading_home_chooses_the_daemon(
    daemon: Daemon, environment: dict[str, str], tmp_path: Path, form: list[str]
) -> None:
    del environment["CRONOQ_HOME"]
    assert run(environment, *[word.format(tmp_path / "home") for word in form]).returncode == 0
    assert daemon.lines[0].argv == ["ls"]


def test_a_relative_home_is_below_the_working_directory(
    daemon: Daemon, environment: dict[str, str], tmp_path: Path
) -> None:
    assert run(environment | {"CRONOQ_HOME": "home"}, "ls", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "words",
    [["--json", "--home", "x", "ls"], ["--home"], ["--home", "", "ls"], ["ls", "--home=x"], ["--home", "a/../b", "ls"]],
)
def test_any_other_home_goes_the_full_way(daemon: Daemon, environment: dict[str, str], words: list[str]) -> None:
    said = full_way(run(environment, *words))
    assert (said["full"], said["begun"]) == (words, None)
    assert daemon.lines == []


@pytest.mark.parametrize("runtime", [True, False])
def test_without_a_home_the_usual_places_are_tried(environment: dict[str, str], tmp_path: Path, runtime: bool) -> None:
    del environment["CRONOQ_HOME"]
    environment["XDG_RUNTIME_DIR"] = str(tmp_path / "run")
    there = tmp_path / "run" / "cronoq" if runtime else tmp_path / ".local" / "state" / "cronoq"
    one = Daemon(there)
    assert run(environment, "ls").returncode == 0
    one.close()


ODD_TEXT = ["", "rel/ative", "/x", "/x/", "/with space", "/ü\udcff"]


@pytest.mark.parametrize("state", [None, *ODD_TEXT])
@pytest.mark.parametrize("runtime", [None, *ODD_TEXT])
@pytest.mark.parametrize("home", [None, "", "/h", "/h/"])
def test_the_sockets_tried_are_those_of_the_rule_in_config(
    monkeypatch: pytest.MonkeyPatch, state: str | None, runtime: str | None, home: str | None
) -> None:
    variables = {"XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": runtime, "CRONOQ_HOME": home, "HOME": "/root"}
    environ = {name: value for name, value in variables.items() if value is not None}
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    paths = find_paths(None, environ)
    raw = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    tried = [os.path.normpath(os.fsdecode(path)) for path in fast.find_sockets(None, raw)]
    assert list(dict.fromkeys(tried)) == list(dict.fromkeys([paths.socket, paths.state_socket]))


def test_the_repeated_facts_are_those_of_their_rooms() -> None:
    assert os.fsencode(VERSION) == fast.VERSION
    assert fast.LINE_MARK == LINE_MARK
    assert os.fsencode(SOCKET_NAME) == fast.SOCKET_NAME
    assert fast.LONGEST_PATH == sockets._LONGEST_PATH
    assert fast.MAX_ANSWER == codec.MAX_ANSWER
    assert (fast.INTERNAL, fast.INTERRUPTED) == (ExitStatus.INTERNAL, ExitStatus.INTERRUPTED)
    assert fast.BROKEN_PIPE == BROKEN_PIPE


@pytest.mark.parametrize("file", [ENTRY, ENTRY.with_name("fast.py")])
def test_only_builtins_are_imported_on_the_fast_way(file: Path) -> None:
    tree = ast.parse(file.read_text())
    slow = {"go_full_way", "write"}
    quick = [part for part in tree.body if not (isinstance(part, ast.FunctionDef) and part.name in slow)]
    quick = [part for part in quick if not (isinstance(part, ast.If) and "TYPE_CHECKING" in ast.unparse(part.test))]
    imported = set()
    for node in (found for part in quick for found in ast.walk(part)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported <= {"posix", "sys", "marshal", "_socket", "_frozen_importlib_external"}


def marking(word: str) -> str:
    """A fast way that only says which one it is; always of one length."""
    return f"import posix, sys\ndef main():\n    posix.write(1, b'{word:8}')\n    posix._exit(0)\n"


@pytest.mark.parametrize("state", ["valid", "older", "longer", "damaged", "empty", "none"])
def test_compiled_code_is_used_only_when_it_is_that_of_its_source(
    environment: dict[str, str], tmp_path: Path, state: str
) -> None:
    source = tmp_path / "package" / "cronoq_cli" / "entry" / "fast.py"
    source.parent.unlink()
    source.parent.mkdir()
    source.write_text(marking("compiled") + ("#" if state == "longer" else ""))
    os.utime(source, (1000, 999 if state == "older" else 1000))
    cached = Path(py_compile.compile(str(source), doraise=True) or "")
    source.write_text(marking("source"))
    os.utime(source, (1000, 1000))
    if state == "damaged":
        cached.write_bytes(cached.read_bytes()[:40])
    elif state == "empty":
        cached.write_bytes(b"")
    elif state == "none":
        cached.unlink()
    said = run(environment, "ls").stdout.strip()
    assert said == (b"compiled" if state == "valid" else b"source")


def test_without_its_package_the_command_says_so(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-S", "-I", str(ENTRY), "ls"], capture_output=True, check=False)
    assert done.returncode == 1 and b"reinstall cronoq" in done.stderr and b"Traceback" not in done.stderr


def test_a_first_line_that_the_installer_rewrites() -> None:
    assert ENTRY.read_bytes().splitlines()[0] == b"#!python"


@pytest.mark.parametrize("why", [codec.STREAM, codec.NEWER_CLIENT, codec.OTHER_PROTOCOL, codec.STOPPING])
def test_the_daemon_can_send_the_line_the_full_way(daemon: Daemon, environment: dict[str, str], why: bytes) -> None:
    daemon.reply = lambda line: codec.encode_frame(codec.FULL_WAY, why)
    said = full_way(run(environment, "logs", "-f"))
    assert (said["full"], said["unanswered"]) == (["logs", "-f"], False)


def test_what_lies_beside_the_script_is_not_imported_on_the_full_way(environment: dict[str, str]) -> None:
    assert str(ENTRY.parent) not in full_way(run(environment, "ls"))["path"]


def test_without_a_daemon_it_is_the_full_way(environment: dict[str, str], tmp_path: Path) -> None:
    for _ in range(2):
        said = full_way(run(environment, "submit", "x"))
        assert said["unanswered"] is False
        assert said["begun"] == [None, ["submit", "x"], str(tmp_path / "home")]
        (tmp_path / "home").mkdir(exist_ok=True)
        bind_unix(str(tmp_path / "home" / SOCKET_NAME)).close()


def test_no_second_daemon_is_begun_where_one_listens(daemon: Daemon, environment: dict[str, str]) -> None:
    daemon.reply = lambda line: b""
    assert full_way(run(environment, "submit", "x"))["begun"] is None


@pytest.mark.parametrize("part", [b"", b"\0", codec.encode_line_answer(LineAnswer(0, b"whole", b""))[:-2]])
def test_an_answer_that_breaks_off_is_told_to_the_full_way(
    daemon: Daemon, environment: dict[str, str], part: bytes
) -> None:
    daemon.reply = lambda line: part
    assert full_way(run(environment, "submit", "x"))["unanswered"] is True


def test_a_deleted_working_directory_is_left_to_the_full_way(
    daemon: Daemon, environment: dict[str, str], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", code, str(ENTRY), "ls"]
    done = subprocess.run(command, env=environment, cwd=gone, capture_output=True, timeout=PATIENCE_S, check=False)
    assert full_way(done)["full"] == ["ls"]


def test_a_long_path_is_reached(environment: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / ("d" * 120)
    one = Daemon(home)
    assert run(environment | {"CRONOQ_HOME": str(home)}, "ls").stdout == b"out\n"
    one.close()


def test_a_reader_that_has_gone_ends_it_quietly(daemon: Daemon, environment: dict[str, str]) -> None:
    daemon.reply = lambda line: codec.encode_line_answer(LineAnswer(0, b"x" * 1_000_000, b""))
    reading, writing = os.pipe()
    os.close(reading)
    done = run(environment, "ls", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_told_and_never_a_success(daemon: Daemon, environment: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        done = run(environment, "ls", stdout=full)
    assert done.returncode == 125
    assert done.stderr == b"err\ncronoq: cannot write the answer: No space left on device\n"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams_never_get_the_socket(daemon: Daemon, environment: dict[str, str], closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, str(ENTRY), "ls"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == (125 if "1>" in closed else 0)
    assert done.stdout == (b"" if "1>" in closed else b"out\n")
    assert len(daemon.lines) == 1


def test_a_slow_reader_that_does_not_block_gets_everything(daemon: Daemon, environment: dict[str, str]) -> None:
    daemon.reply = lambda line: codec.encode_line_answer(LineAnswer(0, bytes(500_000), b""))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got = bytearray()

    def read() -> None:
        while data := os.read(reading, 8192):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    assert run(environment, "ls", stdout=writing).returncode == 0
    os.close(writing)
    reader.join(PATIENCE_S)
    os.close(reading)
    assert len(got) == 500_000


def test_an_interrupt_while_waiting_is_130_without_a_word(daemon: Daemon, environment: dict[str, str]) -> None:
    daemon.reply = lambda line: None
    command = [sys.executable, str(ENTRY), "wait", "1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert daemon.asked.wait(PATIENCE_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_package_that_cannot_be_imported_is_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "package" / "cronoq_cli" / "client" / "main.py").write_text("import nothing_of_that_name\n")
    done = run(environment, "ls")
    assert done.returncode == 125
    assert done.stderr.count(b"\n") == 1 and b"nothing_of_that_name" in done.stderr
