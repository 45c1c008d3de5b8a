"""One client of the small daemon of `fake_daemon`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, ClassVar

from cronoq_cli.client.connection import ProcessEnd, find_connection
from cronoq_cli.client.gateway import SocketGateway
from cronoq_cli.client.streams import ClientStreams
from cronoq_cli.config.paths import Paths, find_paths

FAKE_DAEMON = Path(__file__).with_name("fake_daemon.py")
ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0


class Client:
    """One client: gateway, streams and what it noted. `starts`: the daemons that got ready in this home so far."""

    made: ClassVar[list[Client]] = []

    def __init__(self, home: Path, **env: str) -> None:
        self.made.append(self)
        self.env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env}
        self.paths: Paths = find_paths(str(home), {})
        self.notes: list[str] = []
        self.gateway = SocketGateway(lambda: self.paths, self.env, self.notes.append)
        self.streams = ClientStreams(self.gateway)

    @property
    def starts(self) -> list[tuple[int, str]]:
        try:
            lines = Path(self.paths.state_dir, "starts").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [(int(line.split()[0]), line.split()[1]) for line in lines]

    def start(self) -> dict[str, Any]:
        return self.streams.start_daemon()

    def kill(self) -> None:
        """Kill the running daemon and wait until it is gone."""
        connection = find_connection(self.paths)
        assert connection is not None
        end = ProcessEnd(connection)
        os.kill(connection.pid, signal.SIGKILL)
        assert end.wait(PATIENCE_S)
        end.close()
        connection.close()
