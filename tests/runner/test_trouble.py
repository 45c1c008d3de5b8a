"""A disk that refuses to write."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.runner.driver import eventually, running


def test_a_start_that_cannot_be_journalled_is_refused_and_no_end_is_lost(tmp_path: Path) -> None:
    with running(tmp_path) as runner:
        runner.connect()
        gate = tmp_path / "gate"
        token = runner.shell(f"until [ -e {gate} ]; do sleep 0.01; done; exit 3")
        runner.wait_for("started", token)
        eventually(lambda: '"record":"pid"' in runner.journal.read_text())
        size = runner.journal.stat().st_size
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        # The next line is written in part, which is what a full disk does.
        resource.prlimit(runner.process.pid, resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
        refused = runner.run("/bin/true")
        assert (refused["cause"], refused["error"]["kind"]) == ("spawn", "machine")
        assert "journal" in refused["error"]["message"]
        gate.touch()
        assert runner.wait_ended(token)["exit_code"] == 3
        assert runner.journal.stat().st_size == size + 20
        resource.prlimit(runner.process.pid, resource.RLIMIT_FSIZE, unlimited)
        eventually(lambda: '"exit_code":3' in runner.journal.read_text())
        assert runner.run("/bin/true")["exit_code"] == 0
        runner.kill()
        with running(tmp_path, "r2") as second:
            second.connect()
            second.send({"order": "find", "journal": str(runner.journal)})
            assert second.wait_ended(token)["exit_code"] == 3
            assert second.wait_ended(refused["token"])["cause"] == "spawn"


def test_a_log_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with running(tmp_path) as runner:
        runner.connect()
        (tmp_path / "file").write_text("")
        ended = runner.run("/bin/true", log=str(tmp_path / "file" / "x.log"))
        assert (ended["cause"], ended["error"]["kind"]) == ("spawn", "output")
        ended = runner.run("/bin/true", report=str(tmp_path / "file" / "x"))
        assert (ended["cause"], ended["error"]["kind"]) == ("spawn", "output")
