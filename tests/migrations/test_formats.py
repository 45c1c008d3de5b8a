"""What earlier versions have written is read by this one: stores, journals of runners, configurations.

A fixture is never changed. When the schema or the runner's protocol gets a new number, one of the new is added; one of
the schema is written by `python -m tests.migrations.everything`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cronoq_cli.config.declared import list_sections
from cronoq_cli.config.loading import parse_settings
from cronoq_cli.config.settings import Settings
from cronoq_cli.daemon.loading import load_engine
from cronoq_cli.engine.live import Now
from cronoq_cli.errors import StoreError
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.store.contract import Changes, StoreReader
from cronoq_cli.store.memory import MemoryStore
from cronoq_cli.store.sqlite import migrate, open_reader, open_store
from cronoq_cli.store.sqlite.keeping import check_store
from cronoq_cli.wire.runner import VERSION
from tests.migrations.everything import BASE, STORES, fill, read_everything
from tests.runner.driver import Runner, running
from tests.store.build import task

PLACE = Path(__file__).parent
DUMPED = sorted(STORES.glob("schema-*.json"))
JOURNALS = sorted(PLACE.glob("journals/*.journal"))
CONFIGURATIONS = sorted(PLACE.glob("configurations/*.toml"))


def find_differences(kept: Any, found: Any, place: str = "") -> Iterator[str]:
    """What of the kept is not so any more; what came to it since is no difference."""
    if isinstance(kept, dict) and isinstance(found, dict):
        for name, value in kept.items():
            yield from find_differences(value, found.get(name), f"{place}/{name}")
    elif isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        for number, (one, other) in enumerate(zip(kept, found, strict=True)):
            yield from find_differences(one, other, f"{place}/{number}")
    elif kept not in (None, found):
        yield f"{place}: {kept!r} is {found!r} now"


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=DUMPED, ids=lambda path: path.stem)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """A copy of a store of an earlier or the present version, and what was read of it when it was written."""
    path = tmp_path / "cronoq.db"
    shutil.copyfile(request.param.with_suffix(".db"), path)
    path.chmod(0o600)
    return str(path), json.loads(request.param.read_text())


def test_there_is_a_store_of_the_present_schema() -> None:
    assert STORES / f"schema-{migrate.newest_version()}.json" in DUMPED
    for path in DUMPED:
        with contextlib.closing(sqlite3.connect(path.with_suffix(".db"))) as db:
            assert f"schema-{db.execute('PRAGMA user_version').fetchone()[0]}" == path.stem


def test_all_that_a_version_has_stored_is_read_as_it_was_meant(kept: tuple[str, dict[str, Any]]) -> None:
    path, written = kept
    with contextlib.closing(open_store(path)) as store:
        assert list(find_differences(written, read_everything(store))) == []
        assert not store.load_live().damaged
    assert check_store(path) == []
    reader: StoreReader | None = open_reader(path)
    assert reader is not None
    with contextlib.closing(reader):
        assert list(find_differences(written, read_everything(reader))) == []


def test_every_kind_of_thing_is_in_it(kept: tuple[str, dict[str, Any]]) -> None:
    _, written = kept
    assert {task["status"] for task in written["tasks"]} == {status.value for status in Status}
    assert all(written[part] for part in written)
    ids = [task["id"] for task in written["tasks"]]
    assert written["live"]["next_id"] == max(ids) + 2, "the id of a task that was removed is not given again"


def test_the_present_program_works_with_it(kept: tuple[str, dict[str, Any]]) -> None:
    path, written = kept
    store = open_store(path)
    assert store.claim("next", BASE + 100) == written["epoch"] + 1
    fresh = task(written["live"]["next_id"])
    store.commit(Changes(new=[fresh]))
    settings = parse_settings(CONFIGURATIONS[-1].read_bytes(), "config.toml")
    engine = load_engine(store, settings, Now(BASE + 100, 50.0), {})
    assert set(engine.list_ids()) >= {fresh.id, *written["live"]["tasks"]} - {17}
    assert sorted(engine.state.schedules.by_name) == written["live"]["schedules"]
    store.close()


def test_a_store_of_a_schema_to_come_is_refused_without_harm(kept: tuple[str, dict[str, Any]]) -> None:
    path, _ = kept
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {migrate.newest_version() + 1}")
        db.execute("ALTER TABLE tasks ADD COLUMN levitates TEXT")
        db.commit()
    before = hashlib.sha256(Path(path).read_bytes()).digest()
    for way in (open_store, open_reader):
        with pytest.raises(StoreError, match=f"knows only {migrate.newest_version()}") as caught:
            way(path)
        assert caught.value.code == "schema"
    assert hashlib.sha256(Path(path).read_bytes()).digest() == before
    assert not Path(path + "-wal").exists()


def test_both_kinds_of_store_read_everything_alike() -> None:
    """What the fixture was made of, on the store in memory."""
    written = json.loads(DUMPED[-1].read_text())
    store = MemoryStore()
    store.claim("fixture", BASE)
    fill(store)
    assert list(find_differences(written, read_everything(store))) == []


# -- journals ----------------------------------------------------------------------------------------------------------


def test_there_is_a_journal_of_the_present_version() -> None:
    assert f"wire-{VERSION}" in {path.stem for path in JOURNALS}


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
def test_a_journal_of_a_dead_runner_is_taken_over(journal: Path, tmp_path: Path) -> None:
    dead = tmp_path / "dead.journal"
    shutil.copyfile(journal, dead)
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    forgotten = {token for record in records if record.get("record") == "forgot" for token in record["tokens"]}
    ends = {r["token"]: r for r in records if r.get("event") == "ended" and r["token"] not in forgotten}
    begun = {record["token"] for record in records if record.get("record") == "begin"} - forgotten
    with running(tmp_path) as runner:
        runner.connect()
        runner.send({"order": "find", "journal": str(dead)})
        assert runner.wait(lambda message: message["event"] == "found")["error"] is None
        told = {message["token"]: message for message in runner.seen if message["event"] == "ended"}
        _check_told(runner, told, ends, begun)
    assert not dead.exists()


def _check_told(runner: Runner, told: dict[str, Any], ends: dict[str, Any], begun: set[str]) -> None:
    assert told.keys() == begun
    for token in begun:
        if token in ends:
            assert list(find_differences(ends[token], told[token])) == []
        else:
            assert told[token]["cause"] == "lost"
    assert {end["token"] for end in runner.connect(epoch=2)["ended"]} == begun


# -- configurations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_a_configuration_of_a_version_is_taken(path: Path) -> None:
    settings = parse_settings(path.read_bytes(), path.name)
    plain = json.loads(json.dumps(msgspec.to_builtins(settings, str_keys=True)))
    dumped = path.with_suffix(".json")
    assert list(find_differences(json.loads(dumped.read_text()), plain)) == []


def test_the_newest_kept_configuration_has_every_key_there_is() -> None:
    text = CONFIGURATIONS[-1].read_text()
    missing = [key.name for section in list_sections() for key in section.keys if f"{key.name} = " not in text]
    assert missing == []
    assert parse_settings(CONFIGURATIONS[-1].read_bytes(), "config.toml") != Settings()
