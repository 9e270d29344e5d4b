"""Rate limits and memory limits for reading from peers (p2p.md 7), and a limit on repeated log lines.

Reading is delayed, nothing is dropped. `listener` decides which connections are accepted.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import Directory, ValidatorInfo
from primitives.bounded_cache import BoundedCache
from primitives.ids import NodeID

PERIOD = 60.0
"""Seconds between two log lines on the same subject."""
MAX_KEYS = 1024


class LogLimit:
    """Allows one log line per minute for each key; the number of remembered keys is limited."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: BoundedCache[Hashable, float] = BoundedCache(MAX_KEYS)

    def allows(self, key: Hashable) -> bool:
        """Return whether to log a line about `key` now; if so, the next one is allowed a minute later."""
        now = self._clock()
        last = self._logged.peek(key)
        if last is not None and now - last < PERIOD:
            return False
        self._logged.put_newest(key, now)
        return True


FRAME_COST = 512
"""Bytes charged for each frame in addition to its size, because small frames cost time."""
UNPACKING_SHARE = 8
"""Decompressed bytes that cost as much as one byte received."""
MESSAGE_COST = 1024
"""Bytes of the pool for each message in progress in addition to its size, for objects and a task."""
ALLOWANCE = 64 * 1024
"""Bytes in progress reserved for every node, so that no other node can starve it."""
STRANGERS_PART = 2
"""Divisor: all unknown peers together may use the shared pool divided by this; known peers keep the rest."""


class TokenBucket:
    """Tokens that refill at a rate. The balance may become negative; it recovers with time."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = now

    def take(self, cost: float, now: float) -> float:
        """Take tokens unconditionally; return the seconds until the balance is no longer negative."""
        self._refill(now)
        self._tokens -= cost
        return max(0.0, -self._tokens / self._rate)

    def try_take(self, cost: float, now: float) -> bool:
        """Take tokens if there are enough."""
        self._refill(now)
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def change(self, rate: float, burst: float, now: float) -> None:
        """Change the refill rate and the capacity from now on."""
        if (rate, burst) != (self._rate, self._burst):
            self._refill(now)
            self._rate, self._burst = rate, burst
            self._tokens = min(self._tokens, burst)

    def _refill(self, now: float) -> None:
        elapsed = max(0.0, now - self._at)
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate)
        self._at = max(self._at, now)


def frame_cost(size: int) -> int:
    """Return the cost of reading a frame, charged to the peer's rate."""
    return size + FRAME_COST


def unpacking_cost(size: int, unpacked: int) -> int:
    """Return the cost of a compressed message in addition to that of its frame."""
    return max(0, unpacked - size) // UNPACKING_SHARE


class StakeAllocations:
    """Each validator's share of the validators' pool, by its stake."""

    def __init__(self, config: NetworkConfig, directory: Directory) -> None:
        self._pool = config.validator_pool
        self._directory = directory
        self._summed: Mapping[NodeID, ValidatorInfo] | None = None
        self._total = 0

    def of(self, node_id: NodeID) -> int:
        """Return a node's share in bytes, 0 if it does not validate."""
        validators = self._directory.validators()
        facts = validators.get(node_id)
        if facts is None:
            return 0
        if validators is not self._summed:
            self._total = sum(validator.weight for validator in validators.values())
            self._summed = validators
        return self._pool * facts.weight // max(1, self._total)


@dataclass(slots=True, eq=False)
class Lease:
    """Bytes of a pool that are reserved for a message until it is processed."""

    node_id: NodeID
    own: int = 0
    """Bytes from the peer's own reservation."""
    shared: int = 0
    over: bool = False
    """Whether this lease exceeds the pool."""
    strange: bool = False
    """Whether the peer is unknown, so that the lease counts against the limit for unknown peers."""


class WaitingReader(NamedTuple):
    """A reader that waits for space in the pool."""

    lease: Lease
    size: int
    grant: Callable[[Lease, int], bool]
    granted: asyncio.Future[None]


