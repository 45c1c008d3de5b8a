"""Descriptors, processes or memory run out: daemon and runner say so or wait, and go on by themselves afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.wire.runner import VERSION, encode_frame
from cronoq_cli.wire.sockets import connect_unix
from tests.acceptance.conftest import find_command
from tests.acceptance.test_processes import is_alive

pytestmark = pytest.mark.acceptance

NOBODY = 65534


def count_descriptors(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


@contextlib.contextmanager
def limited(which: int, *limits: tuple[int, int]) -> Iterator[None]:
    """Within, these processes have these soft limits, afterwards those of before."""
    before = {pid: resource.prlimit(pid, which) for pid, _ in limits}
    for pid, limit in limits:
        resource.prlimit(pid, which, (limit, before[pid][1]))
    try:
        yield
    finally:
        for pid, old in before.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, which, old)


def squeezed(pid: int) -> contextlib.AbstractContextManager[None]:
    """Within, a process gets no descriptor more than it has."""
    return limited(resource.RLIMIT_NOFILE, (pid, count_descriptors(pid)))


# -- descriptors -------------------------------------------------------------------------------------------------------


def test_a_daemon_without_descriptors_serves_again_when_it_has_some(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    daemon = cronoq.find_daemon()
    with squeezed(daemon):
        asking = cronoq.start("submit", "--", "true")
        cronoq.wait_until(lambda: asking.poll() is not None or count_descriptors(asking.pid) > 3)
    out, _ = asking.communicate(timeout=60)
    assert cronoq.find_daemon() == daemon
    last = cronoq.wait_for(cronoq.submit("--", "true"))
    assert last["status"] == "succeeded"
    if asking.returncode == 0:
        assert cronoq.wait_for(int(out))["status"] == "succeeded"


def test_a_start_without_descriptors_is_not_counted_and_tried_again(cronoq: Any) -> None:
    cronoq.wait_for(cronoq.submit("--", "true"))
    (runner,) = cronoq.list_runners()
    with squeezed(runner):
        task = cronoq.submit("--", "true")
        cronoq.wait_until(lambda: cronoq.show(task)["attempts"], what="a first try")
    ended = cronoq.wait_for(task, within_s=40)
    assert ended["status"] == "succeeded"
    assert ended["attempts"][0]["outcome"] in ("not-counted", "not-started")
    assert ended["max_attempts"] - ended["attempt"] == 0


def test_a_runner_without_descriptors_still_ends_whole_trees_and_hears_what_tasks_report(
    cronoq: Any, tmp_path: Path
) -> None:
    script = "setsid sleep 1000 & echo $! > child; wait"
    tree = cronoq.submit("-C", tmp_path, "--", "sh", "-c", script)
    told = cronoq.submit(
        "-C", tmp_path, "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; cat go >> $CRONOQ_REPORT"
    )
    cronoq.wait_for(tree, "running")
    cronoq.wait_for(told, "running")
    cronoq.wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    (runner,) = cronoq.list_runners()
    with squeezed(runner):
        (tmp_path / "go").write_text("outcome=permanent\nmessage=heard\n")
        assert cronoq.wait_for(told)["message"] == "heard"
        cronoq.ok("cancel", tree)
        cronoq.wait_until(lambda: not is_alive(int((tmp_path / "child").read_text())), what="the end of the child")
    assert cronoq.wait_for(tree)["status"] == "cancelled"


def test_a_living_runner_is_not_taken_for_dead_by_a_daemon_without_descriptors(cronoq: Any, tmp_path: Path) -> None:
    task = cronoq.submit("-C", tmp_path, "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 5")
    cronoq.wait_for(task, "running")
    (runner,), daemon = cronoq.list_runners(), cronoq.find_daemon()
    epoch = cronoq.status()["epoch"]
    with limited(resource.RLIMIT_NOFILE, (daemon, 3)):
        take_the_runners_ear(cronoq.home, epoch)
        cronoq.wait_until(lambda: "cannot be spoken to yet" in (cronoq.home / "daemon.log").read_text(), what="a word")
    (tmp_path / "go").touch()
    assert cronoq.wait_for(task)["exit_code"] == 5
    assert (cronoq.list_runners(), cronoq.find_daemon()) == ([runner], daemon)


def take_the_runners_ear(home: Path, epoch: int) -> None:
    """Cut the daemon's connection to its runner: who opens another with the same epoch is heard instead."""
    (path,) = home.rglob("runner-*.sock")
    with contextlib.closing(connect_unix(str(path), timeout_s=10)) as connection:
        opened = {"order": "open", "version": VERSION, "store": "", "epoch": epoch, "lanes": {}}
        connection.sendall(encode_frame([opened]))
        assert connection.recv(4), "the runner says hello"


# -- processes ---------------------------------------------------------------------------------------------------------


class Unprivileged:
    """A cronoq of a user whose number of processes the kernel limits."""

    def __init__(self, cronoq: Any, prefix: list[str]) -> None:
        self.cronoq = cronoq
        self._prefix = prefix

    def limit(self, *words: str) -> None:
        """Run prlimit as that user: root may lack the right to do it for others."""
        subprocess.run([*self._prefix, "prlimit", *words], check=True, capture_output=True)

    @contextlib.contextmanager
    def childless(self, pid: int) -> Iterator[None]:
        """Within, a process gets no child: its user has more than one process already."""
        line = next(x for x in Path(f"/proc/{pid}/limits").read_text().splitlines() if x.startswith("Max processes"))
        self.limit(f"--pid={pid}", "--nproc=1:")
        try:
            yield
        finally:
            if is_alive(pid):
                self.limit(f"--pid={pid}", f"--nproc={line.split()[2]}:")


