"""The native engine: revm behind the port. The work is done in the crate `native/`.

Importing this module raises ImportError if the crate was not built.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import cchain_native

from cchain_app.evm import native_values
from cchain_app.evm.engine import (
    BlockEnv,
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
    ExecutedBlock,
    ExecutionInvalid,
    GasAllowance,
    GasEstimate,
    Log,
    SkippedTransaction,
    StateReader,
    TransactionResult,
)
from cchain_app.evm.installed import is_wide, missing_engine
from cchain_app.evm.native_trace import block_trace, transaction_trace
from cchain_app.evm.native_values import changes_of, logs_of
from cchain_app.evm.stateful import with_predicates, with_predicates_of_call
from cchain_app.evm.tracing import (
    BlockTrace,
    ClosedBlock,
    Recording,
    TraceTimedOut,
    TraceTooLarge,
    TracingEngine,
    TransactionTrace,
)
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash, Slot

_TOO_WIDE = "gas price or base fee higher than any account can pay"
"""Only calls can have such prices."""


class NativeEngine:
    """revm, for every fork from Frontier to Osaka.

    Unspecified: a block reward is never paid; a transaction whose fee is 2^128 wei or more cannot
    be read, except in a block whose base fee has more than 64 bits, which the reference engine
    executes; a contract of EIP-4788, 2935, 7002 or 7251 that was never deployed is not called and
    makes no requests.
    The crate reads deposits (EIP-6110) from mainnet's deposit contract, so the logs of another
    deposit contract are passed to it as mainnet's.
    """

    name = "revm"
    fast = True

    def __init__(self) -> None:
        self.call_slots = cchain_native.CallSlots((os.cpu_count() or 1) + 1)
        """Limits the calls that run in threads at the same time to one more than the processors, so that none is idle while
        a call hands its slot to the next. The event loop needs little of a processor while they run, and the kernel gives
        it to a thread that has been waiting before one that computes."""
        self._seen: tuple[BlockEnv, cchain_native.Environment] | None = None
        """The environment of the last call; most calls are at the head and reuse the same object."""

    def execute_block(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        *,
        skip_invalid: bool,
    ) -> ExecutedBlock:
        """Execute transactions in order, with the fork's system calls around them.

        Raises:
            ExecutionInvalid: A transaction cannot be in the block, and skip_invalid is off.
        """
        if is_wide(env) and not transactions:
            env = replace(env, base_fee=0)  # nothing reads it
        if is_wide(env):
            reference = _reference_of(env)
            return reference.execute_block(env, transactions, state, skip_invalid=skip_invalid)
        env = with_predicates(env, transactions)
        try:
            included, outcomes, skipped, gas_used, changes, requests_hash = (
                cchain_native.execute_block(env, transactions, state, skip_invalid=skip_invalid)
            )
        except cchain_native.InvalidBlock as refusal:
            raise ExecutionInvalid(str(refusal)) from None
        executed = ExecutedBlock(
            included=tuple(included),
            results=tuple(map(_result, outcomes)),
            skipped=tuple(SkippedTransaction(*values) for values in skipped),
            gas_used=gas_used,
            changes=changes_of(changes),
            requests_hash=None if requests_hash is None else Hash(requests_hash),
        )
        return native_values.corrected(self, env, transactions, state, executed)

    def close_block(self, env: BlockEnv, state: StateReader, logs: Sequence[Log]) -> ClosedBlock:
        """Make the fork's system calls that follow a block's transactions.

        Raises:
            ExecutionInvalid: A system call failed, or a deposit cannot be read.
        """
        if is_wide(env):
            env = replace(env, base_fee=0)  # nothing reads it
        try:
            changes, requests_hash = cchain_native.close_block(
                env, state, native_values.as_mainnets(env, logs)
            )
        except cchain_native.InvalidBlock as refusal:
            raise ExecutionInvalid(str(refusal)) from None
        return ClosedBlock(
            changes_of(changes), None if requests_hash is None else Hash(requests_hash)
        )

    def call(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        *,
        allowance: GasAllowance | None = None,
        time_limit: float | None = None,
        with_access_list: bool = False,
    ) -> CallResult:
        """Run one call on the state and discard its changes.

        A call with an allowance keeps the interpreter lock; other calls release it.

        Raises:
            CallRejected: The call could not start.
            CallInterrupted: A limit was reached.
        """
        _check_price(message)
        if is_wide(env):
            return _reference_of(env, allowance).call(
                env, message, state, time_limit=time_limit, with_access_list=with_access_list
            )
        try:
            return _call_result(
                cchain_native.call(
                    self.call_slots,
                    self._environment(env, message),
                    message,
                    state,
                    allowance,
                    time_limit,
                    with_access_list,
                )
            )
        except cchain_native.CallRejected as refusal:
            raise CallRejected(str(refusal)) from None
        except cchain_native.CallInterrupted as interruption:
            raise CallInterrupted(str(interruption)) from None

    def trace_block(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        recording: Recording,
        *,
        first: int = 0,
        time_limit: float | None = None,
    ) -> BlockTrace:
        """Execute an accepted block's transactions in order and record some of them.

        Raises:
            ExecutionInvalid: A transaction cannot be in the block.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: A transaction took too long.
        """
        if is_wide(env):
            return _reference_of(env).trace_block(
                env, transactions, state, recording, first=first, time_limit=time_limit
            )
        env = with_predicates(env, transactions)
        try:
            return block_trace(
                cchain_native.trace_block(
                    self.call_slots, env, transactions, state, recording, first, time_limit
                )
            )
        except cchain_native.InvalidBlock as refusal:
            raise ExecutionInvalid(str(refusal)) from None
        except cchain_native.TraceTooLarge as excess:
            raise TraceTooLarge(str(excess)) from None
        except cchain_native.CallInterrupted as interruption:
            raise TraceTimedOut(str(interruption)) from None

    def trace_call(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        recording: Recording,
        *,
        validate: bool = False,
        free: bool = False,
        time_limit: float | None = None,
    ) -> TransactionTrace:
        """Run a call as `call` does and record it; fees go to the coinbase as in a block.

        Raises:
            CallRejected: It could not start.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: It took too long.
        """
        _check_price(message)
        if is_wide(env):
            return _reference_of(env).trace_call(
                env, message, state, recording, validate=validate, free=free, time_limit=time_limit
            )
        environment = self._environment(env, message)
        try:
            return transaction_trace(
                cchain_native.trace_call(
                    self.call_slots,
                    environment,
                    message,
                    state,
                    recording,
                    validate,
                    free,
                    time_limit,
                )
            )
        except cchain_native.CallRejected as refusal:
            raise CallRejected(str(refusal)) from None
        except cchain_native.TraceTooLarge as excess:
            raise TraceTooLarge(str(excess)) from None
        except cchain_native.CallInterrupted as interruption:
            raise TraceTimedOut(str(interruption)) from None

    def estimate(
        self,
        env: BlockEnv,
        message: CallMessage,
        state: StateReader,
        *,
        error_ratio: float,
        allowance: GasAllowance | None = None,
        time_limit: float | None = None,
    ) -> GasEstimate:
        """Find the least gas with which a call succeeds. The interpreter lock is held as in `call`.

        Raises:
            CallRejected: The call could not start with all its gas, for a reason other than too little gas.
            CallInterrupted: A limit was reached.
        """
        _check_price(message)
        if is_wide(env):
            return _reference_of(env, allowance).estimate(
                env, message, state, error_ratio=error_ratio, time_limit=time_limit
            )
        try:
            gas, failure = cchain_native.estimate(
                self.call_slots,
                self._environment(env, message),
                message,
                state,
                allowance,
                time_limit,
                error_ratio,
            )
        except cchain_native.CallRejected as refusal:
            raise CallRejected(str(refusal)) from None
        except cchain_native.CallInterrupted as interruption:
            raise CallInterrupted(str(interruption)) from None
        return GasEstimate(gas, None if failure is None else _call_result(failure))

    def _environment(self, env: BlockEnv, message: CallMessage) -> cchain_native.Environment:
        env = with_predicates_of_call(env, message)
        seen = self._seen
        if seen is not None and seen[0] is env:
            return seen[1]
        if (env.blob_base_fee or 0) >> 128:
            raise CallRejected(_TOO_WIDE)
        environment = cchain_native.Environment(env)
        self._seen = (env, environment)
        return environment


def _reference_of(env: BlockEnv, allowance: GasAllowance | None = None) -> TracingEngine:
    """Return the engine for a block whose base fee this one does not read.

    Raises:
        CallInterrupted: There is an allowance: it is too slow for the event loop.
        ExecutionInvalid: It is not installed.
    """
    if allowance is not None:
        raise CallInterrupted("the reference engine is too slow for the event loop")
    if missing := missing_engine(env):
        raise ExecutionInvalid(missing)
    from cchain_app.evm.reference import ReferenceEngine

    return ReferenceEngine()


def recover_senders(
    signatures: Sequence[tuple[Hash, int, int, int]],
) -> list[Address | None]:
    """Return the signer of each (digest, r, s, parity), or None for an invalid signature.

    r and s are below 2^256. A whole batch runs in parallel, without the interpreter lock.
    """
    return [
        None if sender is None else Address(sender)
        for sender in cchain_native.recover_senders(signatures)
    ]


def encode_logs(logs: tuple[Log, ...]) -> tuple[int, bytes]:
    """Return the bloom and the RLP of a receipt's logs, as `blocks.receipt.encode_logs` does.

    Many logs are encoded without the interpreter lock.
    """
    bloom, encoded = cchain_native.encode_logs(logs)
    return int.from_bytes(bloom, "big"), encoded


def _check_price(message: CallMessage) -> None:
    """Refuse prices that revm cannot represent: it has 128 bits for prices and 64 for base fees."""
    if message.gas_price >> 128 or (message.max_priority_fee or 0) >> 128:
        raise CallRejected(_TOO_WIDE)


def _call_result(values: cchain_native.Answer) -> CallResult:
    output, gas_used, gas_peak, error, logs, access_list = values
    return CallResult(
        output,
        gas_used,
        gas_peak,
        error,
        logs_of(logs) if logs else (),
        None if access_list is None else _access_list(access_list),
    )


def _access_list(
    values: cchain_native.AccessListValues,
) -> tuple[tuple[Address, tuple[Slot, ...]], ...]:
    return tuple((Address(address), tuple(map(Slot, slots))) for address, slots in values)


def _result(values: cchain_native.Outcome) -> TransactionResult:
    succeeded, gas_used, logs, contract = values
    return TransactionResult(
        succeeded, gas_used, logs_of(logs), None if contract is None else Address(contract)
    )