class BytePool:
    """Memory of the messages in progress, for all peers.

    Each peer has a reservation of its own, and a validator also has its share by stake. Bytes that exceed them
    are taken from the shared rest, of which one peer may use `shared_pool_of_one` and all unknown peers half. As
    long as there is any space left, the next message is accepted whatever its size, so the sum may exceed the
    limit by one message. Waiting readers are served in order of arrival.
    """

    def __init__(
        self,
        config: NetworkConfig,
        share_of: Callable[[NodeID], int],
        is_known: Callable[[NodeID], bool],
    ) -> None:
        self._config = config
        self._share_of = share_of
        """Returns a node's share of the validators' pool in bytes."""
        self._is_known = is_known
        """Returns whether a node is known."""
        self._own: Counter[NodeID] = Counter()
        self._shared: Counter[NodeID] = Counter()
        self._in_shared = 0
        self._of_strangers = 0
        """Bytes of `_in_shared` used by unknown peers."""
        self._over = False
        self._waiting: deque[WaitingReader] = deque()

    @property
    def waiting(self) -> int:
        """Number of waiting readers."""
        return len(self._waiting)

    def try_take(self, node_id: NodeID, size: int) -> Lease | None:
        """Reserve space for a peer's message; return None if the pool has too little."""
        lease = Lease(node_id, strange=not self._is_known(node_id))
        return lease if self._grant(lease, size) else None

    async def take(self, node_id: NodeID, size: int) -> Lease:
        """Wait until there is space for a peer's message, and reserve it."""
        lease = self.try_take(node_id, size)
        if lease is None:
            lease = Lease(node_id, strange=not self._is_known(node_id))
            await self._wait(lease, size, self._grant)
        return lease

    def try_extend(self, lease: Lease, size: int) -> bool:
        """Reserve more for a message that turned out larger; return False if there is no space.

        One message at a time may exceed the pool. Otherwise messages that hold the whole pool and wait to be
        extended would wait for each other.
        """
        if self._grant(lease, size):
            return True
        if self._over:
            return False
        self._over = lease.over = True
        self._take_shared(lease, size)
        return True

    async def extend(self, lease: Lease, size: int) -> None:
        """Wait until `try_extend` succeeds."""
        await self._wait(lease, size, self.try_extend)

    def give_back(self, lease: Lease) -> None:
        """Release a message's bytes, and serve the readers that wait for space."""
        if lease.over:
            self._over = lease.over = False
        self._release(lease, own=lease.own, shared=lease.shared)

    async def _wait(self, lease: Lease, size: int, grant: Callable[[Lease, int], bool]) -> None:
        granted = asyncio.get_running_loop().create_future()
        waiting = WaitingReader(lease, size, grant, granted)
        self._waiting.append(waiting)
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:
                self.give_back(lease)
            raise

    def _grant(self, lease: Lease, size: int) -> bool:
        """Take bytes from the peer's own reservation and the rest from the shared pool; all or nothing."""
        node_id = lease.node_id
        free = ALLOWANCE + self._share_of(node_id) - self._own[node_id]
        own = max(0, min(size, free))
        rest = size - own
        if rest and not self._is_shared_free(lease, rest):
            return False
        self._own[node_id] += own
        lease.own += own
        self._take_shared(lease, rest)
        return True

    def _is_shared_free(self, lease: Lease, size: int) -> bool:
        pool = self._config.shared_pool
        others = self._shared[lease.node_id] - lease.shared
        if others and others + lease.shared + size > self._config.shared_pool_of_one:
            return False
        if lease.strange and self._of_strangers >= pool // STRANGERS_PART:
            return False
        return self._in_shared < pool

    def _take_shared(self, lease: Lease, size: int) -> None:
        self._shared[lease.node_id] += size
        self._in_shared += size
        self._of_strangers += size * lease.strange
        lease.shared += size

    def _release(self, lease: Lease, *, own: int, shared: int) -> None:
        _lessen(self._own, lease.node_id, own)
        _lessen(self._shared, lease.node_id, shared)
        self._in_shared -= shared
        self._of_strangers -= shared * lease.strange
        lease.own -= own
        lease.shared -= shared
        self._let_in()

    def _let_in(self) -> None:
        if not self._waiting:
            return
        still: deque[WaitingReader] = deque()
        for waiting in self._waiting:
            if waiting.granted.done():
                continue
            if waiting.grant(waiting.lease, waiting.size):
                waiting.granted.set_result(None)
            else:
                still.append(waiting)
        self._waiting = still


def _lessen(counter: Counter[NodeID], node_id: NodeID, amount: int) -> None:
    left = counter[node_id] - amount
    if left:
        counter[node_id] = left
    else:
        del counter[node_id]
