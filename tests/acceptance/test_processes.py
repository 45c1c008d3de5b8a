"""How tasks run as processes: exit codes, trees, signals, reaping, and what is left of them: nothing."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.acceptance


def test_run_exits_with_the_code_of_its_task(cronoq) -> None:
    assert cronoq("run", "--", "sh", "-c", "exit 7").returncode == 7
