"""Clients and daemons of other versions: frames spoken directly (wire/codec), and a copy that says it is newer."""

from __future__ import annotations

import copy
import json
import shutil
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli import __version__

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def one(shared) -> Any:
    shared.ok("daemon", "start")
    return shared


def exchange(cronoq: Any, kind: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """Send one frame; the kind and payload of the answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(cronoq.home / "cronoq.sock"))
        client.sendall(struct.pack(">I", len(payload) + 1) + kind + payload)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
            piece = client.recv(65536)
            assert piece, "the daemon hung up"
            data += piece
    return data[4:5], data[5:]


def ask(cronoq: Any, request: dict[str, Any], *, protocol: int = 1, client: str = "0.1.0") -> dict[str, Any]:
    document = {"protocol": protocol, "client": client, "request": request}
    kind, payload = exchange(cronoq, b"Q", json.dumps(document).encode())
    return {"kind": kind, **json.loads(payload)}


def own_version(cronoq: Any) -> str:
    return str(cronoq.status()["version"])


def test_a_client_of_this_version_is_answered(one) -> None:
    reply = ask(one, {"type": "list"}, client=own_version(one))
    assert (reply["kind"], reply["doc"]["tasks"]) == (b"D", [])


@pytest.mark.parametrize("protocol", [0, 2, 99])
def test_another_protocol_is_refused_with_both_versions_and_what_to_do(one, protocol) -> None:
    reply = ask(one, {"type": "list"}, protocol=protocol, client="9.9.9" if protocol > 1 else "0.0.1")
    assert (reply["kind"], reply["exit"]) == (b"X", 6)
    text = f"{reply['message']} {reply['hint']}"
    assert str(protocol) in text
    assert own_version(one) in text


@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_any_client_can_ask_for_the_status(one, protocol) -> None:
    reply = ask(one, {"type": "daemon-status"}, protocol=protocol, client="9.9.9")
    assert reply["kind"] == b"D", reply
    assert reply["doc"]["daemon"]["state"] == "running"


def test_an_older_client_of_the_same_protocol_works(one) -> None:
    assert ask(one, {"type": "list"}, client="0.0.1")["kind"] == b"D"


def test_a_newer_client_is_told_so_before_anything_is_changed(one) -> None:
    reply = ask(one, {"type": "pool-pause", "names": ["default"]}, client="9.9.9")
    assert (reply["kind"], reply["code"]) == (b"X", "newer-client")
    assert own_version(one) in reply["message"]
    assert one.ask("pool", "show", "default")["pool"]["paused"] is False


def test_a_newer_client_may_ask_for_what_this_version_does_not_know_and_is_told_the_same(one) -> None:
    for request in ({"type": "levitate"}, {"type": "list", "colour": "red"}):
        assert ask(one, request, client="9.9.9")["code"] == "newer-client"
        reply = ask(one, request)
        assert (reply["kind"], reply["exit"]) == (b"X", 7)


def test_a_command_line_of_another_layout_goes_the_full_way(one) -> None:
    kind, payload = exchange(one, b"A", b"\0".join([b"cronoq-a9", b"9.9.9", b"", b"", b"22", b"1", b"0", b"/", b"ls"]))
    assert (kind, payload) in ((b"F", b"protocol"), (b"F", b"newer-client")) or kind == b"X"


def test_any_client_can_stop_the_daemon(make_cronoq) -> None:
    cronoq = make_cronoq()
    cronoq.ok("daemon", "start")
    reply = ask(cronoq, {"type": "daemon-stop", "mode": "stop"}, protocol=7, client="7.0.0")
    assert reply["kind"] == b"D", reply
    cronoq.wait_until(lambda: not cronoq.list_processes(), what="the end of all processes")


def test_a_newer_client_restarts_an_older_daemon_and_the_tasks_go_on(make_cronoq, tmp_path) -> None:
    cronoq = make_cronoq()
    newer = make_newer(cronoq, tmp_path, 2)
    task_id = cronoq.submit("--", "sh", "-c", f"until test -e {tmp_path}/go; do sleep 0.05; done; exit 8")
    cronoq.wait_for(task_id, "running")
    old = cronoq.status()
    done = newer("ls", "--json")
    assert done.returncode == 0, done.stderr
    assert f"restarted the daemon: it was cronoq {old['version']}, now 99.0" in done.stderr
    assert json.loads(done.stdout)["tasks"][0]["id"] == task_id
    status = newer.status()
    assert (status["version"], status["recovered"]["adopted"]) == ("99.0", 1)
    (tmp_path / "go").touch()
    assert newer.wait_for(task_id)["exit_code"] == 8
    assert cronoq("ls").returncode == 0  # the line of words has the same layout in both
    assert cronoq("logs", task_id).returncode == 0
    with_older = cronoq("logs", "-f", task_id)  # carried out by the client, which has to speak to the daemon
    assert (with_older.returncode, len(with_older.stderr.splitlines())) == (6, 1)
    assert newer.find_daemon() == status["pid"]


def test_a_runner_of_an_older_version_keeps_its_tasks_while_new_ones_go_to_a_new_one(make_cronoq, tmp_path) -> None:
    cronoq = make_cronoq()
    cronoq.configure("[pools.default]\nworkers = 2\n")
    waits = "until test -e {}; do sleep 0.05; done; exit {}"
    first = cronoq.submit("--", "sh", "-c", waits.format(tmp_path / "go", 8))
    second = cronoq.submit("--", "sh", "-c", waits.format(tmp_path / "never", 9))
    for task_id in (first, second):
        cronoq.wait_for(task_id, "running")
    (old,) = cronoq.list_runners()
    newer = make_newer(cronoq, tmp_path, 2, runner=2)
    third = newer.submit("--", "sh", "-c", "exit 3")
    assert newer.status()["recovered"]["adopted"] == 2
    assert newer.show(third)["status"] == "ready", "the old one's tasks have their slots still"
    newer.ok("cancel", second)
    assert newer.wait_for(third)["exit_code"] == 3
    assert len(newer.list_runners()) == 2
    (tmp_path / "go").touch()
    assert newer.wait_for(first)["exit_code"] == 8
    newer.wait_until(lambda: old not in newer.list_runners(), what="the end of the old runner")
    assert newer.wait_for(newer.submit("--", "sh", "-c", "exit 4"))["exit_code"] == 4
    assert newer.show(second)["status"] == "cancelled"


def test_without_auto_upgrade_a_newer_client_says_so_and_works_as_far_as_it_goes(make_cronoq, tmp_path) -> None:
    cronoq = make_cronoq()
    cronoq.configure("[daemon]\nauto_upgrade = false\n")
    cronoq.ok("daemon", "start")
    pid = cronoq.find_daemon()
    done = make_newer(cronoq, tmp_path)("submit", "--", "true")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "cronoq daemon restart" in done.stderr
    done = make_newer(cronoq, tmp_path, 2)("submit", "--", "true")
    assert (done.returncode, done.stdout) == (6, "")
    assert "protocol" in done.stderr
    assert cronoq.find_daemon() == pid
    assert make_newer(cronoq, tmp_path, 2)("daemon", "status").returncode == 0


def make_newer(cronoq: Any, tmp_path: Path, protocol: int = 1, *, runner: int = 1) -> Any:
    """The same home through an installation whose version is 99.0, with these versions of its protocols."""
    root, installed = Path(__file__).parents[2], tmp_path / f"newer{protocol}.{runner}"
    package = installed / "cronoq_cli"
    shutil.copytree(root / "cronoq_cli", package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for name, old, new in (
        ("__init__.py", f'"{__version__}"', '"99.0"'),
        ("entry/fast.py", f'b"{__version__}"', 'b"99.0"'),
        ("wire/version.py", "PROTOCOL = 1", f"PROTOCOL = {protocol}"),
        ("wire/runner.py", "VERSION: Final = 1", f"VERSION: Final = {runner}"),
    ):
        text = (package / name).read_text()
        assert old in text
        (package / name).write_text(text.replace(old, new))
    newer = copy.copy(cronoq)
    newer.env = {**cronoq.env, "PYTHONPATH": str(installed)}
    newer.command = [sys.executable, str(package / "entry" / "cronoq")]
    return newer
