"""A store copied, checked, and replaced by a copy of it: whatever fails on the way, a whole one is in its place."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cronoq_cli.errors import ConflictError, NotFoundError, StoreError
from cronoq_cli.store.contract import Changes, Filter
from cronoq_cli.store.sqlite import keeping, open_reader, open_store

from .build import task


def fill(path: Path, *ids: int) -> None:
    """A store with these tasks, closed in order."""
    store = open_store(str(path))
    store.claim("me", 1.0)
    store.commit(Changes(new=[task(number) for number in ids]))
    store.close()


def list_ids(path: str | Path) -> list[int]:
    reader = open_reader(str(path))
    assert reader is not None
    found = [record.id for record in reader.list_where(Filter())]
    reader.close()
    return found


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """A store with task 1, and a copy of it made before task 2 came."""
    fill(tmp_path / "store.db", 1)
    keeping.back_up(str(tmp_path / "store.db"), str(tmp_path / "copy.db"))
    fill(tmp_path / "store.db", 2)
    return tmp_path / "store.db", tmp_path / "copy.db"


def put_back(store: Path, copy: Path, least: int = 1) -> bool:
    return keeping.put_back(str(copy), str(store), f"{store}.aside", least)


def test_a_copy_is_put_back_and_the_other_kept(stores: tuple[Path, Path]) -> None:
    store, copy = stores
    assert put_back(store, copy)
    assert list_ids(store) == [1]
    assert list_ids(f"{store}.aside") == [1, 2]
    assert list_ids(copy) == [1], "the copy stays"


def test_ids_given_since_are_not_given_again(stores: tuple[Path, Path]) -> None:
    store, copy = stores
    assert keeping.find_next_id(str(store)) == 3
    put_back(store, copy, keeping.find_next_id(str(store)))
    assert keeping.find_next_id(str(store)) == 3
    assert keeping.find_next_id(str(store.with_name("none"))) == 1


def test_the_wal_of_a_store_that_was_not_closed_goes_aside_with_it(stores: tuple[Path, Path], tmp_path: Path) -> None:
    store, copy = stores
    writer = open_store(str(store))
    writer.claim("me", 1.0)
    writer.commit(Changes(new=[task(3)]))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("store.db", "store.db-wal"):
        shutil.copy(tmp_path / name, crashed / name)
    writer.close()
    put_back(crashed / "store.db", copy)
    assert list_ids(crashed / "store.db") == [1]
    assert not (crashed / "store.db-wal").exists()
    assert list_ids(crashed / "store.db.aside") == [1, 2, 3]


def test_where_no_store_was_there_is_none_to_set_aside(stores: tuple[Path, Path], tmp_path: Path) -> None:
    assert not put_back(tmp_path / "new.db", stores[1])
    assert list_ids(tmp_path / "new.db") == [1]


@pytest.mark.parametrize("step", ["link", "rename", "replace"])
def test_a_failure_on_the_way_leaves_a_whole_store_in_its_place(
    stores: tuple[Path, Path], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, copy = stores
    real = os.rename

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    def rename(source: str, target: str) -> None:
        if source.endswith(".restored"):
            refuse()
        real(source, target)

    if step == "link":
        monkeypatch.setattr(keeping.os, "link", refuse)  # then it is renamed, as where there are no links
    monkeypatch.setattr(keeping.os, "rename", refuse if step == "rename" else rename)
    if step == "rename":
        monkeypatch.setattr(keeping.database, "copy_store", refuse)
    with pytest.raises((StoreError, OSError)):
        put_back(store, copy)
    monkeypatch.undo()
    assert list_ids(store) == [1, 2]
    assert sorted(path.name for path in store.parent.iterdir()) == ["copy.db", "store.db"]


def test_pages_that_are_wrong_are_found(stores: tuple[Path, Path]) -> None:
    store, copy = stores
    assert keeping.check_store(str(store)) == []
    assert keeping.check_store(str(store), quick=True) == []
    content = bytearray(copy.read_bytes())
    content[4096 * 3 : 4096 * 5] = os.urandom(8192)
    copy.write_bytes(content)
    try:
        assert keeping.check_store(str(copy))
    except StoreError as error:
        assert error.code == "damaged"


def test_what_is_no_store_or_not_there_is_told(tmp_path: Path, stores: tuple[Path, Path]) -> None:
    with pytest.raises(NotFoundError):
        keeping.check_store(str(tmp_path / "none"))
    (tmp_path / "text").write_text("x" * 200)
    with pytest.raises(StoreError):
        keeping.check_store(str(tmp_path / "text"))
    with pytest.raises(ConflictError):
        keeping.back_up(str(stores[0]), str(stores[1]))
