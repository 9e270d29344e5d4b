"""Django's Redis cache backend with bounded waits for a server that is unreachable or hangs."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import redis
from django.conf import settings
from django.core.cache.backends import redis as backend
from redis.backoff import NoBackoff
from redis.retry import Retry
from typing_extensions import override

from chaindb.servers import ServerAway, WatchedServer

T = TypeVar("T")

SECONDS: Final = 0.6
"""Timeout of a command and of a connection attempt; all commands are fast ones."""

_PREFIX: Final = re.compile(r"Error (-?\d+ )?connecting to \S+?\. ")
"""Prefix of redis-py's messages: the address, which is already known."""
_MAX_MESSAGE: Final = 400
_CAUSES: Final = {
    "Connection refused": "connection refused",
    "resolution": "its name is unknown",
    "not known": "its name is unknown",
    "No such file": "No such file or directory: see the files that NODE_REDIS_URL names",
}
"""Explanation by a part of redis-py's message; other messages are quoted."""

LOST: Final = (redis.ConnectionError, redis.TimeoutError)
"""Exceptions of the Redis client when the server does not answer."""


def options() -> dict[str, Any]:
    """Return the options of a connection.

    A connection that the server has closed is reopened once. A timeout is not retried.
    """
    return {
        "socket_timeout": SECONDS,
        "socket_connect_timeout": SECONDS,
        "retry": Retry(NoBackoff(), 1, (redis.ConnectionError,)),
    }


class RedisAway(ServerAway, redis.ConnectionError):
    """Redis does not answer."""


class RedisCache(backend.RedisCache):
    """The cache of the production profile. Raises `RedisAway` immediately while Redis is known to be away."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, {**params, "OPTIONS": {**options(), **params.get("OPTIONS", {})}})
        self._class = _CacheClient


class _CacheClient(backend.RedisCacheClient):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._client = _Client


class _Client(redis.Redis):
    @override
    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        execute: Callable[..., Any] = super().execute_command
        return _run(lambda: execute(*args, **kwargs))

    @override
    def pipeline(self, *args: Any, **kwargs: Any) -> Any:
        pipeline: Any = super().pipeline(*args, **kwargs)
        execute = pipeline.execute
        pipeline.execute = lambda *a, **k: _run(lambda: execute(*a, **k))
        return pipeline


def list_lengths(keys: Sequence[str]) -> dict[str, int]:
    """Return the lengths of the lists under some keys, in one request; a missing list has length 0.

    Raises:
        RedisAway: Redis does not answer.
        redis.RedisError: Redis answers, but the connection was lost or the command is refused.
    """
    with _Client.from_url(settings.NODE.redis_url, **options()) as client:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.llen(key)
        return dict(zip(keys, pipeline.execute(), strict=True))


def _run(command: Callable[[], T]) -> T:
    """Run a command, unless Redis is known to be away.

    Raises:
        RedisAway: Redis does not answer.
        redis.RedisError: Redis answers, but the command failed.
    """
    if outage := server().failed():
        raise RedisAway(outage)
    try:
        return command()
    except LOST as error:
        if outage := server().suspect(error):
            raise RedisAway(outage) from error
        raise


@cache
def server() -> WatchedServer:
    """Return the node's Redis server.

    All threads share the object and its record of an outage: Django makes a cache for each thread.
    """
    url = settings.NODE.redis_url
    where = redis.ConnectionPool.from_url(url).connection_kwargs
    address = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"

    def ask() -> None:
        with redis.Redis.from_url(url, **{**options(), "retry": Retry(NoBackoff(), 0)}) as client:
            client.ping()

    return WatchedServer("Redis", address, ask, _explain)


def _explain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, redis.BusyLoadingError):
        return "it is reading its data"
    if isinstance(error, redis.AuthenticationError):
        return "it refuses this node's password"
    if isinstance(error, redis.TimeoutError):
        return f"no answer within {SECONDS:g}s"
    cause = next((reason for part, reason in _CAUSES.items() if part in text), "")
    return cause or _PREFIX.sub("", text)[:_MAX_MESSAGE] or "no connection"
