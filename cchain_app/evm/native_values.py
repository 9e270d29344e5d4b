"""Convert values of the crate `native/` to the port's: accounts, logs, state changes.

The crate reads deposits from mainnet's contract only (EIP-6110); the deposits of a chain with another contract are
corrected here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cchain_app.config import DEPOSIT_CONTRACT
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    BlockEnv,
    ExecutedBlock,
    Log,
    SlotChange,
    StateChanges,
    StateReader,
)
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Recording, TracingEngine
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash, Slot, Word

if TYPE_CHECKING:
    import cchain_native


def logs_of(values: list[cchain_native.LogValues]) -> tuple[Log, ...]:
    """Return logs from the crate's values."""
    return tuple(map(Log._make, values))


def account_state(values: cchain_native.Account | None) -> AccountState | None:
    """Return an account from the crate's values; None if it does not exist."""
    if values is None:
        return None
    nonce, balance, code_hash = values
    return AccountState(nonce, balance, Hash(code_hash))


def changes_of(values: cchain_native.Changes) -> StateChanges:
    """Return state changes from the crate's values."""
    accounts, storage, codes, cleared = values
    return StateChanges(
        accounts={
            Address(address): AccountChange(account_state(before), account_state(after))
            for address, (before, after) in accounts.items()
        },
        storage={
            (Address(address), Slot(slot)): SlotChange(Word(before), Word(after))
            for (address, slot), (before, after) in storage.items()
        },
        codes={Hash(code_hash): code for code_hash, code in codes.items()},
        cleared=frozenset(map(Address, cleared)),
    )


def as_mainnets(env: BlockEnv, logs: Sequence[Log]) -> Sequence[Log]:
    """Return logs with those of the chain's deposit contract as mainnet's, and without those of mainnet's own."""
    if env.deposit_contract == DEPOSIT_CONTRACT:
        return logs
    return [
        log._replace(address=DEPOSIT_CONTRACT) if log.address == env.deposit_contract else log
        for log in logs
        if log.address != DEPOSIT_CONTRACT
    ]


def corrected(
    engine: TracingEngine,
    env: BlockEnv,
    transactions: Sequence[Transaction],
    state: StateReader,
    executed: ExecutedBlock,
) -> ExecutedBlock:
    """Return an executed block with the requests hash that follows from the chain's deposit contract.

    If a log matters, the transactions are executed again, so that the system calls run on the state after them.

    Args:
        engine: Reads deposits from mainnet's contract.
        env: The block's environment.
        transactions: The transactions that were given for the block.
        state: The state before the block.
        executed: The block as that engine executed it.

    Raises:
        InvalidBlock: A deposit cannot be read.
    """
    if env.deposit_contract == DEPOSIT_CONTRACT or executed.requests_hash is None:
        return executed
    logs = [log for result in executed.results for log in result.logs]
    if as_mainnets(env, logs) == logs:
        return executed
    included = [transactions[index] for index in executed.included]
    trace = engine.trace_block(env, included, state, Recording(changes=True))
    after = PendingState(state)
    after.put(trace.before)
    for transaction in trace.transactions:
        assert transaction.state is not None, "its changes are recorded"
        after.put(transaction.state.changes)
    return replace(executed, requests_hash=engine.close_block(env, after, logs).requests_hash)
