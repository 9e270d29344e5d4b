"""Cached answers of API methods: encoded once, then returned as bytes.

On the event loop a call is answered from memory (`memory.answers`) or passed to a thread. A thread always reads the
rows, and caches the answer. While cached answers are in use, a thread checks the rows from time to time. Events
of other processes discard the answers from before their blocks. If an event is lost, that is harmless, because cached
answers are only used shortly after a check.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from math import inf
from typing import Final, NamedTuple

import msgspec
from django.db import Error as DatabaseError
from msgspec import Raw

from chaindb.connections import WouldBlock, in_thread, on_event_loop
from chaindb.events import Message
from platform_app import notifications
from platform_app.chain import PlatformChain
from platform_app.memory.answers import ALWAYS, AnswerMemory, Key, Lifetime, key_of

_encode: Final = msgspec.json.Encoder().encode


class Passing(NamedTuple):
    """An answer that is valid for a limited time, even if no block comes."""

    result: object
    lifetime: Lifetime


class CachedAnswers:
    """Cached answers of the handlers of one chain, by method and arguments.

    Args:
        memory: The chain's cache.
    """

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self._looking: asyncio.Task[None] | None = None

    def kept(
        self, name: str, handler: Callable[..., object], seconds: float = inf
    ) -> Callable[..., Raw]:
        """Return a handler that may be tried on the event loop. Errors are not cached.

        Args:
            name: The method's name, which must be unique.
            handler: Its answer depends on the accepted state and the arguments only, or is `Passing`.
            seconds: Maximum validity after it was read.
        """
        usual = ALWAYS if seconds == inf else Lifetime(seconds=seconds)

        def answer(*arguments: object) -> Raw:
            key = key_of(name, arguments)
            if on_event_loop():
                return Raw(self._remembered(key))

            def load() -> tuple[bytes, Lifetime]:
                return _rendered(handler(*arguments), usual)

            return Raw(load()[0] if key is None else self._memory.read(key, load))

        return update_wrapper(answer, handler)

    def followed(self, handler: Callable[..., object]) -> Callable[..., object]:
        """Return a handler for threads whose answer is never of a later block than cached answers."""

        def answer(*arguments: object) -> object:
            try:
                return handler(*arguments)
            finally:
                self._memory.catch_up()

        return update_wrapper(answer, handler)

    def _remembered(self, key: Key | None) -> bytes:
        answer = None if key is None else self._memory.get(key)
        if answer is None:
            raise WouldBlock
        if self._memory.is_due():
            self._look_soon()
        return answer

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            looking = in_thread(self._look)
            self._looking = asyncio.get_running_loop().create_task(looking)

    def _look(self) -> None:
        # If the rows cannot be read, cached answers expire, and callers in a thread get the error.
        with suppress(DatabaseError):
            self._memory.check_rows()


def _rendered(answer: object, usual: Lifetime) -> tuple[bytes, Lifetime]:
    result, lifetime = answer if isinstance(answer, Passing) else (answer, usual)
    text: bytes = _encode(result)
    return text, lifetime


class PlatformListener:
    """Discards cached answers when an event announces a block; it runs on one event loop, as long as the process.

    Args:
        chain: The chain whose blocks are listened for.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._unbind: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to listen, on the running event loop; a second call does nothing."""
        if self._unbind is None:
            chain, loop = self._chain, asyncio.get_running_loop()
            self._unbind = chain.events.bind(loop, self._hear, [chain.name])

    def stop(self) -> None:
        """Stop listening."""
        if self._unbind is not None:
            self._unbind()
            self._unbind = None

    def _hear(self, message: Message) -> None:
        if message["type"] == notifications.HEAD:
            self._chain.answers.accepted(message["block_id"])
