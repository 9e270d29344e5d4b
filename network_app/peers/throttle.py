"""How fast and how much is read from peers (p2p.md 7): reading waits, nothing is dropped.

Which connections are let in at all is in `arrivals`.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import Directory, ValidatorFacts
from primitives.ids import NodeID

FRAME_COST = 512
"""Bytes of the rate that each frame costs besides its own: what small ones cost is time."""
UNPACKING_SHARE = 8
"""Bytes that come out of compression for the cost of one that comes over the wire."""
MESSAGE_COST = 1024
"""Bytes of the pool that each message in work takes besides its own: objects and a task."""
ALLOWANCE = 64 * 1024
"""Bytes in work that every node has to itself: nobody can starve the others."""
STRANGERS_PART = 2
"""All strangers together have one part in so many of the shared pool: the others are left one."""


class TokenBucket:
    """Tokens that come back at a rate. What is taken beyond them is a debt that time pays."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = now

    def take(self, cost: float, now: float) -> float:
        """Take tokens in any case; return the seconds until the debt is paid."""
        self._refill(now)
        self._tokens -= cost
        return max(0.0, -self._tokens / self._rate)

    def try_take(self, cost: float, now: float) -> bool:
        """Take tokens if they are there."""
        self._refill(now)
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def change(self, rate: float, burst: float, now: float) -> None:
        """Let tokens come back at another rate from now on, and hold so many."""
        if (rate, burst) != (self._rate, self._burst):
            self._refill(now)
            self._rate, self._burst = rate, burst
            self._tokens = min(self._tokens, burst)

    def _refill(self, now: float) -> None:
        elapsed = max(0.0, now - self._at)
        self._tokens = min(self._burst, self._tokens + elapsed * self._rate)
        self._at = max(self._at, now)


def frame_cost(size: int) -> int:
    """Return what reading a frame costs of a peer's rate."""
    return size + FRAME_COST


def unpacking_cost(size: int, unpacked: int) -> int:
    """Return what a message costs of the rate besides its frame, when it is larger than that."""
    return max(0, unpacked - size) // UNPACKING_SHARE


class Shares:
    """What each validator has of the validators' pool, by its stake."""

    def __init__(self, config: NetworkConfig, directory: Directory) -> None:
        self._pool = config.validator_pool
        self._directory = directory
        self._summed: Mapping[NodeID, ValidatorFacts] | None = None
        self._total = 0

    def of(self, node_id: NodeID) -> int:
        """Return a node's bytes, 0 if it does not validate."""
        validators = self._directory.validators()
        facts = validators.get(node_id)
        if facts is None:
            return 0
        if validators is not self._summed:
            self._total = sum(one.weight for one in validators.values())
            self._summed = validators
        return self._pool * facts.weight // max(1, self._total)


@dataclass(slots=True, eq=False)
class Lease:
    """Bytes of a pool that a message takes until it is worked off."""

    node_id: NodeID
    own: int = 0
    """Of what the peer has to itself."""
    shared: int = 0
    over: bool = False
    """It is the one that went beyond the pool."""
    strange: bool = False
    """It is of a stranger, and takes of what those may have."""


class Waiting(NamedTuple):
    """A reader that waits for room."""

    lease: Lease
    size: int
    grant: Callable[[Lease, int], bool]
    granted: asyncio.Future[None]


class BytePool:
    """Bytes of messages in work, for all peers.

    Each peer has some to itself, a validator its share by stake besides. What does not fit into
    that is taken from the rest, which is shared: one peer takes at most `shared_pool_of_one` of it,
    and all strangers half. Who comes while there is any room left is let in, whatever the size: so
    the sum may pass the limit, by one message. Who waits is let in in the order of coming.
    """

    def __init__(
        self,
        config: NetworkConfig,
        share_of: Callable[[NodeID], int],
        is_known: Callable[[NodeID], bool],
    ) -> None:
        self._config = config
        self._share_of = share_of
        """Bytes of the validators' pool that a node has to itself."""
        self._is_known = is_known
        """Whether a node is no stranger."""
        self._own: Counter[NodeID] = Counter()
        self._shared: Counter[NodeID] = Counter()
        self._in_shared = 0
        self._of_strangers = 0
        """Of those, what strangers have."""
        self._over = False
        self._waiting: deque[Waiting] = deque()

    @property
    def waiting(self) -> int:
        """Readers that wait."""
        return len(self._waiting)

    def try_take(self, node_id: NodeID, size: int) -> Lease | None:
        """Take room for a message of a peer, if there is any."""
        lease = Lease(node_id, strange=not self._is_known(node_id))
        return lease if self._grant(lease, size) else None

    async def take(self, node_id: NodeID, size: int) -> Lease:
        """Wait until there is room for a message of a peer, and take it."""
        lease = self.try_take(node_id, size)
        if lease is None:
            lease = Lease(node_id, strange=not self._is_known(node_id))
            await self._wait(lease, size, self._grant)
        return lease

    def try_extend(self, lease: Lease, size: int) -> bool:
        """Take more for a message that turned out larger, if there is room.

        One message at a time may go beyond the pool: else those that wait to be extended, with the
        whole pool in their hands, would wait for each other.
        """
        if self._grant(lease, size):
            return True
        if self._over:
            return False
        self._over = lease.over = True
        self._take_shared(lease, size)
        return True

    async def extend(self, lease: Lease, size: int) -> None:
        """Wait for what `try_extend` did not give."""
        await self._wait(lease, size, self.try_extend)

    def give_back(self, lease: Lease) -> None:
        """Give back what a message had, and let in who waits for it."""
        if lease.over:
            self._over = lease.over = False
        self._release(lease, own=lease.own, shared=lease.shared)

    async def _wait(self, lease: Lease, size: int, grant: Callable[[Lease, int], bool]) -> None:
        granted = asyncio.get_running_loop().create_future()
        waiting = Waiting(lease, size, grant, granted)
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
        """Take what the peer has to itself, and the rest of what is shared; all or nothing."""
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
        still: deque[Waiting] = deque()
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
