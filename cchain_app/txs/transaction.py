"""A signed transaction as a value. How it is read from and written to bytes: `codec`."""

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

DELEGATION = bytes.fromhex("ef0100")
"""What the code of an account begins with that runs another one's: the address follows (EIP-7702)."""


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
    """A decoded transaction: its signature was checked, so that `sender` is proven, or names it.

    The latter is `impersonation`'s, on a development chain alone.
    """

    type: int
    hash: Hash
    raw: bytes
    """The envelope as it travels: type byte and RLP, or RLP alone for a legacy transaction."""
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
    """Wei; of types 0 and 1 the gas price."""
    max_priority_fee_per_gas: int
    """Wei; of types 0 and 1 the gas price."""
    access_list: AccessList
    authorizations: tuple[Authorization, ...]
    v: int
    """27 or 28, or 35 + 2·chain ID + parity, for type 0; the parity for the others."""
    r: int
    s: int
    max_fee_per_blob_gas: int = 0
    """Wei; only type 3 has it, like the next one (EIP-4844)."""
    blob_hashes: tuple[Hash, ...] = ()
    """Versioned hashes; the blobs themselves travel apart."""

    @property
    def is_impersonated(self) -> bool:
        """Whether nobody signed it: both numbers of its signature are the sender's address.

        No key signs so: a signature that recovers to its own r is as hard to find as an address's key.
        """
        return self.r == self.s == int.from_bytes(self.sender)

    @property
    def y_parity(self) -> int:
        """0 or 1: which of two points the signature means."""
        if self.type != LEGACY:
            return self.v
        return (self.v - 27) if self.chain_id is None else (self.v - 35) % 2

    def effective_gas_price(self, base_fee: int) -> int:
        """Return what a gas costs in a block with this base fee, in wei (EIP-1559)."""
        return min(self.max_fee_per_gas, base_fee + self.max_priority_fee_per_gas)

    def effective_tip(self, base_fee: int) -> int:
        """Return what of it goes to the coinbase; negative when the fee cap is too low."""
        return min(self.max_fee_per_gas - base_fee, self.max_priority_fee_per_gas)

    @property
    def blob_gas(self) -> int:
        """What it uses of the gas of blobs, which has a price of its own."""
        return len(self.blob_hashes) * GAS_PER_BLOB

    @property
    def cost(self) -> int:
        """The most that it can take from its sender: gas · fee cap + value, in wei; blobs likewise."""
        of_blobs = self.blob_gas * self.max_fee_per_blob_gas
        return self.gas * self.max_fee_per_gas + of_blobs + self.value


def contract_address(sender: Address, nonce: int) -> Address:
    """Return the address of the contract that a creation with this sender and nonce makes."""
    encoded = rlp.encode_list((rlp.encode_bytes(sender), rlp.encode_uint(nonce)))
    return Address(keccak256(encoded)[12:])
