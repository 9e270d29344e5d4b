"""Assembly of executed calls into a block, with header, transactions and receipts like those of a real block."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.assembly import assemble
from cchain_app.blocks.body import Withdrawal, encode_withdrawal
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, Log, StateChanges, TransactionResult
from cchain_app.evm.tracing import TransactionTrace
from cchain_app.simulation.calls import PreparedCall
from primitives.evm import Hash


class StateRoots(Protocol):
    """Computes the roots of consecutive states."""

    def after(self, changes: StateChanges) -> Hash:
        """Return the root after changes to the state of the last root."""

    def ordered_root(self, items: Sequence[bytes]) -> Hash:
        """Return the root of the trie of a list."""


class SimulatedCall(NamedTuple):
    """A call and its result."""

    prepared: PreparedCall
    trace: TransactionTrace
    logs: tuple[Log | None, ...]
    """The logs, if requested with value transfers, where a reverted transfer is None. The receipt has the logs of
    the trace."""


class SimulatedBlock(NamedTuple):
    """A simulated block."""

    block: AcceptedBlock
    calls: tuple[SimulatedCall, ...]


def assemble_block(
    env: BlockEnv,
    calls: Sequence[SimulatedCall],
    executed: ExecutedBlock,
    withdrawals: Sequence[Withdrawal],
    roots: StateRoots,
) -> AcceptedBlock:
    """Return the block as if it had been accepted.

    Args:
        env: The environment in which it was executed.
        calls: Its transactions.
        executed: Their results.
        withdrawals: Paid at its end; empty before Shanghai.
        roots: Has the root of the state before the block; afterwards that of the state after it.
    """
    made = assemble(
        env,
        [call.prepared.transaction for call in calls],
        executed,
        state_root=roots.after(executed.changes),
        ordered_root=roots.ordered_root,
    )
    header = made.header
    if header.withdrawals_root is not None and withdrawals:
        root = roots.ordered_root([encode_withdrawal(withdrawal) for withdrawal in withdrawals])
        header = replace(header, withdrawals_root=root)
    if header.blob_gas_used is not None:
        blob_gas = sum(transaction.blob_gas for transaction in made.transactions)
        header = replace(header, blob_gas_used=blob_gas)
    return make_block(header, made.transactions, made.receipts, (), tuple(withdrawals))


def executed_block(
    calls: Sequence[SimulatedCall], changes: StateChanges, requests_hash: Hash | None
) -> ExecutedBlock:
    """Combine calls that were executed one by one into the result of a block.

    Args:
        calls: All calls of the block.
        changes: The combined state changes of the calls, system calls and withdrawals.
        requests_hash: EIP-7685; None before Prague.
    """
    return ExecutedBlock(
        included=tuple(range(len(calls))),
        results=tuple(
            TransactionResult(
                call.trace.succeeded,
                call.trace.gas_used,
                call.trace.logs,
                call.trace.contract_address,
            )
            for call in calls
        ),
        skipped=(),
        gas_used=sum(call.trace.gas_used for call in calls),
        changes=changes,
        requests_hash=requests_hash,
    )
