"""A daemon with the real lock, socket and options, but without engine and store: started as the client starts one.

`FAKE` in the environment shapes it: `version=X` claims another version, `refuse` cannot start, `silent` ends without
a word, `unanswered` dies over each submission, `stopping` sends the first submission back and ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import cronoq_cli.daemon.connection
import cronoq_cli.wire.codec
from cronoq_cli.config.paths import find_paths
from cronoq_cli.daemon.detach import detach, parse_options
from cronoq_cli.daemon.instance import InstanceLock, announce_failure, announce_ready, clear_stopped, mark_stopped
from cronoq_cli.daemon.server import Server
from cronoq_cli.errors import ConflictError, CronoqError, InvalidError, NotFoundError, WaitTimeoutError
from cronoq_cli.wire.codec import CommandLine, LineAnswer
from cronoq_cli.wire.requests import DaemonStop, ListTasks, Reply, Request, Submit, WaitTasks, Watch


class Parked(Exception):
    """Wait until a submission comes."""


class Fake:
    def __init__(self, about: dict[str, Any], shape: str) -> None:
        self.about = about
        self.shape = shape
        self.over = asyncio.Event()
        self.parked: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
        self.watchers: list[Callable[[dict[str, Any]], None]] = []
        self.submitted = 0
        self.stopped = False

    def answer_line(self, line: CommandLine) -> LineAnswer:
        return LineAnswer(0, b"answered by the daemon\n", b"")

    def refuse_line(self, line: CommandLine, error: CronoqError) -> LineAnswer:
        return LineAnswer(int(error.exit), b"", error.line().encode())

    def answer(self, request: Request) -> Reply:
        if isinstance(request, DaemonStop):
            self.stopped = not request.restart
            self.over.set()
        elif isinstance(request, Submit):
            self._submit()
        elif isinstance(request, WaitTasks) and not self.submitted:
            if request.now:
                raise WaitTimeoutError("the time to wait is over")
            raise Parked
        elif isinstance(request, ListTasks) and request.limit == 0:
            raise NotFoundError("nothing matched")
        return Reply(doc={"daemon": self.about, "submitted": self.submitted})

    def _submit(self) -> None:
        if self.shape == "unanswered":
            os._exit(9)
        self.submitted += 1
        for send in self.watchers:
            send({"event": {"seq": self.submitted}})
        parked, self.parked = self.parked, []
        for call, done in parked:
            self.run(call, done)

    def run(self, call: Callable[[], Any], done: Callable[[Any], None]) -> Callable[[], None] | None:
        try:
            result = call()
        except Parked:
            self.parked.append((call, done))
            return lambda: None
        except Exception as error:
            result = error
        done(result)
        return None

    def watch(self, request: Watch, send: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        after = self.submitted if request.after_seq is None else request.after_seq
        send({"watching": after, "tasks": None})
        for seq in range(after + 1, self.submitted + 1):
            send({"event": {"seq": seq}})
        self.watchers.append(send)
        return lambda: self.watchers.remove(send)


async def serve(options: Any, paths: Any, shape: str) -> None:
    lock = InstanceLock(paths.lock_file)
    if not lock.try_acquire():
        with open(os.path.join(paths.state_dir, "refused"), "w"):
            pass
        raise ConflictError("a daemon runs already", code="already-running")
    was_stopped = clear_stopped(paths.stopped_mark)
    about = {"pid": os.getpid(), "version": cronoq_cli.daemon.connection.VERSION, "resumed": 3}
    fake = Fake(about, shape)
    server = Server(fake)
    await server.open(paths.socket, paths.state_socket)
    with open(os.path.join(paths.state_dir, "starts"), "a") as file:
        file.write(f"{os.getpid()} {about['version']}\n")
    announce_ready(options.ready_fd, about | {"was_stopped": was_stopped})
    await fake.over.wait()
    await server.close()
    if fake.stopped:
        mark_stopped(paths.stopped_mark)


def main() -> int:
    options = parse_options(sys.argv[1:])
    detach(options)
    shape = os.environ.get("FAKE", "")
    paths = find_paths(options.home, os.environ)
    if shape == "silent":
        print("Traceback: a reason\n", flush=True)
        return 1
    if shape.startswith("version="):
        version = shape.removeprefix("version=")
        cronoq_cli.daemon.connection.VERSION = version
        cronoq_cli.wire.codec.VERSION = version
    try:
        if shape == "refuse":
            raise InvalidError("the configuration is wrong", hint="mend it")
        asyncio.run(serve(options, paths, shape))
    except CronoqError as error:
        announce_failure(options.ready_fd, error)
        return error.exit
    return 0


if __name__ == "__main__":
    sys.exit(main())
