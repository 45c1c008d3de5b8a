"""Where the state is: on a disk of this machine, or of a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cronoq_cli.config import mounts

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / {0} rw shared:5 - nfs4 server:/home rw
31 30 0:41 / {0}/lo\\040cal rw - xfs /dev/sdb rw
32 22 0:42 / {0}-other rw - fuse.sshfs me@there: rw
nonsense
"""


@pytest.mark.parametrize(
    ("place", "kind"), [("", "nfs4"), ("/state", "nfs4"), ("/lo cal/x", None), ("-other/x", "fuse.sshfs"), ("x", None)]
)
def test_a_state_directory_on_a_network_is_noticed(tmp_path: Path, place: str, kind: str | None) -> None:
    home = os.path.realpath(tmp_path / "home")
    (tmp_path / "mounts").write_text(MOUNTS.format(home))
    assert mounts.find_network_file_system(home + place, str(tmp_path / "mounts")) == kind


def test_this_machine_says_where_its_files_are() -> None:
    assert mounts._find_mount_type("/", "/proc/self/mountinfo")
    assert mounts.find_network_file_system("/", "/no/such/file") is None
