"""Where the files are, and which directories are refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronoq_cli.config.paths import Paths, find_paths, prepare_dirs
from cronoq_cli.errors import ExitStatus, InvalidError, UsageError

VARIABLES = ("CRONOQ_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The process's environment without anything that moves the files, and a home directory."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    return monkeypatch


@pytest.fixture
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def socket_by_the_simple_rule(env: dict[str, str]) -> str:
    """The rule as the hot entry has it, on builtins."""
    home = env.get("CRONOQ_HOME")
    runtime = env.get("XDG_RUNTIME_DIR", "")
    state = env.get("XDG_STATE_HOME", "")
    if home:
        return home + "/cronoq.sock"
    if runtime.startswith("/"):
        return runtime + "/cronoq/cronoq.sock"
    return (state if state.startswith("/") else env["HOME"] + "/.local/state") + "/cronoq/cronoq.sock"


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"CRONOQ_HOME": "/q"},
        {"CRONOQ_HOME": ""},
        {"CRONOQ_HOME": "/q", "XDG_RUNTIME_DIR": "/run/user/7"},
        {"XDG_RUNTIME_DIR": "/run/user/7"},
        {"XDG_RUNTIME_DIR": ""},
        {"XDG_RUNTIME_DIR": "run"},
        {"XDG_STATE_HOME": "/state"},
        {"XDG_STATE_HOME": "state"},
        {"XDG_STATE_HOME": ""},
        {"XDG_STATE_HOME": "~/state"},
        {"XDG_STATE_HOME": "/state", "XDG_RUNTIME_DIR": "/run/user/7"},
        {"HOME": "/elsewhere"},
    ],
)
def test_the_socket_is_where_the_simple_rule_of_the_entry_says(
    env: dict[str, str], environment: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        environment.setenv(name, value)
    assert find_paths(None, os.environ).socket == socket_by_the_simple_rule({"HOME": "/home/someone", **env})


def test_the_usual_places_are_those_of_the_desktop_standard(environment: pytest.MonkeyPatch) -> None:
    paths = find_paths(None, os.environ)
    assert paths.home is None
    assert paths.config_file == "/home/someone/.config/cronoq/config.toml"
    assert paths.db == "/home/someone/.local/state/cronoq/cronoq.db"
    assert paths.socket == paths.state_socket
    environment.setenv("XDG_CONFIG_HOME", "/etc/mine")
    environment.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    paths = find_paths(None, os.environ)
    assert paths.config_file == "/etc/mine/cronoq/config.toml"
    assert paths.runtime_dir == "/run/user/7/cronoq"
    assert paths.state_socket == "/home/someone/.local/state/cronoq/cronoq.sock"


def test_a_home_holds_everything_together() -> None:
    paths = find_paths(None, {"CRONOQ_HOME": "/q", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/s"})
    assert paths.home == "/q"
    assert paths.config_file == "/q/config.toml"
    assert paths.db == "/q/cronoq.db"
    assert paths.logs_dir == "/q/logs"
    assert paths.stdin_dir == "/q/stdin"
    assert paths.runner_dir == "/q/runners"
    assert paths.lock_file == "/q/daemon.lock"
    assert paths.daemon_log == "/q/daemon.log"
    assert paths.stopped_mark == "/q/stopped"
    assert paths.socket == paths.state_socket == "/q/cronoq.sock"


def test_the_option_wins_over_the_variable_and_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_paths("here", {"CRONOQ_HOME": "/q"}).home == str(tmp_path / "here")


@pytest.mark.parametrize("home", ["", "a\0b"])
def test_a_home_that_cannot_be_a_path_is_refused(home: str) -> None:
    with pytest.raises(UsageError):
        find_paths(home, {})


def test_a_relative_home_in_a_removed_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="working directory is gone"):
        find_paths("here", {})


def list_dirs(paths: Paths) -> list[str]:
    return [paths.state_dir, paths.runtime_dir, paths.logs_dir, paths.stdin_dir, paths.runner_dir]


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.usefixtures("wide_umask")
def test_directories_are_made_for_the_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    paths = Paths(None, str(tmp_path / "c"), str(tmp_path / "a/state/cronoq"), str(tmp_path / "run/cronoq"))
    prepare_dirs(paths)
    assert [mode_of(path) for path in list_dirs(paths)] == [0o700] * 5
    assert os.umask(0) == 0
    prepare_dirs(paths)


@pytest.mark.usefixtures("wide_umask")
def test_a_directory_of_ours_that_is_too_open_is_narrowed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o777)
    (home / "config.toml").touch()
    prepare_dirs(find_paths(str(home), {}))
    assert mode_of(home) == 0o700


@pytest.mark.usefixtures("wide_umask")
def test_a_directory_that_holds_other_things_keeps_its_mode_or_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "thesis").touch()
    prepare_dirs(find_paths(str(home), {}))
    assert mode_of(home) == 0o755
    assert mode_of(home / "logs") == 0o700
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o1777)
    (shared / "thesis").touch()
    with pytest.raises(InvalidError, match="written by others"):
        prepare_dirs(find_paths(str(shared), {}))
    assert mode_of(shared) == 0o1777


def test_a_symbolic_link_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(InvalidError, match="symbolic link") as caught:
        prepare_dirs(find_paths(str(tmp_path / "link"), {}))
    assert caught.value.exit == ExitStatus.INVALID
    assert list((tmp_path / "real").iterdir()) == []


def test_a_file_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidError, match="not a directory"):
            prepare_dirs(find_paths(str(home), {}))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory of another user")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 12_345, 12_345)
    with pytest.raises(InvalidError, match="belongs to user 12345"):
        prepare_dirs(find_paths(str(home), {}))


def test_a_name_that_is_not_utf8_is_a_place_like_any_other(tmp_path: Path) -> None:
    paths = find_paths(str(tmp_path / "raw\udcff"), {})
    prepare_dirs(paths)
    assert os.path.isdir(os.fsencode(tmp_path) + b"/raw\xff/logs")
