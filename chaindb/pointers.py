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
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

from chaindb.chains import Chain
from chaindb.servers import PATIENCE, Server

Message = dict[str, Any]
"""Its `type` says what happened."""

Deliver = Callable[[Message], object]
"""Takes a message, on the loop that it was bound with; it must not block."""

RETRY = 1.0
"""Seconds after which a layer that failed is joined again."""

REJOIN = 3600.0
"""Seconds after which groups are joined again: a layer forgets members after a day."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Listener:
    """A loop that follows, the chains that it wants to hear of, and who takes the messages."""

    loop: asyncio.AbstractEventLoop
    chains: frozenset[Chain]
    deliver: Deliver


_lock = threading.Lock()
_listeners: tuple[_Listener, ...] = ()
_own_loop: asyncio.AbstractEventLoop | None = None


def bind(
    loop: asyncio.AbstractEventLoop, deliver: Deliver, chains: Collection[Chain] = tuple(Chain)
) -> Callable[[], None]:
    """Deliver all messages of some chains on an event loop; return what ends that.

    It goes on while the channel layer is away and comes back; what was sent meanwhile is lost.
    """
    listener = _Listener(loop, frozenset(chains), deliver)
    _add(listener)
    following: Future[None] | None = None
    if not _is_embedded():
        following = asyncio.run_coroutine_threadsafe(_follow(listener), loop)

    def unbind() -> None:
        _remove(listener)
        if following is not None:
            following.cancel()

    return unbind


def send(chain: Chain, message: Message) -> None:
    """Hand a message on without waiting for it. For services, after commit only."""
    if _is_embedded():
        for listener in _listeners:
            if chain in listener.chains:
                _deliver_soon(listener, message)
        return
    server = redis_server()
    if server.failed():
        return  # followers find it by their tick
    sent = asyncio.run_coroutine_threadsafe(_send(chain, message, server), _sending_loop())
    sent.add_done_callback(_report)


async def _send(chain: Chain, message: Message, server: Server) -> None:
    layer = get_channel_layer()
    assert layer is not None  # CHANNEL_LAYERS has a default in every profile
    try:
        async with asyncio.timeout(PATIENCE):
            await layer.group_send(chain.group, message)
    except Exception as error:  # a server that is away needs no more words
        if not await asyncio.to_thread(server.suspect, error):
            raise


def redis_server() -> Server:
    """Return the server behind the channel layer."""
    # Only here: Redis' client takes a fifth of a second to import, and the embedded profile has none.
    from chaindb.redis_cache import server

    return server()


def _is_embedded() -> bool:
    return bool(settings.NODE.profile == "embedded")


def _add(listener: _Listener) -> None:
    global _listeners  # noqa: PLW0603  # senders read it without a lock, so it is never changed
    with _lock:
        _listeners = (*_listeners, listener)


def _remove(listener: _Listener) -> None:
    global _listeners  # noqa: PLW0603  # as above
    with _lock:
        _listeners = tuple(one for one in _listeners if one is not listener)


def _deliver_soon(listener: _Listener, message: Message) -> None:
    try:
        listener.loop.call_soon_threadsafe(listener.deliver, message)
    except RuntimeError:  # the loop was closed without unbinding
        _remove(listener)


async def _follow(listener: _Listener) -> None:
    """Deliver what a channel of this loop's own receives from the groups, for ever."""
    while True:
        try:
            await _receive(listener)
        except Exception as error:  # whatever it is, following goes on
            if not await asyncio.to_thread(redis_server().suspect, error):
                _log.exception("listening to pointers failed; followers find blocks by their tick")
            await asyncio.sleep(RETRY)


async def _receive(listener: _Listener) -> None:
    layer: Any = get_channel_layer()
    channel = await layer.new_channel()
    await _join(layer, channel, listener.chains)
    rejoining = asyncio.create_task(_rejoin(layer, channel, listener.chains))
    try:
        while True:
            message = await layer.receive(channel)
            try:
                listener.deliver(message)
            except Exception:  # the next message may be one that can be delivered
                _log.exception("a pointer could not be delivered")
    finally:
        rejoining.cancel()
        with contextlib.suppress(Exception):  # the layer forgets silent channels by itself
            for chain in listener.chains:
                await layer.group_discard(chain.group, channel)


async def _join(layer: Any, channel: str, chains: Collection[Chain]) -> None:
    for chain in chains:
        await layer.group_add(chain.group, channel)


async def _rejoin(layer: Any, channel: str, chains: Collection[Chain]) -> None:
    while True:
        await asyncio.sleep(REJOIN)
        try:
            await _join(layer, channel, chains)
        except Exception:  # as above
            _log.exception("the groups of pointers could not be joined again")


def _report(sent: Future[None]) -> None:
    if not sent.cancelled() and (error := sent.exception()) is not None:
        _log.warning("a pointer was not sent; followers find the block by their tick: %s", error)


def _sending_loop() -> asyncio.AbstractEventLoop:
    """Return a bound loop that runs, else one in a thread of its own (in workers)."""
    global _own_loop  # noqa: PLW0603  # one sender for each process
    for listener in _listeners:
        if listener.loop.is_running():
            return listener.loop
    with _lock:
        if _own_loop is None:
            _own_loop = asyncio.new_event_loop()
            threading.Thread(target=_own_loop.run_forever, name="pointers", daemon=True).start()
        return _own_loop
