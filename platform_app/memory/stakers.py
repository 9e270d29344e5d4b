"""Cached validators and delegators, and answers about them, valid until a block changes a staker.

The cache reads one small row to check whether it is still valid. It returns the same objects until then, so callers
can keep data derived from them, such as rendered text. Threads that request the same answer concurrently share
one read.
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sized
from dataclasses import dataclass
from typing import Generic, NamedTuple, Self, TypeVar

from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID
from utxo.components import OutputOwners

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=Sized)

MAX_READS = 2
"""Maximum number of times that an answer is read because a block arrived during the read."""


class StakerVersion(NamedTuple):
    """The version of answers about stakers."""

    genesis_hash: bytes
    stakers_height: int
    """The last block that changed a staker."""
    generation: int = 0
    """How many times the rows were replaced by earlier ones."""

    @property
    def chain(self) -> tuple[bytes, int]:
        """The values that must be equal for heights to be comparable."""
        return self.genesis_hash, self.generation


class _VersionedValue(NamedTuple, Generic[Value]):
    """A value that was read, and a version that is not later than any part of it."""

    version: StakerVersion
    value: Value


class _SharedRead(Generic[Value]):
    """A read by one thread that other threads wait for."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._read: _VersionedValue[Value] | None = None

    def finish(self, read: _VersionedValue[Value] | None) -> None:
        """Pass the result, or None after a failure, to all waiting threads."""
        self._read = read
        self._done.set()

    def wait(self, version: StakerVersion) -> _VersionedValue[Value] | None:
        """Return the result, or None if it may be older than the version that the caller has already seen."""
        self._done.wait()
        read = self._read
        if read is None or read.version.chain != version.chain:
            return None
        return read if read.version.stakers_height >= version.stakers_height else None


class StakerMemory(Generic[Key, Value]):
    """Answers by key, all for one version, the least recently used one evicted first.

    Empty answers are not cached: anyone can query subnets that do not exist, and such answers would evict
    those about subnets that do exist.
    """

    def __init__(self, max_entries: int, version: Callable[[], StakerVersion]) -> None:
        """Cache at most `max_entries` answers; `version` reads the current version of the rows."""
        self._read_version = version
        self._lock = threading.Lock()
        self._version: StakerVersion | None = None
        self._values: BoundedCache[Key, Value] = BoundedCache(max_entries)
        self._reads: dict[Key, _SharedRead[Value]] = {}
        self.hits = 0
        """The number of answers served from the cache."""
        self.misses = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key, load: Callable[[], Value]) -> Value:
        """Return the current answer; `load` reads it if it is not cached.

        If blocks arrive as fast as the answer is read, the last result is returned, parts of which may
        be one block older than others.

        Raises:
            NoGenesis: There is no chain, so no version.
        """
        while True:
            version = self._read_version()
            with self._lock:
                known = self._values.get(key) if self._version == version else None
                if known is not None:
                    self.hits += 1
                    return known
                self.misses += 1
                running, own = self._reads.get(key), _SharedRead[Value]()
                if running is None:
                    self._reads[key] = own
            if running is None:
                return self._read_for_all(key, own, load)
            read = running.wait(version)
            if read is not None:
                return read.value

    def _read_for_all(
        self, key: Key, reading: _SharedRead[Value], load: Callable[[], Value]
    ) -> Value:
        """Read for all threads that wait for this answer; if the read fails, each of them reads again."""
        read: _VersionedValue[Value] | None = None
        try:
            read = self._load(key, load)
            return read.value
        finally:
            with self._lock:
                del self._reads[key]
            reading.finish(read)

    def _load(self, key: Key, load: Callable[[], Value]) -> _VersionedValue[Value]:
        """Read the value, and read it again if a block arrived meanwhile: part of it may predate the block."""
        tries = 1
        while True:
            read = _VersionedValue(self._read_version(), load())
            if self._read_version() == read.version:
                self._store(key, read)
                return read
            if tries == MAX_READS:
                return read
            tries += 1

    def _store(self, key: Key, read: _VersionedValue[Value]) -> None:
        with self._lock:
            if self._version != read.version:
                self._values.clear()
                self._version = read.version
            if len(read.value):
                self._values.put(key, read.value)


SUBNETS = 64
"""The number of subnets whose current validators are cached."""
NODES = 4096
"""The number of validators whose current delegators are cached."""
SETS = 32
"""The number of validator sets at other heights that are cached."""
HEIGHTS = 4
"""The number of heights for which the validator sets of all subnets are cached."""


class DelegatorRecord(NamedTuple):
    """Stake added to a validator; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None


class RenewalRecord(NamedTuple):
    """The terms on which an auto-renewed validator begins its next period."""

    authority: OutputOwners
    """The keys that may change the terms."""
    next_period: int
    """Seconds; 0 if it leaves at the end of the present period."""
    compound_shares: int
    """The part of its rewards that is restaked, in millionths."""
    restaked: int
    """Restaked rewards, which are part of its weight."""


class ValidatorRecord(NamedTuple):
    """A validator with all fields of its record; times in Unix seconds."""

    tx_id: ID
    node_id: NodeID
    subnet_id: ID
    weight: int
    start: int
    end: int
    potential_reward: int
    rewards_owner: OutputOwners | None
    """The owner of the rewards for its own stake; None for permissioned validators of subnets."""
    delegatee_reward: int
    """Its accrued share of its delegators' rewards."""
    shares: int | None
    """Delegation fee in millionths; None if the validator accepts no delegators."""
    public_key: bytes | None
    proof_of_possession: bytes | None
    delegation_rewards_owner: OutputOwners | None
    delegator_count: int = 0
    delegator_weight: int = 0
    renewal: RenewalRecord | None = None
    """None if it leaves at its end."""


@dataclass(frozen=True, slots=True)
class CurrentSet:
    """The current validators of a subnet in staker order."""

    validators: tuple[ValidatorRecord, ...]
    by_node: Mapping[NodeID, ValidatorRecord]
    weight: int
    """The total weight, delegators included."""

    def __len__(self) -> int:
        return len(self.validators)


class Member(NamedTuple):
    """A validator at a height."""

    weight: int
    """The weight including its delegators'."""
    public_key: bytes | None
    """Its BLS key on the Primary Network."""


Members = Mapping[NodeID, Member]
"""The validators of a subnet at a height."""


class StakerMemories(NamedTuple):
    """A chain's caches of stakers."""

    current: StakerMemory[ID, CurrentSet]
    """Current validators, by subnet."""
    delegators: StakerMemory[tuple[ID, NodeID], tuple[DelegatorRecord, ...]]
    """Current delegators, by subnet and validator."""
    sets: StakerMemory[tuple[int, ID], Members]
    """Validators of a subnet, by height."""
    subnets: StakerMemory[int, Mapping[ID, Members]]
    """Validators of all created subnets, by height."""

    @classmethod
    def empty(cls, version: Callable[[], StakerVersion]) -> Self:
        """Return empty caches; `version` returns the version of the rows at the moment of the call."""
        return cls(
            StakerMemory(SUBNETS, version),
            StakerMemory(NODES, version),
            StakerMemory(SETS, version),
            StakerMemory(HEIGHTS, version),
        )
