"""Answers of a chain's memory at its doors: rendered once, handed out where bytes arrive.

On the event loop an answer is in memory (`memory.answers`), or the call would have to wait. In a thread it is always
read from the rows, and remembered. As long as answers are handed out, a thread looks at the rows now and then.
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
from platform_app.memory.answers import ALWAYS, AnswerMemory, Key, Lifetime, key_of

_encode: Final = msgspec.json.Encoder().encode


class Passing(NamedTuple):
    """An answer that is right only for a while, although no block comes."""

    result: object
    lifetime: Lifetime


class Answers:
    """What handlers of one chain answer, by method and arguments.

    Args:
        memory: The chain's.
    """

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self._looking: asyncio.Task[None] | None = None

    def kept(
        self, name: str, handler: Callable[..., object], seconds: float = inf
    ) -> Callable[..., Raw]:
        """Return a handler that may be tried on the event loop. Refusals are not remembered.

        Args:
            name: The method's; no other one has it.
            handler: Its answer follows from the accepted state and the arguments, or is `Passing`.
            seconds: For how long it is right at most, after it was read.
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
        """Return a handler whose answer is never of a later block than those that are remembered, for threads."""

        def answer(*arguments: object) -> object:
            try:
                return handler(*arguments)
            finally:
                self._memory.catch_up()

        return update_wrapper(answer, handler)

    def _remembered(self, key: Key | None) -> bytes:
        found = None if key is None else self._memory.get(key)
        if found is None:
            raise WouldBlock
        if self._memory.is_due():
            self._look_soon()
        return found

    def _look_soon(self) -> None:
        if self._looking is None or self._looking.done():
            looking = in_thread(self._look)
            self._looking = asyncio.get_running_loop().create_task(looking)

    def _look(self) -> None:
        # Where the rows cannot be read nothing is handed out any more, and who asks in a thread hears why.
        with suppress(DatabaseError):
            self._memory.look()


def _rendered(answer: object, usual: Lifetime) -> tuple[bytes, Lifetime]:
    result, lifetime = answer if isinstance(answer, Passing) else (answer, usual)
    text: bytes = _encode(result)
    return text, lifetime
