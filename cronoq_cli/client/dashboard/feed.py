"""What comes from the daemon: one thread reads the stream of events, one asks what is to be asked, one after the other.

Results are handed to the loop; nothing here knows what is shown. A burst of events wakes the loop once.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from cronoq_cli.commands.context import Gateway
from cronoq_cli.errors import CronoqError, NoDaemonError
from cronoq_cli.wire.requests import Reply, Request, Watch

AGAIN_S = 1.0
"""How long after a daemon stayed away it is looked for again."""

Event = Mapping[str, Any]
Watching = Callable[[Request, Callable[[str], None]], Any]
"""The messages of a stream; the second argument is told `lost` when the daemon went away, `back` when it is there."""
LOST, BACK = "lost", "back"


class Feed:
    """One dashboard's feed. Made and used on the loop's thread; `stop` ends it, threads that still wait die with us.

    `on_events` gets what came since the last time, `on_link` the words `lost` and `back` and an error's line.
    """

    def __init__(
        self,
        gateway: Gateway,
        watch: Watching,
        *,
        on_events: Callable[[list[Event]], None],
        on_link: Callable[[str, str | None], None],
    ) -> None:
        self._gateway = gateway
        self._watch = watch
        self._on_events = on_events
        self._on_link = on_link
        self._loop = asyncio.get_running_loop()
        # What is called on the loop runs as if called here: a thread has none of the context Textual goes by.
        self._context = contextvars.copy_context()
        self._asked: queue.SimpleQueue[tuple[Request, asyncio.Future[Reply]] | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._events: list[Event] = []

    def start(self) -> None:
        """Begin to listen and to ask."""
        threading.Thread(target=self._listen, daemon=True, name="watch").start()
        threading.Thread(target=self._answer, daemon=True, name="ask").start()

    def stop(self) -> None:
        """Hand over nothing more."""
        self._stopped.set()
        self._asked.put(None)

    async def ask(self, request: Request) -> Reply:
        """The reply. Raises what the daemon answered, NoDaemonError, ProtocolError."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._asked.put((request, future))
        return await future

    # -- the thread that asks --------------------------------------------------------------------------------------

    def _answer(self) -> None:
        while (item := self._asked.get()) is not None:
            request, future = item
            try:
                self._tell(_settle, future, self._gateway.ask(request), None)
            except Exception as error:
                self._tell(_settle, future, None, error)

    def _tell(self, call: Callable[..., None], *values: Any) -> None:
        if self._stopped.is_set():
            return
        try:
            self._loop.call_soon_threadsafe(call, *values, context=self._context)
        except RuntimeError:  # the loop has ended meanwhile
            self._stopped.set()

    # -- the thread that listens -----------------------------------------------------------------------------------

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                self._read_stream()
                error: CronoqError = NoDaemonError("the daemon ended the stream of events")
            except CronoqError as trouble:
                error = trouble
            except Exception as trouble:
                error = CronoqError(f"the stream of events broke: {trouble}")
            self._tell(self._on_link, LOST, error.line())
            self._stopped.wait(AGAIN_S)

    def _read_stream(self) -> None:
        for message in self._watch(Watch(), self._note_link):
            if self._stopped.is_set():
                return
            event = message.get("event")
            if event is None:
                self._tell(self._on_link, BACK, None)
            else:
                self._add(event)

    def _note_link(self, word: str) -> None:
        self._tell(self._on_link, word, None)

    def _add(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)
            is_first = len(self._events) == 1
        if is_first:
            self._tell(self._hand_over)

    def _hand_over(self) -> None:
        with self._lock:
            events, self._events = self._events, []
        self._on_events(events)


def _settle(future: asyncio.Future[Reply], reply: Reply | None, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    elif reply is not None:
        future.set_result(reply)
