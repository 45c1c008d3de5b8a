"""Hooks as processes: what they read and print, their limit, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from cronoq_cli.daemon.hook_process import OUTPUT_KEPT, HookCall, HookEnd, HookProcesses


def run(*lines: str, payload: bytes = b"", timeout_s: float = 20.0, close_s: float | None = None) -> list[HookEnd]:
    """The ends of shell lines run one beside the other, in the order of their ends."""

    async def main() -> list[HookEnd]:
        processes, ends, over = HookProcesses(len(lines)), [], asyncio.Event()

        def done(end: HookEnd) -> None:
            ends.append(end)
            if len(ends) == len(lines):
                over.set()

        for line in lines:
            argv = ["/bin/sh", "-c", line] if " " in line else [line]
            processes.start(HookCall(argv, {"PATH": os.environ["PATH"]}, "/", payload, timeout_s), done)
        assert not processes.has_room
        if close_s is not None:
            await processes.close(close_s)
        await asyncio.wait_for(over.wait(), 20)
        return ends

    return asyncio.run(main())


def lives(pid: int) -> bool:
    """Whether a process of that number is there and no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # gone before, or while, it was read
        return False


def test_a_hook_reads_the_payload_and_what_it_prints_is_kept() -> None:
    (end,) = run("cat; echo problem >&2; exit 3", payload=b'{"schema": 1}\n')
    assert (end.exit_code, end.output, end.is_good) == (3, b'{"schema": 1}\nproblem\n', False)


def test_a_payload_that_nobody_reads_and_that_fits_no_pipe_holds_up_nothing() -> None:
    (end,) = run("exit 0", payload=b"x" * 5_000_000)
    assert end.is_good


def test_of_much_output_the_beginning_is_kept() -> None:
    (end,) = run("yes line | head -c 3000000")
    assert end.is_good
    assert end.output == (b"line\n" * OUTPUT_KEPT)[:OUTPUT_KEPT]


def test_at_its_limit_the_whole_group_is_ended(tmp_path: Path) -> None:
    (end,) = run(f"sleep 1000 & echo $! > {tmp_path}/pid; wait", timeout_s=2.0)
    assert end.timed_out
    assert not lives(int((tmp_path / "pid").read_text()))


def test_a_child_that_holds_the_output_open_is_not_waited_for() -> None:
    (end,) = run("sleep 5 & echo done")
    assert (end.is_good, end.output) == (True, b"done\n")
    assert end.run_s < 4


def test_what_cannot_be_started_is_told_as_such() -> None:
    (end,) = run("/nonexistent/hook")
    assert end.error == "/nonexistent/hook: No such file or directory"
    assert not end.is_good


def test_hooks_run_beside_each_other() -> None:
    ends = run("sleep 0.5; echo slow", "echo fast")
    assert [end.output for end in ends] == [b"fast\n", b"slow\n"]


@pytest.mark.parametrize(("line", "cut_short"), [("sleep 0.2; exit 0", False), ("sleep 1000; exit 0", True)])
def test_an_ending_daemon_waits_a_moment_and_then_cuts_short(line: str, cut_short: bool) -> None:
    (end,) = run(line, close_s=1.0)
    assert end.cut_short is cut_short
