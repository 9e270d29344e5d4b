"""What a payload of atomic transactions does to a state, computed without the node's own rules (atomic.md 12.1)."""

from collections.abc import Sequence
from typing import NamedTuple

from ethereum_rlp import rlp
from ethereum_types.numeric import Uint

from cchain_app.atomic.transactions import UnsignedExportTx, UnsignedImportTx, split_payload
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from tests.builders.cchain import MemoryState

WEI_OF_UNIT = 10**12
"""Wei of one unit with this node's own parameters."""
_WEI_OF_GWEI = 10**9


class Payment(NamedTuple):
    """An amount that an import credits to an account."""

    position: int
    """Index of the import in the payload."""
    address: Address
    wei: int


def debit(state: MemoryState, payload: bytes) -> StateChanges:
    """Return the changes of the exports of a payload, and apply them to the state."""
    before: dict[Address, AccountState | None] = {}
    for tx in split_payload(payload):
        if isinstance(tx.unsigned, UnsignedExportTx):
            for spent in tx.unsigned.inputs:
                account = state.accounts[spent.address]
                before.setdefault(spent.address, account)
                assert account.nonce == spent.nonce
                left = account.balance - spent.amount * WEI_OF_UNIT
                assert left >= 0
                state.accounts[spent.address] = account._replace(
                    nonce=account.nonce + 1, balance=left
                )
    return _changes(before, state)


def payments(payload: bytes) -> list[Payment]:
    """Return the payments of the imports of a payload, in order."""
    return [
        Payment(position, made.address, made.amount * WEI_OF_UNIT)
        for position, tx in enumerate(split_payload(payload))
        if isinstance(tx.unsigned, UnsignedImportTx)
        for made in tx.unsigned.outputs
    ]


def credit(state: MemoryState, paid: Sequence[Payment]) -> StateChanges:
    """Return the changes that payments make to a state, and apply them."""
    before: dict[Address, AccountState | None] = {}
    for payment in paid:
        account = state.accounts.get(payment.address)
        before.setdefault(payment.address, account)
        known = account or AccountState(0, 0, EMPTY_HASH)
        state.accounts[payment.address] = known._replace(balance=known.balance + payment.wei)
    return _changes(before, state)


def encoded(paid: Sequence[Payment], first_index: int) -> list[bytes]:
    """Return payments as the withdrawals of a block."""
    return [
        rlp.encode(
            (
                Uint(index),
                Uint(payment.position),
                payment.address,
                Uint(payment.wei // _WEI_OF_GWEI),
            )
        )
        for index, payment in enumerate(paid, first_index)
    ]


def _changes(before: dict[Address, AccountState | None], state: MemoryState) -> StateChanges:
    return StateChanges(
        accounts={
            address: AccountChange(one, state.accounts[address]) for address, one in before.items()
        }
    )
