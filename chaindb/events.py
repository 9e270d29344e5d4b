"""Events of the node's chains, sent to every event loop of the node that is bound to the chain.

An event carries a number or a hash, never a payload: receivers read the rows or their caches. In the
embedded profile a message goes directly to every bound loop; in production it goes through a group of
the channel layer. The channel layer may lose messages, so receivers also check the database
periodically. The `notifications` module of each chain defines its messages.
"""

import asyncio
import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from channels.layers import get_channel_layer

from chaindb.servers import PATIENCE, WatchedServer

Message = dict[str, Any]
"""An event: `type` is its kind, `chain` the name of its chain; further keys depend on the kind."""

Deliver = Callable[[Message], object]
"""Called with each message, on the bound loop. It must not block."""

RETRY = 1.0
"""Seconds after which groups are joined again when the channel layer failed."""

CANCEL_AGAIN = 1.0
"""Seconds after which a task that ignored its cancellation is cancelled again."""

REJOIN = 3600.0
"""Seconds after which groups are joined again, because a channel layer forgets members after a day."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Listener:
    """A bound event loop: the chains whose messages it gets, and the function that receives them."""

    loop: asyncio.AbstractEventLoop
    chains: frozenset[str]
    deliver: Deliver


class ChainEvents:
    """Sends and receives the events of a node's chains, in one process of the node. Thread-safe.

    Args:
        profile: With `embedded` there is no other process, and the channel layer is not used.
    """

    def __init__(self, profile: str) -> None:
        self._is_alone = profile == "embedded"
        self._lock = threading.Lock()
        self._listeners: tuple[_Listener, ...] = ()
        """Senders read it without a lock, so it is replaced, never changed."""
        self._own_loop: asyncio.AbstractEventLoop | None = None

    def bind(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Deliver,
        chains: Collection[str],
    ) -> Callable[[], None]:
        """Deliver all messages of some chains on an event loop. Return a function that stops this.

        Delivery survives an outage of the channel layer; messages sent during the outage are lost.
        """
        listener = _Listener(loop, frozenset(chains), deliver)
        with self._lock:
            self._listeners = (*self._listeners, listener)
        following: Future[None] | None = None
        if not self._is_alone:
            following = asyncio.run_coroutine_threadsafe(_follow_until_cancelled(listener), loop)

        def unbind() -> None:
            self._remove(listener)
            if following is not None:
                following.cancel()

        return unbind

    def send(self, chain: str, message: Message) -> None:
        """Send a message without waiting for delivery. For services, only after commit.

        Args:
            chain: The chain's name, which receivers find in the message.
            message: The event.
        """
        message = {**message, "chain": chain}
        if self._is_alone:
            for listener in self._listeners:
                if chain in listener.chains:
                    self._deliver_soon(listener, message)
            return
        server = redis_server()
        if server.failed():
            return  # followers find the event at their next periodic check
        sending = self._send(
            chain, message, server
        )  # keeps a reference to this object and its thread
        asyncio.run_coroutine_threadsafe(sending, self._sending_loop()).add_done_callback(_report)

    async def _send(self, chain: str, message: Message, server: WatchedServer) -> None:
        layer = get_channel_layer()
        assert layer is not None  # CHANNEL_LAYERS has a default in every profile
        try:
            async with asyncio.timeout(PATIENCE):
                await layer.group_send(group_of(chain), message)
        except Exception as error:  # the outage of a server is already logged
            if not await asyncio.to_thread(server.suspect, error):
                raise

    def _remove(self, listener: _Listener) -> None:
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

    def _deliver_soon(self, listener: _Listener, message: Message) -> None:
        try:
            listener.loop.call_soon_threadsafe(listener.deliver, message)
        except RuntimeError:  # the loop was closed without unbinding
            self._remove(listener)

    def _sending_loop(self) -> asyncio.AbstractEventLoop:
        """Return a bound loop that runs, else a loop in its own thread (in workers)."""
        for listener in self._listeners:
            if listener.loop.is_running():
                return listener.loop
        with self._lock:
            if self._own_loop is None:
                self._own_loop = loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=[loop], name="chain-events", daemon=True).start()
                # The thread ends with this object; at the end of the process it is just stopped.
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop).atexit = False
            return self._own_loop


def group_of(chain: str) -> str:
    """Return the channel layer group of a chain's events."""
    return f"{chain.lower()}chain.events"


def redis_server() -> WatchedServer:
    """Return the server behind the channel layer."""
    # Imported here: the Redis client takes 0.2 s to import, and the embedded profile has no Redis.
    from chaindb.redis_cache import server

    return server()


async def _follow_until_cancelled(listener: _Listener) -> None:
    """Follow, and end when cancelled.

    The channel layer may swallow a cancellation that arrives together with a message, and then wait
    forever.
    """
    following = asyncio.create_task(_follow(listener))
    try:
        await asyncio.wait([following])
    finally:
        while not following.done():
            following.cancel()
            await asyncio.wait([following], timeout=CANCEL_AGAIN)


async def _follow(listener: _Listener) -> None:
    """Deliver forever the messages that this loop's own channel receives from the groups."""
    while True:
        try:
            await _receive(listener)
        except Exception as error:  # following must continue after any failure
            if not await asyncio.to_thread(redis_server().suspect, error):
                _log_failure(error)
            await asyncio.sleep(RETRY)


def _log_failure(error: Exception) -> None:
    """Log why following failed although the server answers, briefly for a connection lost in an outage."""
    from chaindb.redis_cache import LOST

    if isinstance(error, LOST):
        _log.info("the connection for block announcements was lost; reconnecting")
    else:
        _log.error(
            "listening for block announcements failed; followers find blocks at their next poll",
            exc_info=error,
        )


async def _receive(listener: _Listener) -> None:
    layer: Any = get_channel_layer()
    channel = await layer.new_channel()
    rejoining = asyncio.create_task(_rejoin(layer, channel, listener.chains))
    try:
        await _join(layer, channel, listener.chains)
        while True:
            message = await layer.receive(channel)
            try:
                listener.deliver(message)
            except Exception:  # the next message may be deliverable
                _log.exception("a block announcement could not be delivered")
    finally:
        rejoining.cancel()
        for chain in listener.chains:
            with contextlib.suppress(Exception):  # the server is away, or the loop ends
                await layer.group_discard(group_of(chain), channel)


async def _join(layer: Any, channel: str, chains: Collection[str]) -> None:
    for chain in chains:
        await layer.group_add(group_of(chain), channel)


async def _rejoin(layer: Any, channel: str, chains: Collection[str]) -> None:
    while True:
        await asyncio.sleep(REJOIN)
        try:
            await _join(layer, channel, chains)
        except Exception:  # rejoining must continue after any failure
            _log.exception("the channel groups of block announcements could not be rejoined")


def _report(sent: Future[None]) -> None:
    if not sent.cancelled() and (error := sent.exception()) is not None:
        _log.warning(
            "a block announcement was not sent; followers find the block at their next poll: %s",
            error,
        )


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
