"""Pointers to what happened on a chain, sent to every event loop of the node that follows it.

A pointer is a number or a hash, never a payload: who receives it reads the rows or its memory. In the
embedded profile a message goes straight to every bound loop; in production it goes through a group
of the channel layer. That may lose messages, so receivers heal by looking at the database now and
then. What the messages of a chain are stands in its own `notifications`.
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

from chaindb.chains import Chain
from chaindb.servers import PATIENCE, Server

Message = dict[str, Any]
"""Its `type` says what happened."""

Deliver = Callable[[Message], object]
"""Takes a message, on the loop that it was bound with; it must not block."""

RETRY = 1.0
"""Seconds after which a layer that failed is joined again."""

CANCEL_AGAIN = 1.0
"""Seconds after which who still follows is cancelled once more."""

REJOIN = 3600.0
"""Seconds after which groups are joined again: a layer forgets members after a day."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Listener:
    """A loop that follows, the chains that it wants to hear of, and who takes the messages."""

    loop: asyncio.AbstractEventLoop
    chains: frozenset[str]
    deliver: Deliver


class Pointers:
    """The pointers of one node, as one of its processes sends and hears them. Threads share it.

    A chain is named by its first alias.

    Args:
        profile: Where it is `embedded` there is no other process, and the channel layer is left alone.
    """

    def __init__(self, profile: str) -> None:
        self._is_alone = profile == "embedded"
        self._lock = threading.Lock()
        self._listeners: tuple[_Listener, ...] = ()
        """Senders read it without a lock, so it is never changed but replaced."""
        self._own_loop: asyncio.AbstractEventLoop | None = None

    def bind(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Deliver,
        chains: Collection[str] = tuple(Chain),
    ) -> Callable[[], None]:
        """Deliver all messages of some chains on an event loop; return what ends that.

        It goes on while the channel layer is away and comes back; what was sent meanwhile is lost.
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
        """Hand a message on without waiting for it. For services, after commit only."""
        if self._is_alone:
            for listener in self._listeners:
                if chain in listener.chains:
                    self._deliver_soon(listener, message)
            return
        server = redis_server()
        if server.failed():
            return  # followers find it by their tick
        sending = self._send(chain, message, server)  # which keeps this object, and so its thread
        asyncio.run_coroutine_threadsafe(sending, self._sending_loop()).add_done_callback(_report)

    async def _send(self, chain: str, message: Message, server: Server) -> None:
        layer = get_channel_layer()
        assert layer is not None  # CHANNEL_LAYERS has a default in every profile
        try:
            async with asyncio.timeout(PATIENCE):
                await layer.group_send(group_of(chain), message)
        except Exception as error:  # a server that is away needs no more words
            if not await asyncio.to_thread(server.suspect, error):
                raise

    def _remove(self, listener: _Listener) -> None:
        with self._lock:
            self._listeners = tuple(one for one in self._listeners if one is not listener)

    def _deliver_soon(self, listener: _Listener, message: Message) -> None:
        try:
            listener.loop.call_soon_threadsafe(listener.deliver, message)
        except RuntimeError:  # the loop was closed without unbinding
            self._remove(listener)

    def _sending_loop(self) -> asyncio.AbstractEventLoop:
        """Return a bound loop that runs, else one in a thread of its own (in workers)."""
        for listener in self._listeners:
            if listener.loop.is_running():
                return listener.loop
        with self._lock:
            if self._own_loop is None:
                self._own_loop = loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=[loop], name="pointers", daemon=True).start()
                # The thread ends with this object; at the end of the process it just stops.
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop).atexit = False
            return self._own_loop


def group_of(chain: str) -> str:
    """Return the channel layer's group of a chain's pointers."""
    return f"{chain.lower()}chain.pointers"


def redis_server() -> Server:
    """Return the server behind the channel layer."""
    # Only here: Redis' client takes a fifth of a second to import, and the embedded profile has none.
    from chaindb.redis_cache import server

    return server()


async def _follow_until_cancelled(listener: _Listener) -> None:
    """Follow, and end when cancelled.

    The channel layer may swallow that when it comes just as an answer does, and then wait on for ever.
    """
    following = asyncio.create_task(_follow(listener))
    try:
        await asyncio.wait([following])
    finally:
        while not following.done():
            following.cancel()
            await asyncio.wait([following], timeout=CANCEL_AGAIN)


async def _follow(listener: _Listener) -> None:
    """Deliver what a channel of this loop's own receives from the groups, for ever."""
    while True:
        try:
            await _receive(listener)
        except Exception as error:  # whatever it is, following goes on
            if not await asyncio.to_thread(redis_server().suspect, error):
                _tell(error)
            await asyncio.sleep(RETRY)


def _tell(error: Exception) -> None:
    """Log why following ended while the server answers: in a line, where it was a connection from before an outage."""
    from chaindb.redis_cache import LOST

    if isinstance(error, LOST):
        _log.info("a connection that pointers came by was lost; it is opened again")
    else:
        _log.error(
            "listening to pointers failed; followers find blocks by their tick", exc_info=error
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
            except Exception:  # the next message may be one that can be delivered
                _log.exception("a pointer could not be delivered")
    finally:
        rejoining.cancel()
        for chain in listener.chains:
            with contextlib.suppress(Exception):  # it is away, or the loop ends
                await layer.group_discard(group_of(chain), channel)


async def _join(layer: Any, channel: str, chains: Collection[str]) -> None:
    for chain in chains:
        await layer.group_add(group_of(chain), channel)


async def _rejoin(layer: Any, channel: str, chains: Collection[str]) -> None:
    while True:
        await asyncio.sleep(REJOIN)
        try:
            await _join(layer, channel, chains)
        except Exception:  # as above
            _log.exception("the groups of pointers could not be joined again")


def _report(sent: Future[None]) -> None:
    if not sent.cancelled() and (error := sent.exception()) is not None:
        _log.warning("a pointer was not sent; followers find the block by their tick: %s", error)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
