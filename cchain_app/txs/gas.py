"""The intrinsic gas that a transaction pays before its first instruction runs."""

from typing import Protocol

from cchain_app.config import at_least
from cchain_app.txs.transaction import AccessList, Authorization
from primitives.evm import Address

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
