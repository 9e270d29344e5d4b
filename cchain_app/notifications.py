"""Pointers to what happened, sent to every process that follows the chain.

A pointer is a number and a hash, never a payload: who receives it reads the rows or its memory. A
channel layer may lose messages, so receivers heal (`api.subscriptions`, `selectors.blocks.catch_up`).
Called after commit only, from services.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

from primitives.evm import Hash

GROUP = "cchain.heads"
"""One channel for each process that follows, not one for each socket."""

Message = dict[str, Any]

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_deliver: Callable[[Message], object] | None = None


def bind(loop: asyncio.AbstractEventLoop, deliver: Callable[[Message], object]) -> None:
    """Send from this event loop: the web server's. `deliver` takes a message on that loop.

    In the embedded profile nobody else follows, and the message goes there without the layer.
    """
    global _loop, _deliver  # one sender for each process
    with _lock:
        _loop, _deliver = loop, deliver


def head_accepted(number: int, block_hash: Hash) -> None:
    """Tell that a block was committed."""
    _send({"type": "head.accepted", "number": number, "hash": bytes(block_hash)})


def pending_transactions(hashes: Sequence[Hash]) -> None:
    """Tell that transactions in the pool became executable."""
    if hashes:
        _send({"type": "pending.transactions", "hashes": [bytes(one) for one in hashes]})


def _send(message: Message) -> None:
    """Hand a message on without waiting for it."""
    if settings.NODE.profile == "embedded":
        with _lock:
            loop, deliver = _loop, _deliver
        if loop is not None and deliver is not None and not loop.is_closed():
            loop.call_soon_threadsafe(deliver, message)
        return
    layer = get_channel_layer()
    assert layer is not None  # CHANNEL_LAYERS has a default in every profile
    future = asyncio.run_coroutine_threadsafe(layer.group_send(GROUP, message), _sending_loop())
    future.add_done_callback(_report)


def _report(future: Any) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        _log.warning("a pointer was not sent; followers find the block by their tick: %s", error)


def _sending_loop() -> asyncio.AbstractEventLoop:
    """Return the bound loop, else one in a thread of its own (in workers)."""
    global _loop  # noqa: PLW0603  # as above
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="pointers", daemon=True).start()
        return _loop
