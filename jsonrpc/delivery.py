"""Sending what is long to who may read it slowly: in parts, each in its time.

A server takes a message of any length at once and keeps it until it is read. In parts it is asked
before each one whether the client has taken the last.
"""

import asyncio
from collections.abc import Callable, Coroutine, MutableMapping
from typing import Any, Final

from jsonrpc.peer import transport_of

Message = MutableMapping[str, Any]
Send = Callable[[Message], Coroutine[Any, Any, None]]

PART: Final = 65_536
"""Bytes that are sent at a time."""
STALL_SECONDS: Final = 10.0
"""So long a client may take for each part."""


class NotRead(Exception):
    """A client that does not read on is to be cut off."""


async def send_in_parts(message: Message, send: Send, stall: float = STALL_SECONDS) -> None:
    """Send a message in parts.

    Raises:
        NotRead: the client does not read on.
    """
    try:
        for part in _parts(message):
            async with asyncio.timeout(stall):
                await send(part)
    except TimeoutError:
        raise NotRead from None


async def abandon(send: Send) -> None:
    """Cut a client off that reads nothing: a polite end would wait behind what it does not read.

    A server that does not show its transport ends what returns unfinished.
    """
    transport = transport_of(send)
    if transport is not None:
        transport.abort()
        await asyncio.sleep(0)  # the server has to hear of it first


def _parts(message: Message) -> list[Message]:
    """Cut the body of a message, so that a slow client is seen to read."""
    body = message.get("body", b"")
    if len(body) <= PART:
        return [message]
    cuts = [body[place : place + PART] for place in range(0, len(body), PART)]
    more = [True] * (len(cuts) - 1) + [message.get("more_body", False)]
    return [
        {**message, "body": cut, "more_body": goes_on}
        for cut, goes_on in zip(cuts, more, strict=True)
    ]
