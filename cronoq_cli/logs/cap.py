"""The cap of a log: which part of it goes, and how: a hole punched into the file its task goes on appending to.

Rules and the one system call; when to look is the runner's. Standard library only: the runner imports this module.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

from cronoq_cli.model.log_cap import HEAD_KEPT, LEAST_CAP

_FALLOC_FL_KEEP_SIZE: Final = 1
_FALLOC_FL_PUNCH_HOLE: Final = 2
# Larger than the blocks of any usual file system: the kernel writes zeros into what is no whole block.
_ALIGNMENT: Final = 64 * 1024
_NO_HOLES: Final = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV, errno.EPERM})


class NoHolesError(OSError):
    """This file system, or this file, cannot have holes punched."""


def share_cap(cap: int, files: int) -> int:
    """Bytes that each of an attempt's log files may keep."""
    return max(LEAST_CAP, cap // max(files, 1))


def count_kept(size: int, kept_from: int) -> int:
    """Bytes still there of a log of `size` bytes whose part between head and `kept_from` is gone."""
    return size - max(0, kept_from - HEAD_KEPT)


def decide_cut(size: int, kept_from: int, cap: int) -> int | None:
    """Up to which offset a log is to be cut behind its head, or None while it is within its cap.

    A quarter of what the newest part may be is cut at once, so that a steady writer is not cut at each look.
    """
    if count_kept(size, kept_from) <= cap:
        return None
    newest = max(_ALIGNMENT, (cap - HEAD_KEPT) * 3 // 4)
    end = (size - newest) // _ALIGNMENT * _ALIGNMENT
    return end if end > max(kept_from, HEAD_KEPT) else None


def cut_file(path: bytes, end: int) -> None:
    """Free the blocks of the file between its head and `end`; its size stays, writers notice nothing.

    Raises NoHolesError where that cannot be done, OSError for a file that is gone or not an ordinary one.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _punch(descriptor, HEAD_KEPT, end - HEAD_KEPT)
    finally:
        os.close(descriptor)


def can_cut(directory: str) -> bool:
    """Whether holes can be punched into files of this directory; True where it cannot be tried."""
    try:
        descriptor = os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return True
    try:
        _punch(descriptor, 0, _ALIGNMENT)
    except NoHolesError:
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return True


def _punch(descriptor: int, offset: int, length: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    # Where the C library has both, the plain one may take 32-bit offsets.
    call = getattr(libc, "fallocate64", None) or libc.fallocate
    mode = _FALLOC_FL_PUNCH_HOLE | _FALLOC_FL_KEEP_SIZE
    if call(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length)) != 0:
        number = ctypes.get_errno()
        raise (NoHolesError if number in _NO_HOLES else OSError)(number, os.strerror(number))