@pytest.fixture
def other(make_cronoq: Callable[..., Any]) -> Unprivileged:
    """An unprivileged cronoq that has run one task. For root that is another user's, who may still read what is root's:
    Python may lie there."""
    if shutil.which("prlimit") is None:
        pytest.skip("without prlimit no process can be kept from having children")
    cronoq, prefix = make_cronoq(), []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("without setpriv, root cannot become a user who may read its Python")
        cronoq.home.mkdir(mode=0o700)
        os.chown(cronoq.home, NOBODY, NOBODY)
        reading = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
        prefix = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reading]
        cronoq.command = [*prefix, *cronoq.command]
    done = cronoq("submit", "--wait", "--", "true")
    if done.returncode != 0 and os.geteuid() == 0:
        pytest.skip(f"another user cannot be had here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return Unprivileged(cronoq, prefix)


def test_a_start_without_processes_says_so_is_not_counted_and_tried_again(other: Unprivileged) -> None:
    cronoq = other.cronoq
    (runner,), daemon = cronoq.list_runners(), cronoq.find_daemon()
    with other.childless(runner):
        # One way of starting for most, another for what has a niceness of its own.
        tasks = [cronoq.submit("--", "true"), cronoq.submit("--nice", "3", "--", "true")]
        for task in tasks:
            cronoq.wait_until(lambda: cronoq.show(task)["attempts"], what="a first try")  # noqa: B023
            reason = cronoq.show(task)["reason"]
            assert "cannot start" in reason
            assert "(Resource temporarily unavailable)" in reason
    for task in tasks:
        ended = cronoq.wait_for(task, within_s=40)
        assert ended["status"] == "succeeded"
        assert ended["attempts"][0]["outcome"] == "not-started"
        assert ended["max_attempts"] - ended["attempt"] == 0
    assert (cronoq.list_runners(), cronoq.find_daemon()) == ([runner], daemon)


def test_a_daemon_that_can_start_no_runner_serves_says_why_and_has_one_later(other: Unprivileged) -> None:
    cronoq = other.cronoq
    (runner,), daemon = cronoq.list_runners(), cronoq.find_daemon()
    with other.childless(daemon):
        os.kill(runner, signal.SIGKILL)
        task = cronoq.submit("--", "true")
        why = cronoq.wait_until(
            lambda: (reason := cronoq.show(task)["reason"] or "") and "runner could not be started" in reason and reason
        )
        assert "Resource temporarily unavailable" in why
        assert "runner could not be started" in cronoq.ok("explain", task)
    assert cronoq.wait_for(task, within_s=40)["status"] == "succeeded"
    assert cronoq.find_daemon() == daemon


def test_a_daemon_that_cannot_be_started_for_want_of_processes_is_one_clear_line(other: Unprivileged) -> None:
    cronoq = other.cronoq
    cronoq.ok("daemon", "stop")
    able = cronoq.command
    at = len(able) - len(find_command())
    cronoq.command = [*able[:at], "prlimit", "--nproc=1:", *able[at:]]
    done = cronoq("daemon", "start")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (5, 1), done.stderr
    assert "Resource temporarily unavailable" in done.stderr
    cronoq.command = able
    cronoq.ok("daemon", "start")


def test_a_hook_that_cannot_be_started_for_want_of_processes_runs_later(other: Unprivileged) -> None:
    cronoq = other.cronoq
    told = cronoq.home / "told"
    cronoq.configure(f"[hooks]\non_failure = 'cat > {told}'\n")
    cronoq.ok("daemon", "reload")
    with other.childless(cronoq.find_daemon()):
        cronoq.wait_for(cronoq.submit("--", "false"))
        log = cronoq.home / "hooks.log"
        cronoq.wait_until(lambda: log.exists() and "not started" in log.read_text(), what="a word of the hook")
    cronoq.wait_until(lambda: told.exists() and told.read_text(), what="the hook")


# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_daemon_without_memory_refuses_or_ends_cleanly_and_nothing_acknowledged_is_lost(
    cronoq: Any, tmp_path: Path
) -> None:
    running = cronoq.submit("-C", tmp_path, "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 5")
    cronoq.wait_for(running, "running")
    daemon = cronoq.find_daemon()
    size = int((Path("/proc") / str(daemon) / "statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    lines = "".join(json.dumps({"command": ["true", "x" * 200], "name": f"n{n}"}) + "\n" for n in range(12_000))
    acknowledged = [running]
    with limited(resource.RLIMIT_AS, (daemon, size + (24 << 20))):
        for _ in range(3):
            done = cronoq("submit", "--hold", "--batch", "-", input=lines, timeout=120)
            assert done.returncode in (0, 5, 75, 125), done.stderr[-300:]
            assert "Traceback" not in done.stderr
            if done.returncode == 0:
                first, _, last = done.stdout.strip().partition("-")
                acknowledged += range(int(first), int(last) + 1)
    (tmp_path / "go").touch()
    assert cronoq.wait_for(running, within_s=60)["exit_code"] == 5
    found = {task["id"] for task in cronoq.ask("ls", "--limit", "all")["tasks"]}
    assert found == set(acknowledged)
    assert cronoq.wait_for(cronoq.submit("--", "true"), within_s=60)["status"] == "succeeded"
