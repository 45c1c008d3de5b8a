"""The daemon as a service: the unit's text, and what is asked of a systemctl that stands in for the real one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cronoq_cli.client import launch, unit
from cronoq_cli.client.housekeeping import ClientHousekeeping
from cronoq_cli.config.paths import find_paths
from cronoq_cli.errors import ConflictError
from tests.client.harness import Client

PATHS = find_paths("/srv/my $HOME/100%", {})
USUAL = find_paths(None, {})


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """A user with a systemd; their systemctl notes what it is asked, and refuses what a file `refuse` names."""
    for name in ("bin", "run/systemd", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "run/systemd/private").touch()
    systemctl = tmp_path / "bin/systemctl"
    systemctl.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
        f'if [ "$2" = "$(cat {tmp_path}/refuse 2>/dev/null)" ]; then echo it is masked >&2; exit 1; fi\n'
    )
    systemctl.chmod(0o755)
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }


def test_the_unit_leaves_tasks_alone_and_is_watched() -> None:
    lines = unit.format_unit(USUAL, {}, 30).splitlines()
    for line in ("Type=notify", "KillMode=process", "OOMPolicy=continue", "Restart=on-failure", "WatchdogSec=60"):
        assert line in lines
    assert "TimeoutStopSec=90" in lines
    assert f"ExecStart={sys.executable} -P -m cronoq_cli.daemon --foreground" in lines
    assert "RestartPreventExitStatus=4 7" in lines


def test_each_home_has_a_unit_of_its_own_and_odd_characters_are_quoted() -> None:
    assert unit.unit_name(USUAL) == "cronoq.service"
    assert unit.unit_name(PATHS) != unit.unit_name(find_paths("/srv/other", {}))
    text = unit.format_unit(PATHS, {}, 30)
    assert '--home "/srv/my $$HOME/100%%"' in text
    assert "Description=cronoq, the queue and the schedules of this user, in /srv/my $HOME/100%%" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("paths", [USUAL, PATHS], ids=["usual", "home"])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, paths: unit.Paths) -> None:
    file = tmp_path / unit.unit_name(paths)
    file.write_text(unit.format_unit(paths, {}, 30))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    command = ["systemd-analyze", "--user", "--man=no", "verify", str(file)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    about_us = [line for line in done.stderr.splitlines() if file.name in line]
    assert (about_us, done.returncode) == ([], 0), done.stderr


def test_it_is_installed_started_and_taken_away(tmp_path: Path, user: dict[str, str]) -> None:
    paths = find_paths(str(tmp_path / "q"), {})
    keeper = ClientHousekeeping(paths, user)
    place = keeper.install_unit()
    assert place == str(tmp_path / "home/.config/systemd/user" / unit.unit_name(paths))
    assert Path(place).read_text() == keeper.format_unit()
    assert unit.find_unit(paths, user) == place
    keeper.start_unit()
    assert unit.start_service(paths, user)
    assert keeper.uninstall_unit() == place
    assert not Path(place).exists()
    assert keeper.uninstall_unit() is None
    name = unit.unit_name(paths)
    asked = (tmp_path / "asked").read_text().splitlines()
    steps = ["daemon-reload", f"enable {name}", f"start {name}", f"start {name}", f"disable {name}", "daemon-reload"]
    assert asked == [f"--user {step}" for step in steps]


def test_what_systemd_refuses_is_told_in_its_words(tmp_path: Path, user: dict[str, str]) -> None:
    (tmp_path / "refuse").write_text("enable")
    paths = find_paths(str(tmp_path / "q"), {})
    with pytest.raises(ConflictError, match="it is masked"):
        ClientHousekeeping(paths, user).install_unit()
    (tmp_path / "refuse").write_text("start")
    assert not unit.start_service(paths, user), "then the client starts a daemon itself"


def test_without_a_systemd_nothing_is_installed(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    with pytest.raises(ConflictError, match="no systemd for users"):
        ClientHousekeeping(find_paths(str(tmp_path / "q"), {}), env).install_unit()
    assert list(tmp_path.rglob("*.service")) == []
    assert not unit.start_service(find_paths(str(tmp_path / "q"), {}), env)


def test_where_the_service_is_installed_it_starts_the_daemon(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def start_service(paths: unit.Paths, env: dict[str, str]) -> bool:
        asked.append(paths.state_dir)
        return bool(launch._start(paths, env, standby=False))

    monkeypatch.setattr(unit, "start_service", start_service)
    assert client.start()["started"]
    assert not client.start()["started"]
    assert (asked, len(client.starts)) == ([client.paths.state_dir], 1)


def test_where_the_service_cannot_start_it_the_client_does(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "start_service", lambda paths, env: False)
    assert client.start()["started"]
    assert len(client.starts) == 1
