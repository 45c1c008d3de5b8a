"""How tasks run as processes: exit codes, trees, signals, reaping, and what is left of them: nothing."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

IGNORES_TERM = 'trap "" TERM; while :; do sleep 0.1; done'
"""A shell that only KILL ends. Its sleeps do not ignore the signal, so they end and new ones begin."""
TREE = f"""
    echo $$ >> pids
    sleep 1000 & echo $! >> pids
    setsid sh -c 'echo $$ >> pids; exec sleep 1000' &
    ( env -i setsid sh -c 'echo $$ >> pids; sleep 1000' & )
    sh -c 'echo $$ >> pids; {IGNORES_TERM}' &
    sleep 1000
"""
"""A child, one in its own session, an orphan without environment, and one that ignores TERM."""


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def list_zombies(pids: list[int]) -> list[str]:
    """The zombie children of these processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state == "Z" and int(parent) in pids:
                found.append(entry.name)
    return found


def read_pids(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def submit_each(cronoq: Any, lines: list[str], *options: str) -> tuple[int, int]:
    """Submit one shell line each; the first and the last id."""
    first, _, last = (
        cronoq.ok("submit", *options, "--each", "-", "--", "sh", "-c", "{}", input="\n".join(lines) + "\n")
        .strip()
        .partition("-")
    )
    return int(first), int(last or first)


def assert_log_is_clean(cronoq: Any) -> None:
    log = (cronoq.home / "daemon.log").read_text()
    assert not [line for line in log.splitlines() if "Traceback" in line or " ERROR " in line or " CRITICAL " in line]
    for errors in (cronoq.home / "runners").glob("*.log"):
        assert errors.read_text() == ""


# -- ends ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code", "number", "exit_status"),
    [
        ("exit 7", 7, None, 7),
        ("exit 137", 137, None, 137),
        ("exit 257", 1, None, 1),
        ("kill -9 $$", None, 9, 137),
        ("ulimit -c 0; kill -SEGV $$", None, 11, 139),
    ],
)
def test_an_end_is_told_as_it_was_and_run_exits_with_it(shared, script, code, number, exit_status) -> None:
    done = shared("run", "--json", "--", "sh", "-c", script)
    assert done.returncode == exit_status
    task = shared.show("last")
    assert (task["status"], task["exit_code"], task["signal"]) == ("failed", code, number)


def test_a_core_dump_is_told_and_lands_in_the_directory_of_the_task_or_nowhere(shared, tmp_path) -> None:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("no core dumps here")
    shared("run", "-C", str(tmp_path), "--", "sh", "-c", "ulimit -c unlimited; kill -SEGV $$")
    attempt = shared.show("last")["attempts"][-1]
    assert attempt["signal"] == 11
    assert attempt["core"] is True
    assert not list(shared.home.glob("**/core*"))
    assert not Path("/core").exists()


def test_a_time_limit_ends_a_task_with_124(shared) -> None:
    started = time.monotonic()
    assert shared("run", "--timeout", "1s", "--", "sleep", "100").returncode == 124
    assert time.monotonic() - started < 5
    task = shared.show("last")
    assert (task["status"], task["reason"]) == ("failed", "time limit reached")


def test_half_a_second_is_a_time_limit_too(shared) -> None:
    assert shared("run", "--timeout", "0.5", "--", "sleep", "100").returncode == 124
    assert 0.5 <= shared.show("last")["run_s"] < 2


def test_a_command_that_does_not_exist_fails_at_once_and_the_reason_names_the_path_that_was_searched(shared) -> None:
    done = shared("run", "--retries", "3", "--", "no-such-command", "x", env={"PATH": "/bin:/nowhere"})
    assert done.returncode == 127
    task = shared.show("last")
    assert (task["status"], task["exit_code"], task["attempt"]) == ("failed", 127, 1)
    assert "no-such-command" in task["reason"]
    assert "/bin:/nowhere" in task["reason"]


