"""Django's cache in memory, with a count of how often it knew what it was asked."""

from collections import defaultdict
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache
from typing_extensions import override

from primitives.counting import Asked

_ASKED: Final[defaultdict[str, Asked]] = defaultdict(Asked)
"""By the cache's name: like its entries, of the whole process, while each thread has a cache object."""
_ABSENT: Final = object()


class MemoryCache(LocMemCache):
    """A cache of this process alone."""

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
        return len(self._cache)  # type: ignore[attr-defined]  # unknown to the stubs
