"""What `doctor` finds out about the machine: clock, kernel, limits, service manager, and the daemon's environment
beside the caller's. Every reader can be given other places to read from.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import resource
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from cronoq_cli.client.unit import find_unit, is_manager_here
from cronoq_cli.commands.context import Finding
from cronoq_cli.config.paths import Paths
from cronoq_cli.errors import CronoqError
from cronoq_cli.model.moment import load_zone
from cronoq_cli.store.sqlite.database import check_sqlite

OK, NOTE, PROBLEM = "ok", "note", "problem"
EARLIEST_AT = 1_704_067_200.0
"""2024-01-01: a clock before that was never set."""
OLDEST_KERNEL = (5, 4)
LEAST_FILES = 256
ANSWERS_WITHIN_S = 3.0
_CLOCK_REALTIME = 0


def examine(paths: Paths, env: Mapping[str, str], daemon_pid: int | None) -> Iterator[Finding]:
    """All findings about the machine; `daemon_pid`: the daemon whose environment is compared, None when none runs."""
    yield examine_clock(time.time())
    yield from examine_zone(env)
    yield examine_kernel(os.uname().release)
    yield from examine_facilities()
    yield from examine_libraries()
    yield examine_limits(resource.getrlimit(resource.RLIMIT_NOFILE))
    yield from examine_services(paths, env)
    if daemon_pid:
        theirs = read_environment(daemon_pid)
        if theirs is not None:
            yield from compare_environments(env, theirs)


# Clock and zone


def examine_clock(now: float) -> Finding:
    """Whether the clock can be right."""
    if now < EARLIEST_AT:
        stamp = time.strftime("%Y-%m-%d", time.gmtime(now))
        return Finding("clock", PROBLEM, f"it says {stamp}", "set it, best by a time service such as chrony")
    return Finding("clock", OK, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))


def examine_zone(env: Mapping[str, str], local: str = "/etc/localtime") -> Iterator[Finding]:
    """Which zone times are read and schedules run in."""
    named = env.get("TZ", "").lstrip(":")
    if named and not named.startswith("/"):
        try:
            load_zone(named)
            yield Finding("zone", OK, f"{named}, as TZ says")
        except CronoqError as error:
            yield Finding("zone", PROBLEM, f"TZ: {error.message}", error.hint or "name one like Europe/Berlin")
    elif os.path.exists(local):
        target = os.path.realpath(local).rpartition("zoneinfo/")[2]
        yield Finding("zone", OK, f"{target}, as {local} says")
    else:
        yield Finding("zone", NOTE, f"there is no {local}, so the zone is UTC", "set TZ, or install tzdata")


# Kernel and libraries


def examine_kernel(release: str) -> Finding:
    """Whether the kernel is new enough."""
    numbers = [int(part) for part in release.replace("-", ".").split(".")[:2] if part.isdigit()]
    if tuple(numbers) < OLDEST_KERNEL:
        return Finding("kernel", PROBLEM, f"Linux {release} is too old", "5.4 or newer is needed")
    return Finding("kernel", OK, f"Linux {release}")


def examine_facilities(pressure: str = "/proc/pressure/memory") -> Iterator[Finding]:
    """What of the kernel is missing, and what is left out for it."""
    try:
        with open(pressure) as file:
            file.readline()
    except OSError:
        said = "the kernel tells no memory pressure (PSI), so limits.max_memory_pressure never holds anything back"
        yield Finding("kernel", NOTE, said, "boot with psi=1 where the kernel has it")
    if not has_timerfd():
        said = "there is no timerfd, so a change of the clock is noticed late"
        yield Finding("kernel", NOTE, said, "inside a sandbox, let it through")
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        yield Finding("kernel", PROBLEM, "there is no pidfd_open", "inside a sandbox, let it through")


def has_timerfd() -> bool:
    """Whether a timer that follows the clock can be had."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = int(ctypes.CDLL(None, use_errno=True).timerfd_create(_CLOCK_REALTIME, os.O_CLOEXEC))
        if descriptor >= 0:
            os.close(descriptor)
            return True
    return False


def examine_libraries() -> Iterator[Finding]:
    """Whether what Python was built with will do."""
    try:
        check_sqlite()
    except CronoqError as error:
        yield Finding("SQLite", PROBLEM, error.message, error.hint)


def examine_limits(files: tuple[int, int]) -> Finding:
    """Whether the daemon can have enough descriptors."""
    soft, _ = files
    if soft != resource.RLIM_INFINITY and soft < LEAST_FILES:
        return Finding("limits", PROBLEM, f"only {soft} open files are allowed", "raise it: ulimit -n 1024")
    return Finding("limits", OK, f"{'any number of' if soft == resource.RLIM_INFINITY else soft} open files")


# The service manager


def examine_services(paths: Paths, env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the daemon is a service of systemd, and lives on when its user logs out."""
    unit = find_unit(paths, env)
    if not is_manager_here(env):
        said = "there is no systemd for users here, so nothing starts the daemon at boot but the next command"
        yield Finding("service", NOTE if unit is None else PROBLEM, said, None if unit is None else f"see {unit}")
        return
    if unit is None:
        said = "the daemon is no service: the next command starts it, not the boot"
        yield Finding("service", NOTE, said, "cronoq daemon install makes it one")
        return
    lingers = find_linger(env)
    if lingers is False:
        said = f"{unit} is installed, but ends when you log out and starts when you log in"
        yield Finding("service", NOTE, said, "loginctl enable-linger keeps it from boot to shutdown")
    else:
        yield Finding("service", OK, f"{unit} is installed" + ("" if lingers is None else ", with linger"))


def find_linger(env: Mapping[str, str]) -> bool | None:
    """Whether this user's services outlive the login; None where nobody says."""
    user = pwd.getpwuid(os.getuid()).pw_name
    said = _ask(("loginctl", "show-user", user, "--property=Linger", "--value"), env)
    return {"yes": True, "no": False}.get(said.strip())


def _ask(command: Sequence[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command, env=dict(env), capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


# The daemon's environment


def read_environment(pid: int) -> dict[str, str] | None:
    """The environment a process was started with; None where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [os.fsdecode(item).partition("=") for item in file.read().split(b"\0") if item]
    except OSError:
        return None
    return {name: value for name, _, value in pairs}


def compare_environments(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[Finding]:
    """Where the daemon would find other programs, or read the clock in another zone, than this shell."""
    missing = [place for place in _list_path(ours) if place not in _list_path(theirs)]
    if missing:
        said = f"the daemon's has not {', '.join(missing[:3])}" + (
            f" and {len(missing) - 3} more" if missing[3:] else ""
        )
        hint = "tasks have that of who submits them; hooks and groups the daemon's: cronoq daemon restart takes yours"
        yield Finding("PATH", NOTE, said, hint)
    else:
        yield Finding("PATH", OK, "the daemon's has all of this shell's")
    if ours.get("TZ", "") != theirs.get("TZ", ""):
        shown = [env.get("TZ") or "the machine's" for env in (theirs, ours)]
        said = f"the daemon goes by {shown[0]}, this shell by {shown[1]}"
        yield Finding(
            "zone", NOTE, said, "schedules without --tz follow the daemon's: cronoq daemon restart takes yours"
        )


def _list_path(env: Mapping[str, str]) -> list[str]:
    return [place for place in env.get("PATH", "").split(":") if place]
