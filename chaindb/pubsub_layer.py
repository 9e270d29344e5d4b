"""A channel layer on Redis publish/subscribe: a group message reaches the channels that listen then.

`channels_redis` has two layers. One keeps messages in sorted sets and reads them by scripts, which
costs each process of the node a few milliseconds per message. The other polls ten times a second and
hides the loss of Redis. Here each channel waits at its own connection, and a loss raises an error in
the receiver.
"""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec
import redis
from channels.layers import BaseChannelLayer
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from typing_extensions import override

from chaindb.redis_cache import SECONDS

SILENCE: Final = 10.0
"""Seconds without a message after which Redis is pinged."""


@dataclass(slots=True, eq=False)
class _Channel:
    listening: PubSub
    groups: set[bytes] = field(default_factory=set)
    """Names of the groups in Redis."""


class PubSubLayer(BaseChannelLayer):
    """Groups whose messages Redis forwards to current listeners and does not store.

    Event loops share the object.

    Args:
        url: URL of Redis.
    """

    extensions: Final = ["groups"]

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        # Redis publishes across all of its databases, and another node may use another database.
        self._database = redis.ConnectionPool.from_url(url).connection_kwargs.get("db", 0)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()
        self._channels: dict[str, _Channel] = {}

    @override
    async def new_channel(self, prefix: str = "events") -> str:
        """Return the name of a new channel, which is in no group yet."""
        name = f"{prefix}.{secrets.token_hex(8)}"
        self._channels[name] = _Channel(self._client().pubsub())
        return name

    @override
    async def group_add(self, group: str, channel: str) -> None:
        """Let a channel receive the messages of a group from now on.

        Raises:
            redis.ConnectionError, redis.TimeoutError: Redis does not answer.
        """
        joining, name = self._channels[channel], self._named(group)
        await joining.listening.subscribe(name)
        joining.groups.add(name.encode())

    @override
    async def group_discard(self, group: str, channel: str) -> None:
        """Remove a channel from a group and close it if it was the last. Redis may be unreachable."""
        leaving = self._channels.get(channel)
        if leaving is None:
            return
        leaving.groups.discard(self._named(group).encode())
        if not leaving.groups:
            del self._channels[channel]
            await leaving.listening.aclose()  # type: ignore[no-untyped-call]

    @override
    async def receive(self, channel: str) -> dict[str, Any]:
        """Return the next message of a channel's groups.

        Raises:
            redis.ConnectionError, redis.TimeoutError: Redis was lost, and so were the messages sent
                meanwhile. The channel receives nothing from then on.
        """
        listening, groups = self._channels[channel].listening, self._channels[channel].groups
        is_asked = False
        while True:
            message = await listening.get_message(timeout=SILENCE)
            if message is None and is_asked:
                raise redis.TimeoutError(f"no answer within {SILENCE:g}s")
            is_asked = message is None
            if message is None:
                await listening.ping()
            elif message["type"] == "message" and message["channel"] in groups:
                content: dict[str, Any] = msgspec.msgpack.decode(message["data"])
                return content

    @override
    async def group_send(self, group: str, message: Mapping[str, Any]) -> None:
        """Publish a message to a group.

        Raises:
            redis.ConnectionError, redis.TimeoutError: Redis does not answer.
        """
        await self._client().publish(self._named(group), msgspec.msgpack.encode(message))

    def _named(self, group: str) -> str:
        return f"{self._database}.{group}"

    def _client(self) -> Redis:
        """Return this event loop's client. Connections cannot be used from another loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = Redis.from_url(
                self._url,
                socket_timeout=SILENCE + SECONDS,
                socket_connect_timeout=SECONDS,
                # Publishing reopens a closed connection. A receiver must get an error instead.
                retry=Retry(NoBackoff(), 0),
            )
            _close_before(loop, client)
        return client


def _close_before(loop: asyncio.AbstractEventLoop, client: Redis) -> None:
    """Close a client together with its event loop, because only the loop knows when it ends."""
    close_loop = loop.close

    def close() -> None:
        if not loop.is_closed():
            with suppress(redis.RedisError):  # Redis is away, and so are the connections
                loop.run_until_complete(client.aclose())
        close_loop()

    loop.close = close  # type: ignore[method-assign]
