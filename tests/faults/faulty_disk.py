"""A disk that fails when told to: a library preloaded into daemon, runner or a program of a test (faulty_disk.c)."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("faulty_disk.c")
SHORT = 0
"""In the place of an error: a write takes only half of what it is given."""


@functools.cache
def build_shim() -> Path:
    """The library, made once for this run of the tests. Skips where it cannot be had."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler, so no disk can be made to fail")
    built = Path(tempfile.gettempdir()) / f"cronoq-faulty-disk-{os.geteuid()}-{os.getpid()}.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", built, SOURCE, "-ldl", "-lpthread"]
    made = subprocess.run(words, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"the library that makes a disk fail cannot be built here: {made.stderr.strip()[-200:]}")
    return built


class FaultyDisk:
    """The faults of the programs that run with `env`; healed from the beginning."""

    def __init__(self, place: Path) -> None:
        self._plan = place / "faults"
        self.env = {"LD_PRELOAD": str(build_shim()), "FAULTY_DISK": str(self._plan)}

    def fail(self, *faults: tuple[str, str], error: int = errno.EIO, skip: int = 0, count: int = -1) -> None:
        """From now on these calls on these files fail: (write, sync, open or punch; a part of the path)."""
        text = "".join(f"{call} {name} {error} {skip} {count}\n" for call, name in faults)
        fresh = self._plan.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self._plan)

    def heal(self) -> None:
        """Nothing fails any more."""
        self._plan.unlink(missing_ok=True)
