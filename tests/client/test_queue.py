"""The queue as the client reads it from the store."""

from __future__ import annotations

from pathlib import Path

from cronoq_cli.client.offline import load_snapshot
from cronoq_cli.commands.planning import restore_engine
from cronoq_cli.config.paths import find_paths, prepare_dirs
from cronoq_cli.engine.live import Now
from cronoq_cli.model.lifecycle import Status
from cronoq_cli.model.task import TaskRecord, TaskSpec
from cronoq_cli.store.contract import Changes
from cronoq_cli.store.sqlite import open_store
from tests.client.harness import Client


def test_without_a_store_the_queue_is_empty(tmp_path: Path) -> None:
    found = load_snapshot(find_paths(str(tmp_path / "home"), {}))
    assert found.kept.tasks == []
    assert "default" in found.settings.pools


def test_the_queue_is_read_with_the_configuration_and_an_engine_stands_there(tmp_path: Path) -> None:
    client = Client(tmp_path / "home")
    prepare_dirs(client.paths)
    Path(client.paths.config_file).parent.mkdir(parents=True, exist_ok=True)
    Path(client.paths.config_file).write_text("[pools.default]\nworkers = 3\n")
    store = open_store(client.paths.db)
    store.claim("test", 1000.0)
    spec = TaskSpec(name="job", command=["true"])
    waiting = TaskRecord(id=7, spec=spec, status=Status.READY, seq=7.0, submitted_at=1.0, updated_at=1.0, leased=True)
    store.commit(Changes(new=[waiting], pools={"default": {"paused": True}}))
    store.close()
    found = client.streams.load_queue()
    engine = restore_engine(found, Now(10.0, 0.0))
    pool = engine.state.pools["default"]
    assert (pool.workers, pool.paused, list(pool.leased)) == (3, True, [])
    assert engine.list_ids() == [7]
    assert restore_engine(found, Now(10.0, 0.0), empty=True).list_ids() == []
