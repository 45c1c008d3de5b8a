"""What is done with the files of a cronoq, with a daemon or without: reading changes, copying, checking and restoring
the store, the doctor, the service. What the doctor looks at stands in `examination`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping

from cronoq_cli.client import unit
from cronoq_cli.client.living_runners import list_living_runners
from cronoq_cli.commands.context import Finding
from cronoq_cli.config.effective import Changes
from cronoq_cli.config.loading import load_settings
from cronoq_cli.config.paths import Paths, prepare_dirs
from cronoq_cli.errors import EXAMINE, ConflictError, InvalidError, StoreError
from cronoq_cli.model.places import FILES_A_DIRECTORY
from cronoq_cli.store.sqlite import open_reader
from cronoq_cli.store.sqlite.keeping import back_up, check_store, find_next_id, put_back


class ClientHousekeeping:
    """The housekeeping of one cronoq."""

    def __init__(self, paths: Paths, env: Mapping[str, str]) -> None:
        self._paths = paths
        self._env = env

    def load_changes(self) -> Changes:
        """What was changed by command and is stored. Raises StoreError."""
        reader = open_reader(self._paths.db)
        if reader is None:
            return Changes()
        with contextlib.closing(reader):
            found = {name: state.get("set") for name, state in reader.load_pools().items()}
            pools = {name: changes for name, changes in found.items() if isinstance(changes, dict)}
            return Changes(pools, reader.load_resources())

    def back_up(self, target: str) -> None:
        """Copy the store to a new file, consistent while a daemon writes."""
        back_up(self._paths.db, target)

    def check_store(self, path: str | None) -> tuple[str, list[str]]:
        """The file that was checked, and what is wrong with it."""
        chosen = self._paths.db if path is None else path
        return chosen, check_store(chosen)

    def restore(self, backup: str) -> str | None:
        """Put a backup in the place of the store, which is set aside; where it is then."""
        troubles = check_store(backup)
        if troubles:
            raise StoreError(f"{backup} is damaged: {troubles[0]}", hint="use another backup", code="damaged")
        prepare_dirs(self._paths)
        with _only_one(self._paths):
            _refuse_runners(self._paths)
            aside = _find_free(f"{self._paths.db}.aside-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
            least = max(find_next_id(self._paths.db), find_highest_logged(self._paths.logs_dir) + 1)
            return aside if put_back(backup, self._paths.db, aside, least) else None

    def examine(self) -> Iterator[Finding]:
        """What there is to say of this cronoq and this machine."""
        from cronoq_cli.client.examination import examine

        return examine(self._paths, self._env)

    # The service

    def format_unit(self) -> str:
        """The unit's text."""
        return unit.format_unit(self._paths, self._env, load_settings(self._paths.config_file).daemon.stop_timeout_s)

    def install_unit(self) -> str:
        """Write the unit and have it start at login; where it is."""
        unit.need_manager(self._env)
        place = unit.write_unit(self._paths, self._env, self.format_unit())
        unit.ask_manager(self._env, "daemon-reload")
        unit.ask_manager(self._env, "enable", unit.unit_name(self._paths))
        return place

    def start_unit(self) -> None:
        """Start the daemon by its unit."""
        unit.ask_manager(self._env, "start", unit.unit_name(self._paths))

    def uninstall_unit(self) -> str | None:
        """Take the unit away; where it was."""
        place = unit.find_unit(self._paths, self._env)
        if place is None:
            return None
        unit.need_manager(self._env)
        unit.ask_manager(self._env, "disable", unit.unit_name(self._paths))
        try:
            os.unlink(os.fsencode(place))
        except OSError as error:
            raise ConflictError(f"cannot remove {place}: {error.strerror}", hint="remove it by hand") from error
        unit.ask_manager(self._env, "daemon-reload")
        return place


@contextlib.contextmanager
def _only_one(paths: Paths) -> Iterator[None]:
    """Hold the lock that makes a daemon the only one of its store. Raises ConflictError while one runs."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(os.fsencode(paths.lock_file), flags, 0o600)
    except OSError as error:
        raise InvalidError(f"cannot open the lock {paths.lock_file}: {error.strerror}", hint=EXAMINE) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise ConflictError("a daemon runs on this store", hint="cronoq daemon stop; then try again") from error
    finally:
        os.close(descriptor)


def _refuse_runners(paths: Paths) -> None:
    if list_living_runners(paths):
        raise ConflictError(
            "tasks of this store still run, without a daemon", hint="cronoq daemon start; cronoq daemon stop; try again"
        )


def _find_free(name: str) -> str:
    """A name that nothing has: what was set aside before is never overwritten."""
    number, chosen = 1, name
    while os.path.lexists(chosen):
        number += 1
        chosen = f"{name}-{number}"
    return chosen


def find_highest_logged(logs_dir: str) -> int:
    """The highest task that has a log: an id not to be given again, whatever a store says. 0 without any."""
    numbers = sorted((int(name) for name in _list(logs_dir) if name.isdecimal()), reverse=True)
    for number in numbers:
        ids = [int(head) for name in _list(f"{logs_dir}/{number}") if (head := name.partition(".")[0]).isdecimal()]
        if ids:
            return max(ids)
    return max(0, *(number * FILES_A_DIRECTORY for number in numbers)) if numbers else 0


def _list(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
