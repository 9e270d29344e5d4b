"""How much the pool holds and what it asks: settings of a node, not rules of the chain."""

from dataclasses import dataclass

from cchain_app.pool.entry import SLOT_BYTES


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """The bounds of the pool; the defaults are go-ethereum's. Room is counted in slots."""

    pending_slots: int = 5_120
    """All pending transactions; beyond it only those within their sender's guarantee."""
    queued_slots: int = 1_024
    """All queued transactions. The whole pool holds no more than both together."""
    account_pending_slots: int = 16
    """What each sender may have pending whatever the others pay."""
    account_queued: int = 64
    """How many transactions of one sender may be queued."""
    queued_lifetime: int = 3 * 3_600
    """Seconds after which a queued transaction is dropped."""
    price_bump: int = 10
    """Percent by which a replacement must exceed both fees of what it replaces."""
    transaction_bytes: int = 4 * SLOT_BYTES
    """The largest envelope."""
    minimum_tip: int = 0
    """Wei: the least priority fee cap."""
    minimum_fee: int = 0
    """Wei: the least fee cap; set it to the base fee's floor, below which nothing is ever mined."""
    fee_cap: int | None = 100 * 10**18
    """Wei: the most that gas may cost a transaction that comes over RPC; None is no cap."""
    unprotected_allowed: bool = False
    """Whether legacy transactions without a chain ID are taken over RPC."""

    @property
    def slots(self) -> int:
        """The room of the whole pool."""
        return self.pending_slots + self.queued_slots
