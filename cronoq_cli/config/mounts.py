"""On what kind of file system a directory lies: locks and the database are unsafe on those of a network."""

from __future__ import annotations

import os

NETWORK_FILE_SYSTEMS = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "beegfs", "gpfs", "ncpfs", "ocfs2")
)
NETWORK_FUSE = ("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.davfs", "fuse.juicefs")


def find_network_file_system(directory: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The type of the network file system that holds `directory`, or None: locks and WAL are unsafe there."""
    kind = _find_mount_type(os.path.realpath(directory), mounts)
    if kind is None:
        return None
    return kind if kind in NETWORK_FILE_SYSTEMS or kind.startswith(NETWORK_FUSE) else None


def _find_mount_type(directory: str, mounts: str) -> str | None:
    """The type of the deepest mount at or above `directory` (proc(5): fields 5 and, behind ` - `, 1)."""
    best, kind = -1, None
    try:
        with open(mounts, errors="surrogateescape") as lines:
            for line in lines:
                before, _, after = line.partition(" - ")
                fields, behind = before.split(" "), after.split(" ")
                if len(fields) < 5 or not behind[0]:
                    continue
                point = _unescape(fields[4])
                if len(point) >= best and f"{directory}/".startswith(point.rstrip("/") + "/"):
                    best, kind = len(point), behind[0]
    except OSError:
        return None
    return kind


def _unescape(text: str) -> str:
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text
