"""Peers' signatures for processes without connections: the network process asks for them.

The request and the answer are a row; an event wakes the network process.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from chaindb.connections import in_thread
from chaindb.database import Database
from chaindb.events import ChainEvents
from network_app import selectors
from network_app.store import signature_requests as rows
from network_app.store.signature_requests import OpenQuery
from network_app.sync.requests import Requests
from network_app.sync.signatures import ask_signatures
from primitives.ids import NodeID

SIGNATURES_WANTED: Final = "signatures.wanted"
"""Type of the event that a process waits for signatures."""
MAX_SECONDS: Final = 20.0
"""How long a caller waits for the answers of all peers."""
MAX_WAITING: Final = 16
"""Requests that the network process works on at the same time."""
_POLL_SECONDS: Final = 0.05

_log: Final = logging.getLogger(__name__)


class RelayedPeers:
    """The peers of the network process, for another process of the node.

    Args:
        db: The node's database.
        events: Wakes the network process.
        chain: The name of the chain whose messages they sign.
    """

    def __init__(self, db: Database, events: ChainEvents, chain: str) -> None:
        self._db = db
        self._events = events
        self._chain = chain

    def ask(self, payload: bytes, node_ids: Collection[NodeID]) -> Mapping[NodeID, bytes]:
        """Return the signatures of those nodes that answer a SignatureRequest. Blocking.

        There are none while the network process does not report.
        """
        reported = selectors.status()
        if reported is None or not selectors.is_fresh(reported):
            return {}
        with self._db.atomic(durable=True):
            key = rows.ask(self._chain, payload, node_ids)
        try:
            self._events.send(self._chain, {"type": SIGNATURES_WANTED})
            return self._wait(key)
        finally:
            with self._db.atomic(durable=True):
                rows.forget(key)

    def _wait(self, key: int) -> Mapping[NodeID, bytes]:
        until = time.monotonic() + MAX_SECONDS
        while (answer := rows.answer_of(key)) is None and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        return answer or {}


class SignatureRelay:
    """Asks the connected peers on behalf of the node's other processes, on the event loop of the network.

    Args:
        db: The node's database.
        requests: Returns the requests of a chain by its name; None: it has not joined the network yet.
    """

    def __init__(self, db: Database, requests: Callable[[str], Requests | None]) -> None:
        self._db = db
        self._requests = requests
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._looking = asyncio.Lock()
        self._looks: set[asyncio.Task[None]] = set()

    async def look(self) -> None:
        """Begin to answer the requests that have come since the last call."""
        async with self._looking:
            room = MAX_WAITING - len(self._tasks)
            if room <= 0:
                return
            for query in await in_thread(self._read, room):
                task = asyncio.create_task(self._answer(query))
                self._tasks[query.key] = task
                task.add_done_callback(lambda _, key=query.key: self._tasks.pop(key, None))  # type: ignore[misc]

    def look_soon(self) -> None:
        """Do the same without waiting; if it fails, the next periodic call repeats it."""
        self._looks.add(task := asyncio.create_task(self._look_once()))
        task.add_done_callback(self._looks.discard)

    async def _look_once(self) -> None:
        with suppress(Exception):
            await self.look()

    def stop(self) -> None:
        """End all tasks; their callers get no signatures."""
        for task in (*self._tasks.values(), *self._looks):
            task.cancel()

    def _read(self, most: int) -> list[OpenQuery]:
        found = rows.unanswered(MAX_SECONDS, most, tuple(self._tasks))
        if found:
            rows.forget_old(3 * MAX_SECONDS)
        return found

    async def _answer(self, query: OpenQuery) -> None:
        try:
            requests = self._requests(query.chain)
            found: Mapping[NodeID, bytes] = {}
            if requests is not None:
                found = await ask_signatures(requests, query.payload, query.node_ids)
            await in_thread(self._write, query.key, found)
        except Exception:  # the caller stops waiting after some seconds
            _log.exception("a request for signatures could not be answered")

    def _write(self, key: int, found: Mapping[NodeID, bytes]) -> None:
        with self._db.atomic(durable=True):
            rows.answer(key, found)
