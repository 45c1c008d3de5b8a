"""posix_spawn of the C library, called directly.

The one of `os` cannot name the two signals the C library keeps for itself, so these stay ignored in every
task; and a call here needs less of the little time a short task takes.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final

from cronoq_cli.runner.environment import CStrings

# Values of spawn.h, the same in glibc and musl.
_SETSIGDEF: Final = 0x04
_SETSIGMASK: Final = 0x08
_SETSID: Final = 0x80

# Larger than any C library's posix_spawnattr_t, posix_spawn_file_actions_t and sigset_t.
_STRUCT_BYTES: Final = 1024
_SIGSET_BYTES: Final = 128
_MOST_KEPT: Final = 64

Actions = tuple[tuple[int, int], ...]


class CSpawn:
    """Spawns leaders of new sessions, all signals at their defaults and none blocked."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._spawn: Any = library.posix_spawn
        self._spawn.argtypes = [ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_void_p] * 4]
        self._init: Any = library.posix_spawn_file_actions_init
        self._add: Any = library.posix_spawn_file_actions_adddup2
        self._attributes = ctypes.create_string_buffer(_STRUCT_BYTES)
        self._kept: dict[Actions, Any] = {}
        self._pid = ctypes.c_int()
        self._at_pid = ctypes.addressof(self._pid)
        self.usable = self._set_attributes(library)

    def _set_attributes(self, library: Any) -> bool:
        """False where the C library cannot make a session itself."""
        every = ctypes.create_string_buffer(b"\xff" * _SIGSET_BYTES, _SIGSET_BYTES)
        none = ctypes.create_string_buffer(_SIGSET_BYTES)
        flags = ctypes.c_short(_SETSIGDEF | _SETSIGMASK | _SETSID)
        library.posix_spawnattr_init(self._attributes)
        library.posix_spawnattr_setsigdefault(self._attributes, every)
        library.posix_spawnattr_setsigmask(self._attributes, none)
        return bool(library.posix_spawnattr_setflags(self._attributes, flags) == 0)

    def spawn(self, path: bytes, argv: CStrings, environment: CStrings, actions: Actions) -> int:
        """The pid; `environment` is of `NAME=VALUE`, `actions` of (source, target) descriptors.

        Raises OSError with the errno of the execve.
        """
        kept = self._kept.get(actions)
        if kept is None:
            kept = self._keep_actions(actions)
        number = self._spawn(self._at_pid, path, kept, self._attributes, argv.address, environment.address)
        if number:
            raise OSError(number, os.strerror(number))
        return self._pid.value

    def _keep_actions(self, actions: Actions) -> Any:
        """The same few descriptors are free again and again, so their actions are made only once."""
        if len(self._kept) >= _MOST_KEPT:
            # Not destroyed: a few hundred bytes, and only where descriptors are held in ever new orders.
            self._kept.clear()
        kept = ctypes.create_string_buffer(_STRUCT_BYTES)
        if self._init(kept) != 0:
            raise MemoryError
        for source, target in actions:
            if self._add(kept, source, target) != 0:
                raise MemoryError
        self._kept[actions] = kept
        return kept
