"""Values of the pool's rules: a transaction without its bytes, a sender's transactions, and the pool's limits.

The limits are settings of a node, not rules of the chain.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.txs.blobs import BYTES_PER_BLOB, Sidecar
from cchain_app.txs.transaction import GAS_PER_BLOB, Transaction
from primitives.evm import Address, Hash

SLOT_BYTES = 32 * 1024
"""Size of one slot of the pool; a transaction takes its size in slots, rounded up."""


class Newcomer(NamedTuple):
    """A transaction that is submitted to the pool."""

    transaction: Transaction
    authorities: tuple[Address, ...] = ()
    """Distinct signers of its authorizations (EIP-7702)."""
    sidecar: Sidecar | None = None
    """Its verified blobs, for a blob transaction."""

    @property
    def slots(self) -> int:
        """Number of pool slots that it will take."""
        transaction = self.transaction
        return _slots(len(transaction.raw), len(transaction.blob_hashes))


class PoolEntry(NamedTuple):
    """A pool transaction, as in the pool's table."""

    hash: Hash
    sender: Address
    nonce: int
    gas: int
    """Gas limit."""
    max_fee_per_gas: int
    """Wei; the gas price for types 0 and 1."""
    max_priority_fee_per_gas: int
    """Wei; the gas price for types 0 and 1."""
    value: int
    """Wei."""
    size: int
    """Size of the envelope in bytes."""
    arrival: int
    """Increases with each arrival: of two transactions that pay the same, the lower one comes first."""
    received_at: int
    """Unix seconds."""
    authorities: tuple[Address, ...] = ()
    """Distinct signers of its authorizations (EIP-7702)."""
    blobs: int = 0
    """Number of its blobs."""
    max_fee_per_blob_gas: int = 0
    """Wei."""

    @property
    def cost(self) -> int:
        """The most that it can cost its sender, in wei."""
        of_blobs = self.blobs * GAS_PER_BLOB * self.max_fee_per_blob_gas
        return self.gas * self.max_fee_per_gas + of_blobs + self.value

    @property
    def slots(self) -> int:
        """Number of pool slots that it takes, including its blobs."""
        return _slots(self.size, self.blobs)

    def effective_tip(self, base_fee: int) -> int:
        """Return the tip per gas at this base fee, in wei; negative if the fee cap is below the base fee."""
        return min(self.max_fee_per_gas - base_fee, self.max_priority_fee_per_gas)


def _slots(size: int, blobs: int) -> int:
    return -(-(size + blobs * BYTES_PER_BLOB) // SLOT_BYTES)


def make_entry(newcomer: Newcomer, *, arrival: int, received_at: int) -> PoolEntry:
    """Return the entry of a transaction that arrived at this time (Unix seconds)."""
    transaction = newcomer.transaction
    return PoolEntry(
        hash=transaction.hash,
        sender=transaction.sender,
        nonce=transaction.nonce,
        gas=transaction.gas,
        max_fee_per_gas=transaction.max_fee_per_gas,
        max_priority_fee_per_gas=transaction.max_priority_fee_per_gas,
        value=transaction.value,
        size=len(transaction.raw),
        arrival=arrival,
        received_at=received_at,
        authorities=newcomer.authorities,
        blobs=len(transaction.blob_hashes),
        max_fee_per_blob_gas=transaction.max_fee_per_blob_gas,
    )


class AccountQueue(NamedTuple):
    """A sender's pool transactions, each part in ascending order of nonces."""

    used: tuple[PoolEntry, ...]
    """Transactions whose nonces the account has used: they can never run."""
    pending: tuple[PoolEntry, ...]
    """Transactions without a gap from the account's nonce on, and together within its balance."""
    queued: tuple[PoolEntry, ...]
    """Transactions after a gap, or without funds."""
    spent: int
    """The most that the pending part can cost its sender, in wei."""

    @property
    def waiting(self) -> tuple[PoolEntry, ...]:
        """All pool transactions of the sender, in ascending order of nonces."""
        return (*self.used, *self.pending, *self.queued)

    def at(self, nonce: int) -> PoolEntry | None:
        """Return the transaction with this nonce, if there is one."""
        if self.pending:
            place = nonce - self.pending[0].nonce
            if 0 <= place < len(self.pending):
                return self.pending[place]
        return next((entry for entry in (*self.queued, *self.used) if entry.nonce == nonce), None)


EMPTY_ACCOUNT_QUEUE = AccountQueue((), (), (), 0)
"""The queue of a sender without pool transactions."""


_ANY_FUNDS: Final = 2**512
"""Wei; more than all transactions of a pool can cost."""


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
    blob_price_bump: int = 100
    """The same for all three fees, if either of the two is a blob transaction."""
    transaction_bytes: int = 4 * SLOT_BYTES
    """Maximum size of an envelope, without the sidecar of a blob transaction."""
    minimum_tip: int = 0
    """Wei: the lowest accepted priority fee cap."""
    minimum_fee: int = 0
    """Wei: the lowest accepted fee cap; set it to the base fee's floor, below which no transaction is ever mined."""
    fee_cap: int | None = 100 * 10**18
    """Wei: the highest gas cost of a transaction that arrives over RPC; None: no cap."""
    unprotected_allowed: bool = False
    """Whether legacy transactions without a chain ID are accepted over RPC."""
    balance_checks: bool = True
    """Whether a sender must be able to pay for all its pending transactions."""

    def funds(self, balance: int) -> int:
        """Return the wei that an account with this balance may spend by transactions of the pool."""
        return balance if self.balance_checks else _ANY_FUNDS

    @property
    def slots(self) -> int:
        """Capacity of the whole pool."""
        return self.pending_slots + self.queued_slots
