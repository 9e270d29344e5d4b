"""The bisection by which eth_estimateGas finds a gas limit, as geth does it. Pure.

The reference engine uses this module; the native engine has the same algorithm in Rust, and a test checks
that both give the same results.
"""

from collections.abc import Callable
from typing import Final

from cchain_app.evm import failures
from cchain_app.evm.engine import AccountState, CallMessage, CallResult, GasEstimate
from cchain_app.txs.transaction import TX_BASE_COST
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH

TRANSFER_GAS: Final = TX_BASE_COST
"""Gas of a transaction that does nothing but transfer value."""

CALL_STIPEND: Final = 2_300
"""Gas that a call with value adds for the callee (EIP-150)."""

Attempt = Callable[[int], CallResult | None]
"""Runs a call with a gas limit; returns None if that is too little to start it."""


def least_gas(attempt: Attempt, highest: int, error_ratio: float) -> GasEstimate:
    """Return the least limit up to `highest` with which a call succeeds.

    Args:
        attempt: Runs the call.
        highest: The first limit to try.
        error_ratio: The fraction by which the result may be too high.
    """
    result = attempt(highest)
    if result is None or (result.error or "").startswith(failures.OUT_OF_GAS):
        return GasEstimate(None)
    if result.error is not None:
        return GasEstimate(None, result)
    lowest = result.gas_used - 1
    guess = (result.gas_peak + CALL_STIPEND) * 64 // 63
    if guess < highest:
        lowest, highest = _narrow(attempt, guess, lowest, highest)
    while lowest + 1 < highest and (highest - lowest) / highest >= error_ratio:
        # Most calls need little more than they use, so limits near that are tried first.
        middle = min((lowest + highest) // 2, lowest * 2)
        lowest, highest = _narrow(attempt, middle, lowest, highest)
    return GasEstimate(highest)


def is_plain(message: CallMessage, account_of: Callable[[Address], AccountState | None]) -> bool:
    """Return whether a call is a simple transfer: no data, and no code at its recipient."""
    if message.data or message.to is None:
        return False
    account = account_of(message.to)
    return account is None or account.code_hash == EMPTY_HASH


def _narrow(attempt: Attempt, gas: int, lowest: int, highest: int) -> tuple[int, int]:
    result = attempt(gas)
    works = result is not None and result.error is None
    return (lowest, gas) if works else (gas, highest)
