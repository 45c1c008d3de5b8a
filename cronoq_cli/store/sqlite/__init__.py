"""The store in SQLite. `open_store` for the daemon, `open_reader` for everyone who only looks."""

from cronoq_cli.store.sqlite.opening import open_reader, open_store
from cronoq_cli.store.sqlite.reader import SqliteReader
from cronoq_cli.store.sqlite.writer import SqliteStore

__all__ = ["SqliteReader", "SqliteStore", "open_reader", "open_store"]
