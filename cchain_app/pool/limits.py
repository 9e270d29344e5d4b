"""The pool's capacity and minimum fees: settings of a node, not rules of the chain."""

from dataclasses import dataclass

from cchain_app.pool.entry import SLOT_BYTES


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """The limits of the pool; the defaults are go-ethereum's. Capacity is counted in slots."""

    pending_slots: int = 5_120
    """For all pending transactions; beyond it only those within their sender's guarantee stay."""
    queued_slots: int = 1_024
    """For all queued transactions. The sum of both limits is that of the whole pool."""
    account_pending_slots: int = 16
    """Pending slots guaranteed to each sender, whatever others pay."""
    account_queued: int = 64
    """Maximum number of queued transactions of one sender."""
    queued_lifetime: int = 3 * 3_600
    """Seconds after which a queued transaction is dropped."""
    price_bump: int = 10
    """Percentage by which a replacement must exceed both fees of the replaced transaction."""
    transaction_bytes: int = 4 * SLOT_BYTES
    """Maximum size of an envelope."""
    minimum_tip: int = 0
    """Wei: the lowest accepted priority fee cap."""
    minimum_fee: int = 0
    """Wei: the lowest accepted fee cap; set it to the base fee's floor, below which no transaction is ever mined."""
    fee_cap: int | None = 100 * 10**18
    """Wei: the highest gas cost of a transaction that arrives over RPC; None: no cap."""
    unprotected_allowed: bool = False
    """Whether legacy transactions without a chain ID are accepted over RPC."""

    @property
    def slots(self) -> int:
        """Capacity of the whole pool."""
        return self.pending_slots + self.queued_slots
