"""The addresses and transactions known here, and the selection of those to send to peers (p2p.md 5, 8).

Claims are verified before they are added (`handshake.claims`). The book keeps the newest claim of each wanted
node only, so that it cannot be filled with nodes that do not exist. Pure: times are arguments, messages are sent
by `peers` and `sync`. Filters are in `network_app.bloom`.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from random import Random, SystemRandom

from network_app.bloom import BloomFilter, SaltedBloom
from network_app.handshake.claims import NodeClaim, gossip_id
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID

SAMPLE = 15
"""Number of claims in an answer."""
MAX_KNOWN = 4096
FILTER_INTERVAL = 60.0
"""Seconds after which the filter is rebuilt."""

_MIN_EXPECTED = 128
_TARGET_RATE = 0.001
_MAX_RATE = 0.01
_MAX_ENTRIES_PER_NODE = 2
"""Claims per node in a filter, so that a node that often signs a new address cannot fill the filter."""
_MAX_COMPARED = 512
"""Number of claims that are compared with a requester's filter."""


class AddressBook:
    """The claims that this node knows.

    Args:
        own: This node's claim. It is in the filter, but not in answers, because every requester knows it.
        wanted: Whether to connect to a node: it is a validator, or was found at a tracked address.
        most_known: Maximum number of claims.
        filter_interval: Seconds after which the filter is rebuilt.
        random: Selects the claims of an answer.
    """

    def __init__(
        self,
        own: NodeClaim,
        wanted: Callable[[NodeID], bool],
        *,
        most_known: int = MAX_KNOWN,
        filter_interval: float = FILTER_INTERVAL,
        random: Random | None = None,
    ) -> None:
        self._own = own
        self._wanted = wanted
        self._most_known = most_known
        self._filter_interval = filter_interval
        self._random = SystemRandom() if random is None else random
        self._claims: dict[NodeID, NodeClaim] = {}
        self._filter = self._new_filter()
        self._made_at: float | None = None
        self._entries: Counter[NodeID] = Counter()

    def __len__(self) -> int:
        return len(self._claims)

    def get(self, node_id: NodeID) -> NodeClaim | None:
        """Return the newest claim of a wanted node, with the address to dial; None for other nodes."""
        return self._claims.get(node_id) if self._wanted(node_id) else None

    def is_news(self, signed: NodeClaim) -> bool:
        """Return whether a claim is worth verifying: of a wanted node, and newer than the known claim."""
        if signed.node_id == self._own.node_id or not self._wanted(signed.node_id):
            return False
        known = self._claims.get(signed.node_id)
        return known is None or signed.claim.timestamp > known.claim.timestamp

    def add(self, signed: NodeClaim) -> bool:
        """Add a verified claim if it is new, and return whether it was added; then dial its node.

        A full book takes no further nodes until the next rebuild of the filter, which removes nodes that are
        no longer wanted.
        """
        full = len(self._claims) >= self._most_known and signed.node_id not in self._claims
        if full or not self.is_news(signed):
            return False
        self._claims[signed.node_id] = signed
        if self._filter.full:
            self._fill_filter()
        elif self._entries[signed.node_id] < _MAX_ENTRIES_PER_NODE:
            self._add_to_filter(signed)
        return True

    def known_peers(self, now: float) -> tuple[bytes, bytes]:
        """Return the filter of known claims and its salt; `now` is in seconds of any clock."""
        if self._made_at is None or now - self._made_at >= self._filter_interval:
            self._forget_unwanted()
            self._fill_filter()
            self._made_at = now
        return self._filter.marshal()

    def sample(
        self,
        exclude: BloomFilter,
        count: int = SAMPLE,
        *,
        asker: NodeID | None = None,
        may_know: Callable[[NodeID], bool] | None = None,
    ) -> list[NodeClaim]:
        """Return random claims that the requester's filter lacks, without the requester's own claim.

        Unspecified: only a random part of a large book is considered, so that no request is expensive.

        Args:
            exclude: The requester's filter.
            count: Maximum number of claims.
            asker: The requester.
            may_know: Whether the requester may know the address of a node; None: of all nodes.
        """
        compared = min(len(self._claims), _MAX_COMPARED)
        found: list[NodeClaim] = []
        for known in self._random.sample(list(self._claims.values()), compared):
            if len(found) >= count:
                break
            if (
                known.node_id != asker
                and _key(known) not in exclude
                and self._wanted(known.node_id)
                and (may_know is None or may_know(known.node_id))
            ):
                found.append(known)
        return found

    def _forget_unwanted(self) -> None:
        self._claims = {
            node_id: known for node_id, known in self._claims.items() if self._wanted(node_id)
        }

    def _new_filter(self) -> SaltedBloom:
        expected = max(_MIN_EXPECTED, 2 * len(self._claims))
        return SaltedBloom(expected, _TARGET_RATE, _MAX_RATE)

    def _fill_filter(self) -> None:
        self._filter = self._new_filter()
        self._entries.clear()
        for known in (self._own, *self._claims.values()):
            self._add_to_filter(known)

    def _add_to_filter(self, known: NodeClaim) -> None:
        self._filter.add(_key(known))
        self._entries[known.node_id] += 1


