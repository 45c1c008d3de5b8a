"""Where a store lies: whether its file system is one on which SQLite's locks and shared memory cannot be relied on."""

from __future__ import annotations

import os
import re

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|afs|ceph|lustre|glusterfs|fuse\.(sshfs|glusterfs|s3fs|rclone)|vboxsf"
)


def find_network_filesystem(path: str) -> str | None:
    """The type of the network file system that `path` lies on, None for a local one or where it cannot be told.

    SQLite advises against WAL there: two hosts see no shared memory of each other."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = parse_mount_type(file.read(), os.path.realpath(path))
    except OSError:
        return None
    return kind if kind is not None and _NETWORK.fullmatch(kind) else None


def parse_mount_type(mountinfo: str, path: str) -> str | None:
    """The type of the file system an absolute path lies on, by the text of /proc/PID/mountinfo (proc(5)).

    The longest mount point wins, and of equal ones the last, which covers the others."""
    longest, kind = -1, None
    for line in mountinfo.splitlines():
        before, mark, after = line.partition(" - ")
        fields = before.split(" ")
        if not mark or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:
            longest, kind = len(point), after.split(" ", 1)[0]
    return kind
