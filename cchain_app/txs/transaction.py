"""A signed transaction as a value. `codec` decodes and `signing` encodes it."""

from dataclasses import dataclass
from typing import NamedTuple

from primitives import rlp
from primitives.evm import Address, Hash, Slot
from primitives.hashing import keccak256

LEGACY, ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE = range(5)
"""The transaction types of EIP-2718 by their numbers."""

GAS_PER_BLOB = 2**17
"""EIP-4844: blob gas of one blob."""

AccessList = tuple[tuple[Address, tuple[Slot, ...]], ...]

DELEGATION_PREFIX = bytes.fromhex("ef0100")
"""Prefix of a delegating account's code; the address whose code it runs follows (EIP-7702)."""


class Authorization(NamedTuple):
    """One entry of an EIP-7702 authorization list."""

    chain_id: int
    address: Address
    nonce: int
    y_parity: int
    r: int
    s: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """A decoded transaction, whose `sender` is proven by its signature or, if impersonated, contained in it.

    Impersonated transactions (`impersonation`) only exist on development chains.
    """

    type: int
    hash: Hash
    raw: bytes
    """The encoded envelope: type byte and RLP, or only RLP for a legacy transaction."""
    sender: Address
    chain_id: int | None
    """None for a legacy transaction without replay protection (before EIP-155)."""
    nonce: int
    gas: int
    """Gas limit."""
    to: Address | None
    """None for a contract creation."""
    value: int
    """Wei."""
    data: bytes
    max_fee_per_gas: int
    """Wei; the gas price for types 0 and 1."""
    max_priority_fee_per_gas: int
    """Wei; the gas price for types 0 and 1."""
    access_list: AccessList
    authorizations: tuple[Authorization, ...]
    v: int
    """For type 0: 27 or 28, or 35 + 2·chain ID + parity; for the others: the parity."""
    r: int
    s: int
    max_fee_per_blob_gas: int = 0
    """Wei; only for type 3, like the next field (EIP-4844)."""
    blob_hashes: tuple[Hash, ...] = ()
    """Versioned hashes; the blobs themselves are sent separately."""

    @property
    def is_impersonated(self) -> bool:
        """Whether it is unsigned: r and s of its signature are the sender's address.

        No key makes such a signature: one that recovers to its own r is as hard to find as an address's key.
        """
        return self.r == self.s == int.from_bytes(self.sender)

    @property
    def y_parity(self) -> int:
        """0 or 1: which of the two possible points the signature means."""
        if self.type != LEGACY:
            return self.v
        return (self.v - 27) if self.chain_id is None else (self.v - 35) % 2

    def effective_gas_price(self, base_fee: int) -> int:
        """Return the price of one gas in a block with this base fee, in wei (EIP-1559)."""
        return min(self.max_fee_per_gas, base_fee + self.max_priority_fee_per_gas)

    def effective_tip(self, base_fee: int) -> int:
        """Return the part of the gas price that the coinbase gets; negative if the fee cap is too low."""
        return min(self.max_fee_per_gas - base_fee, self.max_priority_fee_per_gas)

    @property
    def blob_gas(self) -> int:
        """The blob gas that it uses, which has a separate price."""
        return len(self.blob_hashes) * GAS_PER_BLOB

    @property
    def cost(self) -> int:
        """The most that it can cost its sender: gas · fee cap + value, in wei, plus the same for blobs."""
        of_blobs = self.blob_gas * self.max_fee_per_blob_gas
        return self.gas * self.max_fee_per_gas + of_blobs + self.value


def contract_address(sender: Address, nonce: int) -> Address:
    """Return the address of the contract that a creation with this sender and nonce creates."""
    encoded = rlp.encode_list((rlp.encode_bytes(sender), rlp.encode_uint(nonce)))
    return Address(keccak256(encoded)[12:])
