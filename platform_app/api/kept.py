"""Caches of rendered text with a size limit, evicted least recently used first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Source = TypeVar("Source")
Made = TypeVar("Made")


class KeptOf(Generic[Key, Source, Made]):
    """Values derived from source objects, by key, valid while the source is the same object."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, tuple[Source, Made]] = OrderedDict()

    def of(self, key: Key, source: Source, make: Callable[[Made | None], Made]) -> Made:
        """Return the cached value, or the result of `make`, which gets the previous value of the key."""
        with self._lock:
            known = self._values.get(key)
            if known is not None:
                self._values.move_to_end(key)
        if known is not None and known[0] is source:
            return known[1]
        made = make(None if known is None else known[1])
        with self._lock:
            self._values[key] = (source, made)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return made


class KeptTexts(Generic[Key]):
    """Texts by immutable keys, with a limit on their total bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._texts: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0

    def of(self, key: Key, make: Callable[[], bytes]) -> bytes:
        """Return the cached text, or the result of `make`; a text larger than the limit is not cached."""
        with self._lock:
            known = self._texts.get(key)
            if known is not None:
                self._texts.move_to_end(key)
                return known
        made = make()
        with self._lock:
            if key not in self._texts:
                self._texts[key] = made
                self._bytes += len(made)
            while self._bytes > self._most_bytes:
                self._bytes -= len(self._texts.popitem(last=False)[1])
        return made
