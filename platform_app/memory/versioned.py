"""Answers about stakers, remembered until a block changes one.

A memory asks for one small row to know whether it is still right. What it answers are
the same objects until then, so whoever renders them can keep what was made of them. Threads that
ask for the same at once read it once.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sized
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Sized)

TRIES = 2
"""So often is read what blocks change meanwhile."""


class Version(NamedTuple):
    """What answers about stakers are as of."""

    genesis_hash: bytes
    stakers_height: int
    """The last block that changed a staker."""
    generation: int = 0
    """How often the rows were replaced by earlier ones."""

    @property
    def chain(self) -> tuple[bytes, int]:
        """What has to be the same where heights are compared."""
        return self.genesis_hash, self.generation


class _Read(NamedTuple, Generic[Value]):
    """What was read, and a version that is not later than any part of it."""

    version: Version
    value: Value


class _Reading(Generic[Value]):
    """One thread reads, others wait for it."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._read: _Read[Value] | None = None

    def finish(self, read: _Read[Value] | None) -> None:
        """Hand what was read, or nothing, to all who wait."""
        self._read = read
        self._done.set()

    def wait(self, asked_at: Version) -> _Read[Value] | None:
        """Return what was read, or None when it may lack what whoever asks has seen already."""
        self._done.wait()
        read = self._read
        if read is None or read.version.chain != asked_at.chain:
            return None
        return read if read.version.stakers_height >= asked_at.stakers_height else None


class StakerMemory(Generic[Key, Value]):
    """Answers by key, all as of one version; the least recently asked for go first.

    Empty answers are not kept: anybody can ask for subnets that there are not, and would drive out
    those that there are.
    """

    def __init__(self, most: int, version: Callable[[], Version]) -> None:
        """Remember so many answers; `version` says what those of this moment are as of."""
        self._most = most
        self._ask_version = version
        self._lock = threading.Lock()
        self._version: Version | None = None
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._readings: dict[Key, _Reading[Value]] = {}
        self.hits = 0
        """Answers that were remembered."""
        self.misses = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key, load: Callable[[], Value]) -> Value:
        """Return the present answer; `load` reads it when it is not remembered.

        Where blocks come as fast as it is read, the answer is the last one read, parts of which may
        be a block older than others.

        Raises:
            NoGenesis: There is no chain, so no version.
        """
        while True:
            asked_at = self._ask_version()
            with self._lock:
                if self._version == asked_at and key in self._values:
                    self._values.move_to_end(key)
                    self.hits += 1
                    return self._values[key]
                self.misses += 1
                others, own = self._readings.get(key), _Reading[Value]()
                if others is None:
                    self._readings[key] = own
            if others is None:
                return self._lead(key, own, load)
            read = others.wait(asked_at)
            if read is not None:
                return read.value

    def _lead(self, key: Key, reading: _Reading[Value], load: Callable[[], Value]) -> Value:
        """Read for all who ask meanwhile; where it fails, each of them tries."""
        read: _Read[Value] | None = None
        try:
            read = self._load(key, load)
            return read.value
        finally:
            with self._lock:
                del self._readings[key]
            reading.finish(read)

    def _load(self, key: Key, load: Callable[[], Value]) -> _Read[Value]:
        """Read, once more when a block came meanwhile: half may be from before it."""
        tries = 1
        while True:
            read = _Read(self._ask_version(), load())
            if self._ask_version() == read.version:
                self._keep(key, read)
                return read
            if tries == TRIES:
                return read
            tries += 1

    def _keep(self, key: Key, read: _Read[Value]) -> None:
        with self._lock:
            if self._version != read.version:
                self._values.clear()
                self._version = read.version
            if not len(read.value):
                return
            self._values[key] = read.value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
