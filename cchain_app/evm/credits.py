"""Payments to accounts outside of transactions, as changes of the state. Pure."""

from collections.abc import Mapping

from cchain_app.config import at_least
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges, StateReader
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH


def pay(
    credited: Mapping[Address, int], executed: StateChanges, state: StateReader, fork: str
) -> StateChanges:
    """Return the state changes made by the payments.

    Unspecified: the payments come after the system calls at a block's end. The specification puts withdrawals
    before them, which makes a difference only to a system contract that reads its balance; no system contract does.

    Args:
        credited: Wei by account.
        executed: The block's changes before the payments.
        state: The state before the block.
        fork: The block's rule set.
    """
    accounts: dict[Address, AccountChange] = {}
    for address, wei in credited.items():
        change = executed.accounts.get(address)
        before = state.account(address) if change is None else change.after
        after = _credited(before, wei, fork)
        if after != before:
            accounts[address] = AccountChange(before, after)
    return StateChanges(accounts=accounts)


def _credited(before: AccountState | None, wei: int, fork: str) -> AccountState | None:
    if before is None:
        before = AccountState(0, 0, EMPTY_HASH)
    after = before._replace(balance=before.balance + wei)
    empty = after == AccountState(0, 0, EMPTY_HASH)
    return None if empty and at_least(fork, "spurious_dragon") else after
