"""Runs a coroutine up to its first pause at once, without a task: most sends never pause.

A server's `send` writes to the socket right away unless the peer is slow; a task for each such
write would cost more than the write. (Later Pythons have eager tasks for this.)
"""

from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Paused(Generic[T]):
    """The rest of a coroutine that has paused; await it, once, to run it to its end."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        """Hand on whatever the coroutine waits for, and whatever comes back."""
        coroutine, waits_for = self._coroutine, self._waits_for
        try:
            while True:
                try:
                    value = yield waits_for
                except BaseException as error:
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(value)
        except StopIteration as stop:
            result: T = stop.value
            return result


def start(coroutine: Coroutine[Any, Any, T]) -> T | Paused[T]:
    """Run to the first pause; returns the result, or what is left to await.

    The coroutine must not ask for the current task before it pauses.
    """
    try:
        waits_for = coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    return Paused(coroutine, waits_for)
