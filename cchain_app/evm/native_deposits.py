"""Deposits from another contract than mainnet's, with an engine that reads only mainnet's (EIP-6110)."""

from collections.abc import Sequence
from dataclasses import replace

from cchain_app.config import DEPOSIT_CONTRACT
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, Log, StateReader
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Recording, TracingEngine
from cchain_app.txs.transaction import Transaction


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