def test_a_file_that_cannot_be_executed_fails_with_126(shared, tmp_path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert shared("run", "--exec", "--", str(plain)).returncode == 126
    assert "permission denied" in shared.show("last")["reason"]


def test_a_script_without_an_interpreter_says_so(shared, tmp_path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert shared("run", "--exec", "--", str(script)).returncode == 126
    assert "interpreter" in shared.show("last")["reason"]


# -- trees -----------------------------------------------------------------------------------------------------------


def test_cancel_ends_the_shell_and_the_real_work(shared, tmp_path) -> None:
    task_id = shared.submit("-C", str(tmp_path), "--", "sh", "-c", "sleep 1000 & echo $! > pids; sleep 1000; true")
    pids = shared.wait_until(lambda: read_pids(tmp_path / "pids"))
    shared.ok("cancel", task_id)
    shared.wait_until(lambda: not any(map(is_alive, pids)), within_s=5, what="the end of the background child")
    assert shared.wait_for(task_id)["status"] == "cancelled"


def test_a_cancelled_tree_is_gone_within_its_grace_and_its_slot_is_free_only_then(cronoq, tmp_path) -> None:
    cronoq.configure("[pools.one]\nworkers = 1\n")
    grace_s = 1.0
    task_id = cronoq.submit("-p", "one", "--grace", "1s", "-C", str(tmp_path), "--", "sh", "-c", TREE)
    pids = cronoq.wait_until(lambda: (found := read_pids(tmp_path / "pids")) and len(found) == 5 and found)
    look = f"for pid in {' '.join(map(str, pids))}; do kill -0 $pid 2>/dev/null && echo alive $pid; done; date +%s.%N"
    next_id = cronoq.submit("-p", "one", "--", "sh", "-c", look)
    cancelled = time.time()
    cronoq.ok("cancel", task_id)
    assert (
        cronoq.wait_for(
            task_id,
        )["status"]
        == "cancelled"
    )
    cronoq.wait_for(next_id, "succeeded")
    seen = cronoq.read_log(next_id).decode()
    assert "alive" not in seen
    assert grace_s * 0.8 < float(seen) - cancelled < grace_s + 1.5
    assert not any(map(is_alive, pids))


def test_a_time_limit_ends_the_whole_tree_too(shared, tmp_path) -> None:
    task_id = shared.submit("--timeout", "300ms", "--grace", "200ms", "-C", str(tmp_path), "--", "sh", "-c", TREE)
    shared.wait_for(task_id, "failed", within_s=10)
    pids = read_pids(tmp_path / "pids")
    assert pids
    assert not any(map(is_alive, pids))


def test_a_stopped_process_is_cancelled_as_well(shared) -> None:
    task_id = shared.submit("--", "sh", "-c", "kill -STOP $$")
    pid = shared.wait_for(task_id, "running")["pid"]
    shared.wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    shared.ok("cancel", task_id)
    shared.wait_until(lambda: not is_alive(pid), within_s=3)


@pytest.fixture
def strays() -> Iterator[list[int]]:
    """Processes that a test leaves on purpose; ended after it."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def test_a_background_child_does_not_keep_the_task_and_what_it_writes_later_is_logged(shared, tmp_path, strays) -> None:
    script = "( while ! [ -e go ]; do sleep 0.05; done; echo later; sleep 600 ) & echo $! > pids; echo done"
    done = shared("run", "-C", str(tmp_path), "--", "sh", "-c", script, timeout=5)
    assert (done.returncode, done.stdout) == (0, "done\n")
    strays += read_pids(tmp_path / "pids")
    task = shared.show("last")
    assert task["status"] == "succeeded"
    assert task["left_behind"] in (1, 2)  # the shell, and the sleep it is in
    (tmp_path / "go").touch()
    shared.wait_until(lambda: shared.read_log("last") == b"done\nlater\n")
    assert shared("signal", "KILL", "last").returncode == 4
    strays += [int(pid) for pid in Path(f"/proc/{strays[0]}/task/{strays[0]}/children").read_text().split()]


def test_a_task_that_becomes_a_daemon_succeeds_and_is_left_alone(cronoq, tmp_path, strays) -> None:
    line = "setsid sh -c 'echo $$ > pids; exec sleep 300' >/dev/null 2>&1 < /dev/null & while ! [ -s pids ]; do :; done"
    task_id = cronoq.submit("-C", str(tmp_path), line)
    assert cronoq.wait_for(task_id)["left_behind"] == 1
    strays += read_pids(tmp_path / "pids")
    refused = cronoq("cancel", task_id)
    assert refused.returncode == 4
    assert "succeeded" in refused.stderr
    pool = cronoq.ask("pool", "show", "default")["pool"]
    assert pool["running"] == 0
    cronoq.ok("daemon", "restart")
    cronoq.output("true")
    assert all(map(is_alive, strays))


def test_a_pool_may_end_what_its_tasks_leave_behind(cronoq, tmp_path) -> None:
    cronoq.configure('[pools.default]\nleftovers = "kill"\n')
    line = "setsid sleep 300 & echo $! > pids; exit 3"
    task = cronoq.wait_for(cronoq.submit("--grace", "1s", "-C", str(tmp_path), line))
    assert (task["exit_code"], task["left_behind"]) == (3, 0)
    assert not any(map(is_alive, read_pids(tmp_path / "pids")))


# -- races -----------------------------------------------------------------------------------------------------------


def test_a_task_cancelled_the_moment_it_starts_is_gone_five_hundred_times(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 50\n")
    cronoq.ok("daemon", "start")
    daemon = cronoq.find_daemon()
    for _ in range(10):
        first, last = submit_each(cronoq, ["exec sleep 1000"] * 50)
        cronoq.ok("cancel", f"{first}-{last}")
    cronoq.wait_until(lambda: not _tasks(cronoq))
    counts = _count_statuses(cronoq)
    assert counts == {"cancelled": 500}
    assert cronoq.find_daemon() == daemon
    assert len(cronoq.list_runners()) == 1
    assert_log_is_clean(cronoq)


def test_tasks_that_end_while_they_are_cancelled_have_one_end_a_thousand_times(cronoq) -> None:
    cronoq.configure("[pools.default]\nworkers = 16\n")
    cronoq.ok("daemon", "start")
    for _ in range(10):
        first, last = submit_each(cronoq, [f"sleep 0.0{n % 21:02}" for n in range(100)])
        done = cronoq("cancel", f"{first}-{last}")
        assert done.returncode in (0, 1, 4), done.stderr
    cronoq.wait_until(lambda: not set(_count_statuses(cronoq)) - {"succeeded", "cancelled"}, within_s=30)
    assert sum(_count_statuses(cronoq).values()) == 1000
    ends: dict[int, int] = {}
    for event in cronoq.ask("events")["events"]:
        if event["status"] in ("succeeded", "cancelled", "failed"):
            ends[event["id"]] = ends.get(event["id"], 0) + 1
    assert set(ends.values()) <= {1}
    cronoq.wait_until(lambda: not _tasks(cronoq))
    assert_log_is_clean(cronoq)


def _count_statuses(cronoq: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for task in cronoq.ask("ls", "--limit", "all")["tasks"]:
        counts[task["status"]] = counts.get(task["status"], 0) + 1
    return counts


def _tasks(cronoq: Any) -> list[int]:
    """Pids of what runs in this home beside daemon and runner."""
    own = {cronoq.find_daemon(), *cronoq.list_runners()}
    return [pid for pid in cronoq.list_processes() if pid not in own and is_alive(pid)]


# -- reaping ---------------------------------------------------------------------------------------------------------


def test_as_process_one_all_codes_are_right_and_no_orphan_becomes_a_zombie(cronoq) -> None:
    unshare = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0
    ):
        pytest.skip("no process namespaces here")
    cronoq.configure("[pools.default]\nworkers = 20\n")
    container = subprocess.Popen(
        [*unshare, *cronoq.command, "daemon", "run"], env=cronoq.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        cronoq.wait_until(lambda: cronoq("daemon", "status").returncode == 0)
        first, last = submit_each(cronoq, [f"(sleep 0.2 &) ; exit {n % 5}" for n in range(200)])
        cronoq("wait", f"{first}-{last}", timeout=60)
        tasks = cronoq.ask("ls", "--limit", "all")["tasks"]
        assert len(tasks) == 200
        assert all(task["exit_code"] == (task["id"] - first) % 5 for task in tasks)
        cronoq.wait_until(lambda: not list_zombies(cronoq.list_processes()), within_s=5)
        cronoq.ok("daemon", "stop")
        assert container.wait(10) == 0
    finally:
        container.kill()
        container.communicate()


# -- signals ---------------------------------------------------------------------------------------------------------


def test_a_pipe_into_head_ends_since_nothing_ignores_sigpipe(shared) -> None:
    done = shared("run", "yes | head -1", timeout=10)
    assert (done.returncode, done.stdout) == (0, "y\n")


def test_tasks_start_with_default_signals_whatever_the_daemon_was_started_with(cronoq) -> None:
    hushed = {signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE}

    def hush() -> None:
        for number in hushed:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, hushed)

    cronoq.ok("daemon", "start", preexec_fn=hush)
    status = cronoq.output("--", "grep", "^Sig", "/proc/self/status")
    masks = {name: int(mask, 16) for name, mask in (line.split(":") for line in status.splitlines()) if name != "SigQ"}
    assert masks["SigIgn"] == masks["SigBlk"] == 0
    task_id = cronoq.submit("--stop-signal", "INT", "--", "sleep", "100")
    cronoq.wait_for(task_id, "running")
    cronoq.ok("cancel", task_id)
    cronoq.wait_until(lambda: not _tasks(cronoq), within_s=5)


def test_a_hangup_never_cancels_a_stop_and_a_second_term_hurries_it(cronoq, tmp_path) -> None:
    stubborn = f"echo $$ >> pids; {IGNORES_TERM}"
    ids = [cronoq.submit("--grace", "60s", "-C", str(tmp_path), "--", "sh", "-c", stubborn) for _ in range(2)]
    cronoq.wait_until(lambda: len(read_pids(tmp_path / "pids")) == 2)
    daemon = cronoq.find_daemon()
    assert daemon is not None
    os.kill(daemon, signal.SIGTERM)
    cronoq.wait_until(lambda: cronoq.status()["state"] == "stopping")
    os.kill(daemon, signal.SIGHUP)
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGTERM)
    cronoq.wait_until(lambda: not is_alive(daemon), within_s=5)
    cronoq.wait_until(lambda: not cronoq.list_processes(), within_s=5)
    assert not any(map(is_alive, read_pids(tmp_path / "pids")))
    for task_id in ids:
        task = cronoq.show(task_id)
        assert (task["status"], task["max_attempts"] - task["attempt"]) == ("ready", 1)


# -- crashes ---------------------------------------------------------------------------------------------------------


def test_a_restart_costs_a_running_task_nothing(cronoq, tmp_path) -> None:
    task_id = cronoq.submit("-C", str(tmp_path), "--", "sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; exit 5")
    before = cronoq.wait_for(task_id, "running")
    cronoq.ok("daemon", "restart")
    cronoq.wait_until(lambda: cronoq.show(task_id)["pid"] == before["pid"], within_s=5)
    (tmp_path / "go").touch()
    task = cronoq.wait_for(task_id)
    assert (task["status"], task["exit_code"], task["attempt"]) == ("failed", 5, 1)


def test_an_end_while_the_daemon_was_dead_is_told_to_the_next_one(cronoq, tmp_path) -> None:
    task_id = cronoq.submit("-C", str(tmp_path), "--", "sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; exit 5")
    pid = cronoq.wait_for(task_id, "running")["pid"]
    os.kill(cronoq.find_daemon(), signal.SIGKILL)
    (tmp_path / "go").touch()
    cronoq.wait_until(lambda: not is_alive(pid))
    cronoq.ok("daemon", "start")
    task = cronoq.wait_for(task_id)
    assert (task["status"], task["exit_code"], task["attempt"]) == ("failed", 5, 1)


def test_after_a_reboot_attempts_are_lost_and_nothing_with_an_old_pid_is_signalled(cronoq, strays) -> None:
    task_id = cronoq.submit("--grace", "0s", "--", "sleep", "1000")
    strays.append(cronoq.wait_for(task_id, "running")["pid"])
    cronoq.wait_until(lambda: '"pid"' in _journal(cronoq).read_text().replace('"record":"boot"', ""))
    daemon, runners = cronoq.find_daemon(), cronoq.list_runners()
    for pid in [daemon, *runners]:
        os.kill(pid, signal.SIGKILL)
    cronoq.wait_until(lambda: not any(is_alive(pid) for pid in [daemon, *runners]))
    text = _journal(cronoq).read_text()
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert boot_id in text
    _journal(cronoq).write_text(text.replace(boot_id, "00000000-0000-4000-8000-000000000000"))
    cronoq.ok("daemon", "start")
    task = cronoq.wait_for(task_id)
    assert (task["status"], task["exit_code"], task["attempt"]) == ("dead_lettered", None, 1)
    assert "lost" in task["reason"]
    assert is_alive(strays[0])


def _journal(cronoq: Any) -> Path:
    return next(iter((cronoq.home / "runners").glob("*.journal")))


def test_when_the_runner_is_killed_its_trees_are_ended_and_only_then_the_attempt_is_lost(cronoq, tmp_path) -> None:
    task_id = cronoq.submit("--grace", "500ms", "-C", str(tmp_path), "--", "sh", "-c", TREE)
    pids = cronoq.wait_until(lambda: (found := read_pids(tmp_path / "pids")) and len(found) == 5 and found)
    for pid in cronoq.list_runners():
        os.kill(pid, signal.SIGKILL)
    task = cronoq.wait_for(task_id, "dead_lettered")
    assert "lost" in task["reason"]
    assert not any(map(is_alive, pids))
    cronoq.output("true")


# -- limits ----------------------------------------------------------------------------------------------------------


def test_the_highest_limit_of_descriptors_does_not_slow_starts_down(cronoq) -> None:
    most = int(Path("/proc/sys/fs/nr_open").read_text())
    highest = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def raise_limit() -> None:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        except (ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))

    cronoq.ok("daemon", "start", preexec_fn=raise_limit)
    assert int(cronoq.output("ulimit -n")) in (most, highest)
    first, last = submit_each(cronoq, ["true"] * 20)
    cronoq.ok("wait", f"{first}-{last}")
    fastest = min(task["run_s"] for task in cronoq.ask("ls", "--limit", "all")["tasks"])
    assert fastest < 0.1


def test_descriptors_and_children_stay_flat(cronoq) -> None:
    def census() -> dict[str, int]:
        parts = {"daemon": cronoq.find_daemon(), "runner": cronoq.list_runners()[0]}
        return {name: len(os.listdir(f"/proc/{pid}/fd")) for name, pid in parts.items()}

    def use() -> None:
        first, last = submit_each(cronoq, ["echo out; echo err >&2"] * 300)
        for _ in range(40):
            cronoq("show", first)
        cronoq("cancel", "no-such-key")
        cronoq.ok("wait", f"{first}-{last}")

    # Commits in the thread and reads beside them need files of their own, opened when they are first needed.
    cronoq.configure('[pools.default]\nworkers = 8\n[daemon]\ncommit = "thread"\n')
    use()
    before = census()  # perhaps with the connection of a client that has just left
    use()
    cronoq.wait_until(lambda: all(count <= before[part] for part, count in census().items()), what=f"{before} again")
    assert not list_zombies([cronoq.find_daemon(), *cronoq.list_runners()])


def test_the_submitters_umask_and_the_asked_niceness_are_applied(shared, tmp_path) -> None:
    shared.output("--nice", "7", "-C", str(tmp_path), "--", "sh", "-c", "touch made; nice > niceness", umask=0o027)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "niceness").read_text().strip() == "7"


def test_limits_of_the_kernel_are_those_of_the_pool(cronoq) -> None:
    cronoq.configure("[pools.default.rlimits]\nnofile = 123\ncore = 0\n")
    assert cronoq.output("ulimit -n; ulimit -c") == "123\n0\n"


def test_what_a_task_used_is_recorded(shared) -> None:
    burn = "import time; data = bytearray(40 << 20)\nwhile time.process_time() < 0.3: pass"
    shared.output("--", "/usr/bin/env", "python3", "-c", burn)
    usage = shared.show("last")["usage"]
    assert usage["cpu_user_s"] + usage["cpu_system_s"] >= 0.25
    assert usage["max_rss_bytes"] > 40 << 20


def test_a_task_is_in_a_session_of_its_own_without_a_terminal_or_any_descriptor_of_ours(shared) -> None:
    look = "ls -l /proc/self/fd; ps -o sid= -p $$; echo pid $$; tty; (: < /dev/tty) 2>&1; true"
    seen = shared.output("--", "sh", "-c", look)
    descriptors = [line.split(" -> ") for line in seen.splitlines() if " -> " in line]
    assert len(descriptors) == 4, seen  # 0 to 2 and that of the listing itself
    assert "not a tty" in seen
    assert "tty: No such device" in seen or "cannot open /dev/tty" in seen
