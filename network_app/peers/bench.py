"""Bench peers that do not answer: send them no requests for a while (p2p.md 7). Pure; time is an argument.

The sender of a request reports each answer and each failure; `sync` chooses the peer for each request.
"""

from dataclasses import dataclass, field

from network_app.config import NetworkConfig
from network_app.peers.counters import RunningAverage
from primitives.bounded_cache import BoundedCache
from primitives.ids import NodeID

HALF_LIFE = 60.0
"""Seconds."""
CREDIT = 4.0
"""Assumed number of answers before the first request, so that four failures do not bench a peer."""


@dataclass(slots=True)
class Record:
    """A peer's answers and failures for one chain."""

    failures: RunningAverage
    benched_at: float | None = field(default=None)


class Bench:
    """Running averages of failed requests by peer and chain, for the most recently asked ones.

    Unspecified: the reference benches only while little stake is benched. Here the sender asks
    a benched peer when there is no other.
    """

    def __init__(self, config: NetworkConfig, capacity: int = 4096) -> None:
        self._config = config
        self._records: BoundedCache[tuple[NodeID, str], Record] = BoundedCache(capacity)

    def answered(self, node_id: NodeID, alias: str, now: float) -> None:
        """Note that a request was answered."""
        self._observe(node_id, alias, 0.0, now)

    def failed(self, node_id: NodeID, alias: str, now: float) -> None:
        """Note that a request was not answered in time, or could not be sent."""
        self._observe(node_id, alias, 1.0, now)

    def is_benched(self, node_id: NodeID, alias: str, now: float) -> bool:
        """Return whether a peer must not be asked."""
        record = self._records.peek((node_id, alias))
        if record is None or record.benched_at is None:
            return False
        if now - record.benched_at >= self._config.bench_time:
            # restart with a clean record: earlier failures no longer count
            self._records.pop((node_id, alias))
            return False
        return True

    def benched(self, now: float) -> dict[NodeID, list[str]]:
        """Return the chains for which each benched peer is not asked, sorted."""
        found: dict[NodeID, list[str]] = {}
        for node_id, alias in sorted(self._records):
            if self.is_benched(node_id, alias, now):
                found.setdefault(node_id, []).append(alias)
        return found

    def forget(self, node_id: NodeID) -> None:
        """Discard a peer's record on all chains."""
        for key in [record for record in self._records if record[0] == node_id]:
            self._records.pop(key)

    def __len__(self) -> int:
        return len(self._records)

    def _observe(self, node_id: NodeID, alias: str, value: float, now: float) -> None:
        key = node_id, alias
        self.is_benched(node_id, alias, now)  # discards an expired bench
        record = self._records.get(key)
        if record is None:
            record = Record(RunningAverage(0.0, HALF_LIFE, now, CREDIT))
            self._records.put(key, record)
        record.failures.observe(value, now)
        if record.benched_at is None:
            if record.failures.value > self._config.bench_above:
                record.benched_at = now
        elif record.failures.value < self._config.bench_below:
            record.benched_at = None
