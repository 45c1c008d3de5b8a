"""On which file system a store lies."""

from __future__ import annotations

import pytest

from cronoq_cli.store.sqlite.place import find_network_filesystem, parse_mount_type

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /home rw - nfs4 server:/home rw,vers=4.2
31 30 0:26 / /home/me/my\040disk rw shared:2 - xfs /dev/sdb1 rw
32 22 0:27 / /mnt rw - ext4 /dev/sdc rw
33 32 0:28 / /mnt rw - fuse.sshfs host: rw
garbage
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/me/.local", "nfs4"),
        ("/home", "nfs4"),
        ("/homes", "ext4"),
        ("/home/me/my disk/x", "xfs"),
        ("/mnt/x", "fuse.sshfs"),
    ],
)
def test_the_longest_and_last_mount_tells_the_type(path: str, kind: str):
    assert parse_mount_type(MOUNTS, path) == kind


def test_nothing_is_known_without_mounts():
    assert parse_mount_type("", "/x") is None


def test_the_file_system_of_processes_is_no_network():
    assert find_network_filesystem("/proc/self") is None
