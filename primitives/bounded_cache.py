"""A cache with limits on its entries and their total weight; and counters that any thread can increment without a lock."""

import itertools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, ItemsView, Iterator
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """A mapping that evicts its oldest entries when it exceeds a limit.

    An entry is as old as its last move: `get`, `touch` and `put_newest` move it to the end of the order of eviction,
    `peek` and `put` do not. So the methods that a user calls decide on the order: `peek` and `put` are first in,
    first out; `get` and `put_newest` are least recently used; `peek` and `put_newest` are least recently written.

    All methods are safe to use from any thread, except that a thread must not write while another one iterates. The
    cache does not count hits and misses: only its owner knows whether an entry answers a request, because it may
    have expired or belong to another block.

    Args:
        most: Maximum number of entries.
        most_weight: Maximum total weight. An entry that is heavier evicts all others and itself.
        weigh: Returns the weight of an entry, which must not change while the entry is stored. Not negative.
    """

    __slots__ = ("_entries", "_lock", "_most", "_most_weight", "_weigh", "_weight", "peek")

    def __init__(
        self,
        most: int = sys.maxsize,
        *,
        most_weight: int = sys.maxsize,
        weigh: Callable[[Key, Value], int] | None = None,
    ) -> None:
        self._most = most
        self._most_weight = most_weight
        self._weigh = weigh
        self._weight = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self.peek: Final = self._entries.get
        """Return a value, or the second argument (default: None) if the key is absent. Takes no lock."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        """Return the keys, oldest first."""
        return iter(self._entries)

    def __reversed__(self) -> Iterator[Key]:
        """Return the keys, newest first."""
        return reversed(self._entries)

    @property
    def weight(self) -> int:
        """The total weight of all entries."""
        return self._weight

    def items(self) -> ItemsView[Key, Value]:
        """Return a view of the entries, oldest first."""
        return self._entries.items()

    def get(self, key: Key) -> Value | None:
        """Return a value and make its entry the newest; None if the key is absent."""
        with self._lock:
            entries = self._entries
            value = entries.get(key)
            if value is not None or key in entries:
                entries.move_to_end(key)
            return value

    def touch(self, key: Key) -> None:
        """Make an entry the newest, if it exists."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)

    def put(self, key: Key, value: Value) -> None:
        """Store a value. A new entry is the newest; an existing one gets the value and keeps its age."""
        with self._lock:
            if self._weigh is not None:
                self._change_weight(self._weigh, key, value)
            entries = self._entries
            entries[key] = value
            if len(entries) > self._most or self._weight > self._most_weight:
                self._evict()

    def put_newest(self, key: Key, value: Value) -> None:
        """Store a value, and make its entry the newest."""
        with self._lock:
            if self._weigh is not None:
                self._change_weight(self._weigh, key, value)
            entries = self._entries
            entries[key] = value
            entries.move_to_end(key)
            if len(entries) > self._most or self._weight > self._most_weight:
                self._evict()

    def pop(self, key: Key) -> Value | None:
        """Remove an entry and return its value; None if the key is absent."""
        with self._lock:
            if key not in self._entries:
                return None
            value = self._entries.pop(key)
            if self._weigh is not None:
                self._weight -= self._weigh(key, value)
            return value

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()
            self._weight = 0

    def _change_weight(self, weigh: Callable[[Key, Value], int], key: Key, value: Value) -> None:
        """Add the weight of a value that is about to be stored, and subtract that of its predecessor."""
        added = weigh(key, value)
        if key in self._entries:
            added -= weigh(key, self._entries[key])
        self._weight += added

    def _evict(self) -> None:
        """Remove the oldest entries until the limits are kept. The lock must be held."""
        while len(self._entries) > self._most or self._weight > self._most_weight:
            key, value = self._entries.popitem(last=False)
            if self._weigh is not None:
                self._weight -= self._weigh(key, value)


class Counter:
    """A count that only rises. Incrementing is one interpreter step, so none is lost."""

    __slots__ = ("_lock", "_reads", "_ticks", "add")

    def __init__(self) -> None:
        self._ticks = itertools.count()
        self._lock = threading.Lock()  # for readers; counting never waits
        self._reads = 0
        self.add: Callable[[], int] = self._ticks.__next__
        """Increment the count; the return value is meaningless."""

    def read(self) -> int:
        """Return the count."""
        with self._lock:  # a read advances the iterator too, which is subtracted
            self._reads += 1
            return next(self._ticks) + 1 - self._reads


class HitCounter:
    """Hits and misses of a cache."""

    __slots__ = ("hit", "hits", "miss", "misses")

    def __init__(self) -> None:
        self.hits = Counter()
        """Requests that the cache answered."""
        self.misses = Counter()
        """Requests that had to be read elsewhere."""
        self.hit = self.hits.add
        self.miss = self.misses.add
