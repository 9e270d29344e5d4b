"""A signed transaction as a value, its intrinsic gas, and the reasons why bytes are not a transaction.

`codec` decodes and `signing` encodes transactions. The messages are go-ethereum's; the pool has further reasons to
refuse a transaction, which are in `pool.errors`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from cchain_app.config import at_least
from primitives import rlp
from primitives.evm import Address, Hash, Slot
from primitives.hashing import keccak256
from primitives.reasons import ErrorWithReason

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

    Impersonated transactions (`signing.impersonate`) only exist on development chains.
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


class TransactionReason(StrEnum):
    """Why bytes are not a transaction of this chain."""

    TOO_SHORT = "typed transaction too short"
    TYPE_NOT_SUPPORTED = "transaction type not supported"
    # valid on Ethereum and on local chains, but not here
    BLOBS_NOT_SUPPORTED = "transaction type not supported: tx type 3 not supported by this pool"
    # a sidecar that is neither of EIP-4844 nor of EIP-7594
    SIDECAR_VERSION = "invalid sidecar version {version}, only 0 and 1 are known"
    # not the canonical RLP of its type; the cause is the `RlpError`
    MALFORMED = "rlp: {problem}"
    WRONG_CHAIN_ID = "invalid sender: invalid chain id for signer: have {have} want {want}"
    # out of range; this includes s above half the order
    SIGNATURE_VALUES = "invalid sender: invalid transaction v, r, s values"
    # values within their ranges for which there is no public key
    SENDER_NOT_RECOVERABLE = "invalid sender: recovery failed"


class InvalidTransaction(ErrorWithReason):
    """Bytes that can never be a transaction of this chain."""


TX_BASE_COST = 21_000
"""Gas of any transaction."""
TX_CREATE_COST = 32_000
"""Additional gas of a contract creation (since Homestead)."""
TX_DATA_COST_PER_ZERO = 4
"""Gas of a zero byte of data."""
TX_DATA_COST_PER_NON_ZERO = 16
"""Gas of any other byte of data (EIP-2028)."""
TX_DATA_COST_PER_NON_ZERO_FRONTIER = 68
INIT_CODE_WORD_COST = 2
"""Gas of 32 bytes of init code, rounded up (EIP-3860, since Shanghai)."""
TX_ACCESS_LIST_ADDRESS_COST = 2_400
"""Gas of an address in the access list (EIP-2930)."""
TX_ACCESS_LIST_STORAGE_KEY_COST = 1_900
"""Gas of a storage key in the access list."""
PER_EMPTY_ACCOUNT_COST = 25_000
"""Gas of an authorization (EIP-7702)."""
TOTAL_COST_FLOOR_PER_TOKEN = 10
"""Minimum gas of a token of data: a zero byte is one token, any other is four (EIP-7623)."""


class Chargeable(Protocol):
    """The fields of a transaction that determine its intrinsic gas."""

    @property
    def to(self) -> Address | None:
        """None for a contract creation."""

    @property
    def data(self) -> bytes:
        """Input or init code."""

    @property
    def access_list(self) -> AccessList:
        """Addresses and storage keys that are accessed."""

    @property
    def authorizations(self) -> tuple[Authorization, ...]:
        """EIP-7702 authorizations."""


def intrinsic_gas(transaction: Chargeable, fork: str) -> int:
    """Return the gas that is charged before execution under the fork's rules."""
    gas = TX_BASE_COST + _data_gas(transaction.data, fork)
    if transaction.to is None and at_least(fork, "homestead"):
        gas += TX_CREATE_COST
    if transaction.to is None and at_least(fork, "shanghai"):
        gas += INIT_CODE_WORD_COST * -(-len(transaction.data) // 32)
    for _, slots in transaction.access_list:
        gas += TX_ACCESS_LIST_ADDRESS_COST + TX_ACCESS_LIST_STORAGE_KEY_COST * len(slots)
    return gas + PER_EMPTY_ACCOUNT_COST * len(transaction.authorizations)


def floor_gas(data: bytes, fork: str) -> int:
    """Return the minimum gas of a transaction with this data: 0 before Prague."""
    if not at_least(fork, "prague"):
        return 0
    zeros = data.count(0)
    return TX_BASE_COST + TOTAL_COST_FLOOR_PER_TOKEN * (zeros + 4 * (len(data) - zeros))


def _data_gas(data: bytes, fork: str) -> int:
    zeros = data.count(0)
    other = (
        TX_DATA_COST_PER_NON_ZERO
        if at_least(fork, "istanbul")
        else TX_DATA_COST_PER_NON_ZERO_FRONTIER
    )
    return TX_DATA_COST_PER_ZERO * zeros + other * (len(data) - zeros)
