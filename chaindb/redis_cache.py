"""Django's cache in Redis, for a server that may be away or hang: no call waits for it for long."""

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

from chaindb.servers import Server, ServerAway

T = TypeVar("T")

SECONDS: Final = 0.6
"""Until a command is given up, and until a connection is: all of them are quick ones."""

_PREFIX: Final = re.compile(r"Error (-?\d+ )?connecting to \S+?\. ")
"""What redis-py begins a message with: the address, which is known."""
_MAX_MESSAGE: Final = 400
_CAUSES: Final = {
    "Connection refused": "connection refused",
    "resolution": "its name is unknown",
    "not known": "its name is unknown",
    "No such file": "No such file or directory: see the files that NODE_REDIS_URL names",
}
"""By a part of redis-py's message; other messages are quoted."""

LOST: Final = (redis.ConnectionError, redis.TimeoutError)
"""What Redis' client raises when the server does not answer."""


def options() -> dict[str, Any]:
    """Return the manners of a connection.

    One that the server has closed is opened again once; what hangs is not waited for a second time.
    """
    return {
        "socket_timeout": SECONDS,
        "socket_connect_timeout": SECONDS,
        "retry": Retry(NoBackoff(), 1, (redis.ConnectionError,)),
    }


class RedisAway(ServerAway, redis.ConnectionError):
    """Redis does not answer."""


class RedisCache(backend.RedisCache):
    """The cache of the production profile. Raises `RedisAway` at once while Redis is known to be away."""

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
        return _asked(lambda: execute(*args, **kwargs))

    @override
    def pipeline(self, *args: Any, **kwargs: Any) -> Any:
        made: Any = super().pipeline(*args, **kwargs)
        execute = made.execute
        made.execute = lambda *a, **k: _asked(lambda: execute(*a, **k))
        return made


def list_lengths(keys: Sequence[str]) -> dict[str, int]:
    """Return how long the lists under some keys are, in one question; 0 of one that is not there.

    Raises:
        RedisAway: Redis does not answer.
        redis.RedisError: It answers, but not this: the connection was lost, or the question is refused.
    """
    with _Client.from_url(settings.NODE.redis_url, **options()) as client:
        asked = client.pipeline(transaction=False)
        for key in keys:
            asked.llen(key)
        return dict(zip(keys, asked.execute(), strict=True))


def _asked(command: Callable[[], T]) -> T:
    """Run a command, unless there is nobody to run it.

    Raises:
        RedisAway: Redis does not answer.
        redis.RedisError: It does, and the command failed.
    """
    if words := server().failed():
        raise RedisAway(words)
    try:
        return command()
    except LOST as error:
        if words := server().suspect(error):
            raise RedisAway(words) from error
        raise


@cache
def server() -> Server:
    """Return the node's Redis.

    One for the process, since Django makes a cache for each thread, and all ask whether the server is away.
    """
    url = settings.NODE.redis_url
    where = redis.ConnectionPool.from_url(url).connection_kwargs
    address = where.get("path") or f"{where.get('host', 'localhost')}:{where.get('port', 6379)}"

    def ask() -> None:
        with redis.Redis.from_url(url, **{**options(), "retry": Retry(NoBackoff(), 0)}) as client:
            client.ping()

    return Server("Redis", address, ask, _explain)


def _explain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, redis.BusyLoadingError):
        return "it is reading its data"
    if isinstance(error, redis.AuthenticationError):
        return "it refuses this node's password"
    if isinstance(error, redis.TimeoutError):
        return f"no answer within {SECONDS:g}s"
    cause = next((words for part, words in _CAUSES.items() if part in text), "")
    return cause or _PREFIX.sub("", text)[:_MAX_MESSAGE] or "no connection"
