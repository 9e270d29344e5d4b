"""What atomic transactions do to the EVM's state (atomic.md 7).

On the specification's network it is debits before a block and withdrawals in it (12.1), on coreth one change after its
transactions.
"""

from collections.abc import Iterable

from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import AtomicTx, UnsignedExportTx, UnsignedImportTx
from cchain_app.blocks.accepted import Withdrawal
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges, StateReader
from cchain_app.evm.pending_state import PendingState
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from utxo.errors import InvalidTx


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
            wei = spent.amount * parameters.wei_per_unit
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
            made.put(debits([tx], made, parameters))
            continue
        for credit in tx.unsigned.outputs:
            before = made.account(credit.address)
            known = before or AccountState(0, 0, EMPTY_HASH)
            wei = credit.amount * parameters.wei_per_unit
            after = known._replace(balance=known.balance + wei)
            made.put(StateChanges(accounts={credit.address: AccountChange(before, after)}))
    return made.changes()


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
