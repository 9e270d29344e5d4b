"""What a process remembers of stakers until a block changes one.

A memory asks the database for one small row to know whether it is still right. What it answers are
the same objects until then, so whoever renders them can keep what was made of them.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from chaindb import sql
from platform_app.selectors.chain import NoGenesis

_VERSION = "SELECT genesis_hash, stakers_height FROM platform_app_chain"

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Version(NamedTuple):
    """What answers about stakers are as of."""

    genesis_hash: bytes
    stakers_height: int
    """The last block that changed a staker."""


def version() -> Version:
    """Return what answers about stakers are as of now.

    Raises:
        NoGenesis: The database holds no chain.
    """
    row = sql.row(_VERSION)
    if row is None:
        raise NoGenesis
    return Version(bytes(row[0]), row[1])


class StakerMemory(Generic[Key, Value]):
    """Answers by key, all as of one version; the least recently asked for go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._version: Version | None = None
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key, load: Callable[[], Value]) -> Value:
        """Return the present answer; `load` reads it when it is not remembered.

        Raises:
            NoGenesis: The database holds no chain.
        """
        while True:
            before = version()
            with self._lock:
                if self._version == before and key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            value = load()
            # A block that came meanwhile may have changed half of what was read.
            if version() == before:
                self._keep(before, key, value)
                return value

    def _keep(self, now: Version, key: Key, value: Value) -> None:
        with self._lock:
            if self._version != now:
                self._values.clear()
                self._version = now
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