def _key(known: NodeClaim) -> ID:
    return gossip_id(known.node_id, known.claim.timestamp)


EXPECTED = 8192
"""Minimum number of transactions that a filter is sized for."""
PULL_SIZE = 20 * 1024
"""Size of an answer in bytes; the transaction that exceeds it is the last one."""
REMEMBERED = 32_768
"""Number of IDs that are remembered individually."""

_TX_TARGET_RATE = 0.01
_TX_MAX_RATE = 0.05
_GROWTH = 3
"""Size of a new filter as a multiple of the number of pending transactions."""


class KnownTransactions:
    """IDs of the transactions that this node has, has had or has rejected.

    Peers get them as a Bloom filter, which may have false positives. Received transactions are compared with
    the IDs themselves, of which the newest are remembered.
    """

    def __init__(self, *, expected: int = EXPECTED, remembered: int = REMEMBERED) -> None:
        self._expected = expected
        self._newest: BoundedCache[ID, None] = BoundedCache(remembered)
        self._filter = SaltedBloom(expected, _TX_TARGET_RATE, _TX_MAX_RATE)

    def __contains__(self, tx_id: ID) -> bool:
        return tx_id in self._newest

    def __len__(self) -> int:
        return len(self._newest)

    def fresh(self, tx_ids: Iterable[ID]) -> list[ID]:
        """Return the IDs that are not known, without duplicates, in order."""
        return [tx_id for tx_id in dict.fromkeys(tx_ids) if tx_id not in self._newest]

    def add(self, tx_ids: Iterable[ID]) -> None:
        """Add accepted or rejected transactions, which are then not requested again."""
        for tx_id in tx_ids:
            self._newest.put_newest(tx_id, None)
            self._filter.add(tx_id)

    @property
    def full(self) -> bool:
        """Whether the filter has too many false positives and must be renewed."""
        return self._filter.full

    def renew(self, waiting: Iterable[ID]) -> None:
        """Rebuild the filter from the pending transactions and as many of the newest others as fit."""
        kept = dict.fromkeys(waiting)
        size = max(self._expected, _GROWTH * len(kept))
        kept |= dict.fromkeys(islice(reversed(self._newest), size // 2))
        self._filter = SaltedBloom(size, _TX_TARGET_RATE, _TX_MAX_RATE)
        for tx_id in kept:
            self._filter.add(tx_id)

    def marshal(self) -> tuple[bytes, bytes]:
        """Return the filter and its salt in the form that is sent to peers."""
        return self._filter.marshal()

    @staticmethod
    def missing_from(
        known: BloomFilter, items: Iterable[tuple[ID, bytes]], budget: int = PULL_SIZE
    ) -> list[bytes]:
        """Return the transactions that a peer's filter lacks, until their size exceeds `budget`.

        Items are read only as far as needed. The transaction that exceeds the budget is included, because a
        large transaction would otherwise never be sent.
        """
        missing: list[bytes] = []
        for tx_id, raw in items:
            if tx_id in known:
                continue
            missing.append(raw)
            budget -= len(raw)
            if budget < 0:
                break
        return missing
