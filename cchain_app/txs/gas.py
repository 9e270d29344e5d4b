"""The intrinsic gas that a transaction pays before its first instruction runs."""

from typing import Protocol

from cchain_app.config import at_least
from cchain_app.txs.transaction import AccessList, Authorization
from primitives.evm import Address

TRANSACTION = 21_000
"""Gas of any transaction."""
CREATION = 32_000
"""Additional gas of a contract creation (since Homestead)."""
ZERO_BYTE = 4
"""Gas of a zero byte of data."""
OTHER_BYTE = 16
"""Gas of any other byte of data (EIP-2028)."""
OTHER_BYTE_BEFORE_ISTANBUL = 68
INITCODE_WORD = 2
"""Gas of 32 bytes of init code, rounded up (EIP-3860, since Shanghai)."""
LISTED_ADDRESS = 2_400
"""Gas of an address in the access list (EIP-2930)."""
LISTED_SLOT = 1_900
"""Gas of a storage key in the access list."""
AUTHORIZATION = 25_000
"""Gas of an authorization (EIP-7702)."""
FLOOR_TOKEN = 10
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
    gas = TRANSACTION + _data_gas(transaction.data, fork)
    if transaction.to is None and at_least(fork, "homestead"):
        gas += CREATION
    if transaction.to is None and at_least(fork, "shanghai"):
        gas += INITCODE_WORD * -(-len(transaction.data) // 32)
    for _, slots in transaction.access_list:
        gas += LISTED_ADDRESS + LISTED_SLOT * len(slots)
    return gas + AUTHORIZATION * len(transaction.authorizations)


def floor_gas(data: bytes, fork: str) -> int:
    """Return the minimum gas of a transaction with this data: 0 before Prague."""
    if not at_least(fork, "prague"):
        return 0
    zeros = data.count(0)
    return TRANSACTION + FLOOR_TOKEN * (zeros + 4 * (len(data) - zeros))


def _data_gas(data: bytes, fork: str) -> int:
    zeros = data.count(0)
    other = OTHER_BYTE if at_least(fork, "istanbul") else OTHER_BYTE_BEFORE_ISTANBUL
    return ZERO_BYTE * zeros + other * (len(data) - zeros)
