"""Django's in-memory cache, with counts of its hits and misses."""

from collections import defaultdict
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache
from typing_extensions import override

from primitives.bounded_cache import HitCounter

_ASKED: Final[defaultdict[str, HitCounter]] = defaultdict(HitCounter)
"""Hits and misses by the cache's name: shared by the whole process like its entries, as each thread has a cache object."""
_ABSENT: Final = object()


class MemoryCache(LocMemCache):
    """A cache local to this process."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(name, params)
        self.asked: Final = _ASKED[name]

    @override
    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        found = super().get(key, _ABSENT, version)
        if found is _ABSENT:
            self.asked.miss()
            return default
        self.asked.hit()
        return found

    def __len__(self) -> int:
        return len(self._cache)  # type: ignore[attr-defined]  # missing in the stubs
