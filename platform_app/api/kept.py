"""Caches of rendered text with a size limit, evicted least recently used first."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from primitives.bounded_cache import BoundedCache

Key = TypeVar("Key", bound=Hashable)
Source = TypeVar("Source")
Made = TypeVar("Made")


class KeptOf(Generic[Key, Source, Made]):
    """Values derived from source objects, by key, valid while the source is the same object."""

    def __init__(self, most: int) -> None:
        self._values: BoundedCache[Key, tuple[Source, Made]] = BoundedCache(most)

    def of(self, key: Key, source: Source, make: Callable[[Made | None], Made]) -> Made:
        """Return the cached value, or the result of `make`, which gets the previous value of the key."""
        known = self._values.get(key)
        if known is not None and known[0] is source:
            return known[1]
        made = make(None if known is None else known[1])
        self._values.put_newest(key, (source, made))
        return made


class KeptTexts(Generic[Key]):
    """Texts by immutable keys, with a limit on their total bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._texts: BoundedCache[Key, bytes] = BoundedCache(
            most_weight=most_bytes, weigh=lambda _, text: len(text)
        )

    def of(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """Return the cached text, or the result of `make`; a text larger than the limit is not cached."""
        known = self._texts.get(key)
        if known is None:
            known = make()
            self._texts.put(key, known)
        return known
