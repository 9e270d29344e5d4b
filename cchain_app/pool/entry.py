"""What the pool's rules know of a waiting transaction: enough to decide without its bytes."""

from typing import NamedTuple

from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash

SLOT_BYTES = 32 * 1024
"""One slot of the pool: what a transaction takes of its room, counted up."""


class Newcomer(NamedTuple):
    """A transaction that wants to get in."""

    transaction: Transaction
    authorities: tuple[Address, ...] = ()
    """Who signed its authorizations (EIP-7702), each once."""


class PoolEntry(NamedTuple):
    """A waiting transaction, as the pool's table has it."""

    hash: Hash
    sender: Address
    nonce: int
    gas: int
    """Gas limit."""
    max_fee_per_gas: int
    """Wei; of types 0 and 1 the gas price."""
    max_priority_fee_per_gas: int
    """Wei; of types 0 and 1 the gas price."""
    value: int
    """Wei."""
    size: int
    """Bytes of the envelope."""
    arrival: int
    """Grows with each arrival: of two that pay the same the lower goes first."""
    received_at: int
    """Unix seconds."""
    authorities: tuple[Address, ...] = ()
    """Who signed its authorizations (EIP-7702), each once."""

    @property
    def cost(self) -> int:
        """The most that it can take from its sender, in wei."""
        return self.gas * self.max_fee_per_gas + self.value

    @property
    def slots(self) -> int:
        """How many slots of the pool it takes."""
        return -(-self.size // SLOT_BYTES)

    def effective_tip(self, base_fee: int) -> int:
        """Return what a gas brings the coinbase, in wei; negative below the base fee."""
        return min(self.max_fee_per_gas - base_fee, self.max_priority_fee_per_gas)


def make_entry(newcomer: Newcomer, *, arrival: int, received_at: int) -> PoolEntry:
    """Return the entry of a transaction that arrived at a time (Unix seconds)."""
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
    )
