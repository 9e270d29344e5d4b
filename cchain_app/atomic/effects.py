"""Effects of atomic transactions on the EVM's state (atomic.md 7).

On the specification's network these are debits before a block and withdrawals in it (12.1), on coreth one change after
the block's transactions.
"""

from collections.abc import Iterable
from typing import Final

from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import AtomicTx, UnsignedExportTx, UnsignedImportTx
from cchain_app.blocks.accepted import Withdrawal
from cchain_app.evm.coreth import MULTI_COIN_SLOT, asset_slot
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    SlotChange,
    StateChanges,
    StateReader,
)
from cchain_app.evm.pending_state import PendingState
from primitives.evm import Address, Slot, Word
from primitives.hashing import EMPTY_HASH
from primitives.ids import ID
from utxo.errors import InvalidTx

_YES: Final = Word((1).to_bytes(32, "big"))


def debits(
    txs: Iterable[AtomicTx], state: StateReader, parameters: AtomicParameters
) -> StateChanges:
    """Return the changes that exports make to the parent's state, in order, before anything else in the block.

    The nonce of each account is the parent's and grows by one with each export.

    Raises:
        InvalidTx: An account has too little, or another nonce than the export names.
    """
    accounts: dict[Address, AccountChange] = {}

    def read(address: Address) -> AccountChange:
        found = accounts.get(address)
        if found is not None:
            return found
        account = state.account(address)
        return AccountChange(account, account)

    for tx in txs:
        if not isinstance(tx.unsigned, UnsignedExportTx):
            continue
        for spent in tx.unsigned.inputs:
            before, account = read(spent.address)
            is_other = spent.asset_id != parameters.asset_id
            wei = 0 if is_other else spent.amount * parameters.wei_per_unit
            if account is None or account.balance < wei:
                raise InvalidTx(AtomicReason.INSUFFICIENT_FUNDS)
            if account.nonce != spent.nonce:
                raise InvalidTx(AtomicReason.INVALID_NONCE)
            left = account._replace(balance=account.balance - wei)
            accounts[spent.address] = AccountChange(before, left)
        for address in {spent.address for spent in tx.unsigned.inputs}:
            before, account = accounts[address]
            assert isinstance(account, AccountState)
            accounts[address] = AccountChange(before, account._replace(nonce=account.nonce + 1))
    return StateChanges(accounts=accounts)


def exporters_of(txs: Iterable[AtomicTx]) -> set[Address]:
    """Return the accounts from which transactions export."""
    return {
        spent.address
        for tx in txs
        if isinstance(tx.unsigned, UnsignedExportTx)
        for spent in tx.unsigned.inputs
    }


def credits_and_debits(
    txs: Iterable[AtomicTx], state: StateReader, parameters: AtomicParameters
) -> StateChanges:
    """Return the changes that transactions make one after another, as on coreth (atomic.md 7).

    Args:
        txs: The transactions.
        state: The state after the EVM transactions of their block.
        parameters: The network's values.

    Raises:
        InvalidTx: An account has too little, or another nonce than an export names.
    """
    made = PendingState(state)
    for tx in txs:
        if isinstance(tx.unsigned, UnsignedExportTx):
            made.put(_of_other_assets(tx.unsigned, made, parameters))
            made.put(debits([tx], made, parameters))
            continue
        for credit in tx.unsigned.outputs:
            before = made.account(credit.address)
            known = before or AccountState(0, 0, EMPTY_HASH)
            if credit.asset_id == parameters.asset_id:
                wei = credit.amount * parameters.wei_per_unit
                after = known._replace(balance=known.balance + wei)
                made.put(StateChanges(accounts={credit.address: AccountChange(before, after)}))
                continue
            made.put(
                StateChanges(
                    accounts={credit.address: AccountChange(before, known)},
                    storage=moved_asset(made, credit.address, credit.asset_id, credit.amount),
                )
            )
    return made.changes()


def moved_asset(
    state: StateReader, address: Address, asset_id: ID, amount: int
) -> dict[tuple[Address, Slot], SlotChange]:
    """Return the changes of an account's balance of another asset and of its fifth field (coreth.md 7.1).

    Raises:
        InvalidTx: The account has too little.
    """
    slot = asset_slot(asset_id)
    before = state.storage(address, slot)
    after = int.from_bytes(before, "big") + amount
    if after < 0:
        raise InvalidTx(AtomicReason.INSUFFICIENT_FUNDS)
    return {
        (address, slot): SlotChange(before, Word((after % 2**256).to_bytes(32, "big"))),
        (address, MULTI_COIN_SLOT): SlotChange(state.storage(address, MULTI_COIN_SLOT), _YES),
    }


def _of_other_assets(
    unsigned: UnsignedExportTx, state: StateReader, parameters: AtomicParameters
) -> StateChanges:
    """Return the changes of an export's inputs of other assets. An account is among them once for each asset."""
    storage: dict[tuple[Address, Slot], SlotChange] = {}
    for spent in unsigned.inputs:
        if spent.asset_id != parameters.asset_id:
            storage |= moved_asset(state, spent.address, spent.asset_id, -spent.amount)
    return StateChanges(storage=storage)


def withdrawals(
    txs: Iterable[AtomicTx], first_index: int, parameters: AtomicParameters
) -> tuple[Withdrawal, ...]:
    """Return the withdrawals of a block with these transactions: one for each output of each import, in order.

    Args:
        txs: All transactions of the block's payload.
        first_index: The number of withdrawals in the chain before the block.
        parameters: The network's values.
    """
    credits = (
        (position, made)
        for position, tx in enumerate(txs)
        if isinstance(tx.unsigned, UnsignedImportTx)
        for made in tx.unsigned.outputs
    )
    return tuple(
        Withdrawal(index, position, made.address, made.amount * parameters.gwei_per_unit)
        for index, (position, made) in enumerate(credits, first_index)
    )
