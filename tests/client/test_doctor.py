"""What the doctor says of files and of the machine, each reader given something made for it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from cronoq_cli.client import surroundings
from cronoq_cli.client.examination import examine
from cronoq_cli.client.housekeeping import ClientHousekeeping, find_highest_logged
from cronoq_cli.config.paths import find_paths
from cronoq_cli.errors import ConflictError
from cronoq_cli.store.sqlite import open_store

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/"}


def examine_home(home: Path) -> dict[str, str]:
    """Level and message of each finding about the files, by subject; the worst of a subject counts."""
    found: dict[str, str] = {}
    for finding in examine(find_paths(str(home), {}), ENV):
        if finding.subject not in found or finding.level == "problem":
            found[finding.subject] = f"{finding.level}: {finding.message}"
    return found


def test_a_home_that_is_not_there_yet_is_nothing_wrong(tmp_path: Path) -> None:
    found = examine_home(tmp_path / "home")
    assert found["directories"].startswith("note: ")
    assert found["store"] == "ok: there is none yet"
    assert not (tmp_path / "home").exists()


def test_a_damaged_store_a_loose_mode_and_a_link_are_problems(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    open_store(str(tmp_path / "cronoq.db")).close()
    assert examine_home(tmp_path)["store"].startswith("ok: ")
    (tmp_path / "cronoq.db").chmod(0o644)
    assert "others can look in" in examine_home(tmp_path)["directories"]
    content = bytearray((tmp_path / "cronoq.db").read_bytes())
    content[8192:16384] = bytes(8192)
    (tmp_path / "cronoq.db").write_bytes(content)
    assert examine_home(tmp_path)["store"].startswith("problem: ")
    (tmp_path / "cronoq.db").rename(tmp_path / "elsewhere")
    (tmp_path / "cronoq.db").symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in examine_home(tmp_path)["directories"]


def test_a_socket_that_was_left_and_a_wanted_stop_are_told(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "cronoq.sock"))
    (tmp_path / "stopped").touch()
    found = examine_home(tmp_path)
    assert "was left by a daemon that is gone" in found["socket"]
    assert found["daemon"].startswith("note: it was stopped")


def test_clock_kernel_and_limits_are_judged() -> None:
    assert surroundings.examine_clock(1_000_000.0).level == "problem"
    assert surroundings.examine_clock(1_790_000_000.0).level == "ok"
    assert surroundings.examine_kernel("4.19.0-21-amd64").level == "problem"
    assert surroundings.examine_kernel("5.4.0").level == "ok"
    assert surroundings.examine_kernel("5.15-generic").level == "ok"
    assert surroundings.examine_limits((64, 64)).level == "problem"
    assert surroundings.examine_limits((resource.RLIM_INFINITY,) * 2).level == "ok"


@pytest.mark.parametrize(
    ("env", "level", "said"),
    [
        ({"TZ": "Europe/Berlin"}, "ok", "Europe/Berlin"),
        ({"TZ": ":Europe/Berlin"}, "ok", "Europe/Berlin"),
        ({"TZ": "Europe/Berlni"}, "problem", "Berlni"),
        ({}, "note", "UTC"),
    ],
)
def test_the_zone_is_named(tmp_path: Path, env: dict[str, str], level: str, said: str) -> None:
    (finding,) = surroundings.examine_zone(env, str(tmp_path / "localtime"))
    assert finding.level == level
    assert said in finding.message


def test_what_the_kernel_lacks_is_left_out_with_a_note(tmp_path: Path) -> None:
    assert any("PSI" in finding.message for finding in surroundings.examine_facilities(str(tmp_path / "none")))
    (tmp_path / "memory").write_text("some avg10=0.00\n")
    assert not any("PSI" in finding.message for finding in surroundings.examine_facilities(str(tmp_path / "memory")))


def test_a_path_and_a_zone_that_differ_are_noted() -> None:
    ours = {"PATH": "/a:/b:/c:/d:/e", "TZ": "Europe/Berlin"}
    path, zone = surroundings.compare_environments(ours, {"PATH": "/b"})
    assert (path.level, zone.level) == ("note", "note")
    assert "/a, /c, /d and 1 more" in path.message
    assert "the machine's" in zone.message
    assert [one.level for one in surroundings.compare_environments({"PATH": "/b"}, {"PATH": "/a:/b"})] == ["ok"]


def test_linger_is_asked_of_logind(tmp_path: Path) -> None:
    command = tmp_path / "loginctl"
    for said, answer in (("yes", True), ("no", False), ("", None)):
        command.write_text(f"#!/bin/sh\necho {said}\n")
        command.chmod(0o755)
        assert surroundings.find_linger({"PATH": f"{tmp_path}:/bin"}) is answer
    assert surroundings.find_linger({"PATH": "/nowhere"}) is None


def test_the_highest_task_with_a_log_is_found(tmp_path: Path) -> None:
    assert find_highest_logged(str(tmp_path)) == 0
    for name in ("0/7.1.log", "2/2100.1.log", "2/2099.3.err", "10/odd"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert find_highest_logged(str(tmp_path)) == 2100


def test_a_store_that_is_set_aside_is_never_written_over(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    keeper = ClientHousekeeping(find_paths(str(tmp_path), {}), ENV)
    open_store(str(tmp_path / "cronoq.db")).close()
    keeper.back_up(str(tmp_path / "copy"))
    with pytest.raises(ConflictError):
        keeper.back_up(str(tmp_path / "copy"))
    places = [keeper.restore(str(tmp_path / "copy")) for _ in range(3)]
    assert len(set(places)) == 3
    assert all(place is not None and os.path.exists(place) for place in places)
    (tmp_path / "cronoq.db").unlink()
    assert keeper.restore(str(tmp_path / "copy")) is None
