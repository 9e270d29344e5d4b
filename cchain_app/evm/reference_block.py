"""Execution of a whole block by the executable specification: system calls, transactions, requests.

Unspecified: a block reward is never paid; a system contract that was never deployed is not called
(geth does the same; the specification refuses the block); block 0 has no system calls.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import Uint

from cchain_app.evm.coreth import CORETH
from cchain_app.evm.engine import (
    BlockEnv,
    ExecutedBlock,
    ExecutionInvalid,
    Log,
    SkippedTransaction,
    StateChanges,
    StateReader,
    TransactionResult,
)
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.reference_env import (
    MalformedTransactionError,
    block_environment,
    fork_of,
    signed_transaction,
)
from cchain_app.evm.reference_failures import RefusalError, refusal
from cchain_app.evm.reference_hooks import sent_by
from cchain_app.evm.reference_state import LazyState, StateSource
from cchain_app.evm.reference_stateful import (
    predicates_of,
    predicates_refusal,
    sender_refusal,
)
from cchain_app.evm.reference_trace import Watcher, watched
from cchain_app.evm.tracing import ClosedBlock
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash, Word


class BlockExecution:
    """The execution of one block, from its system calls to its changes."""

    def __init__(self, env: BlockEnv, reader: StateReader, *, accepted: bool = False) -> None:
        """Begin a block on a state; in an accepted block senders may have code (EIP-3607)."""
        from ethereum import exceptions

        self._env = env
        self._accepted = accepted
        self._fork = fork_of(env)
        self._state = LazyState(StateSource(reader, self._fork))
        self._block_env = block_environment(env, self._fork, self._state, reader, env.base_fee)
        self._output = self._fork.vm.BlockOutput()
        self._refusals = (exceptions.InvalidTransaction, exceptions.InvalidBlock)
        self._invalid_block = exceptions.InvalidBlock
        self.watcher = Watcher()
        """Watches the transaction that is being executed, or all of them."""

    def run(self, transactions: Sequence[Transaction], *, skip_invalid: bool) -> ExecutedBlock:
        """Execute the block.

        Raises:
            ExecutionInvalid: A rule is broken, other than by a transaction that may be skipped.
        """
        included: list[int] = []
        results: list[TransactionResult] = []
        skipped: list[SkippedTransaction] = []
        with watched(self.watcher):
            self.call_before()
            for index, transaction in enumerate(transactions):
                try:
                    results.append(self.apply(transaction, len(included)))
                except RefusalError as refused:
                    if not skip_invalid:
                        raise ExecutionInvalid(
                            f"could not apply tx {index} [0x{transaction.hash.hex()}]: {refused}"
                        ) from refused
                    skipped.append(SkippedTransaction(index, str(refused), refused.retry))
                else:
                    included.append(index)
            logs = [log for result in results for log in result.logs]
            requests_hash = self._call_after(logs)
        return ExecutedBlock(
            included=tuple(included),
            results=tuple(results),
            skipped=tuple(skipped),
            gas_used=int(self._output.block_gas_used),
            changes=self._state.changes(),
            requests_hash=requests_hash,
        )

    def close(self, logs: Sequence[Log]) -> ClosedBlock:
        """Make the system calls after the block's transactions, which were executed elsewhere.

        Raises:
            ExecutionInvalid: A system call failed, or a deposit cannot be read.
        """
        with watched(self.watcher):
            requests_hash = self._call_after(logs)
        return ClosedBlock(self._state.changes(), requests_hash)

    def settle(self, pending: PendingState) -> StateChanges:
        """Add the changes to the pending state on which the block runs, and return them."""
        changes = self._state.changes()
        parent = self._env.number - 1
        pending.apply(parent, pending.block_hash(parent), changes)
        self._state = self._block_env.state = LazyState(StateSource(pending, self._fork))
        return changes

    def call_before(self) -> None:
        """Make the system calls at the beginning of a block."""
        fork = self._fork.fork
        if self._env.number == 0:
            return
        if self._env.parent_beacon_block_root is not None:
            self._call_system("BEACON_ROOTS_ADDRESS", self._env.parent_beacon_block_root)
        if hasattr(fork, "HISTORY_STORAGE_ADDRESS"):
            self._call_system("HISTORY_STORAGE_ADDRESS", self._env.parent_hash)

    def _call_system(self, contract: str, data: bytes) -> None:
        address = getattr(self._fork.fork, contract, None)
        if address is not None and self._has_code(address):
            self._fork.fork.process_unchecked_system_transaction(
                block_env=self._block_env, target_address=address, data=data
            )

    def _call_after(self, logs: Sequence[Log]) -> Hash | None:
        fork = self._fork.fork
        if not hasattr(fork, "compute_requests_hash"):
            return None
        try:
            requests = self._deposits(logs) + [
                kind + data
                for kind, address in (
                    (fork.WITHDRAWAL_REQUEST_TYPE, fork.WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
                    (fork.CONSOLIDATION_REQUEST_TYPE, fork.CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
                )
                if (data := self._requests_of(address))
            ]
        except self._invalid_block as error:
            raise ExecutionInvalid(f"system call failed to execute: {error}") from error
        return Hash(bytes(fork.compute_requests_hash(requests)))

    def _deposits(self, logs: Sequence[Log]) -> list[bytes]:
        requests = import_module(self._fork.fork.parse_deposit_requests.__module__)
        topic = bytes(requests.DEPOSIT_EVENT_SIGNATURE_HASH)
        deposits = b"".join(
            bytes(requests.extract_deposit_data(log.data))
            for log in logs
            if log.address == self._env.deposit_contract and log.topics[:1] == (topic,)
        )
        return [self._fork.fork.DEPOSIT_REQUEST_TYPE + deposits] if deposits else []

    def _requests_of(self, address: Bytes20) -> bytes:
        if not self._has_code(address):
            return b""
        output = self._fork.fork.process_checked_system_transaction(
            block_env=self._block_env, target_address=address, data=b""
        )
        return bytes(output.return_data)

    def _has_code(self, address: Bytes20) -> bool:
        account = self._state.account(address)
        return account is not None and bool(account.code)

    def apply(self, transaction: Transaction, index: int) -> TransactionResult:
        """Execute one transaction.

        Raises:
            RefusalError: It cannot be in this block. Nothing was changed.
        """
        try:
            tx = signed_transaction(transaction, self._fork)
        except MalformedTransactionError as error:
            raise RefusalError(str(error)) from error
        with predicates_of(transaction.hash):
            return self._apply(transaction, tx, index)

    def _apply(self, transaction: Transaction, tx: Any, index: int) -> TransactionResult:
        gas_before, logs_before = int(self._output.block_gas_used), len(self._output.block_logs)
        reason = refusal(
            transaction,
            tx,
            self._state.account(transaction.sender),
            env=self._env,
            fork=self._fork,
            gas_used=gas_before,
            accepted=self._accepted,
            forbidden=sender_refusal(self._env, self._state, transaction.sender)
            or predicates_refusal(),
        )
        if reason is not None:
            raise reason
        self.watcher.begin()
        unproven = transaction.sender if transaction.is_impersonated else None
        try:
            with sent_by(unproven, self._fork), self._undone():
                self._fork.fork.process_transaction(self._block_env, self._output, tx, Uint(index))
        except self._refusals as error:
            raise RefusalError(str(error) or type(error).__name__) from error
        return TransactionResult(
            succeeded=self.watcher.succeeded,
            gas_used=int(self._output.block_gas_used) - gas_before,
            logs=tuple(map(log_value, self._output.block_logs[logs_before:])),
            contract_address=self._created(transaction),
        )

    def _undone(self) -> AbstractContextManager[None]:
        """Undo a refused transaction; only coreth refuses one while it runs."""
        if self._env.variant != CORETH:
            return nullcontext()
        return self._state.undone_by(*self._refusals)

    def _created(self, transaction: Transaction) -> Address | None:
        if transaction.to is not None:
            return None
        address = self._fork.address.compute_contract_address(
            Bytes20(transaction.sender), Uint(transaction.nonce)
        )
        return Address(bytes(address))


def log_value(log: Any) -> Log:
    """Return one of the specification's logs as the port's."""
    return Log(
        Address(bytes(log.address)),
        tuple(Word(bytes(topic)) for topic in log.topics),
        bytes(log.data),
    )
