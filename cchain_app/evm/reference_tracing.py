"""Execute transactions and calls with the specification and record them: the tracing half of the reference engine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ethereum_types.bytes import Bytes20
from ethereum_types.numeric import U256

from cchain_app.evm.coreth import CORETH
from cchain_app.evm.engine import (
    BlockEnv,
    CallInterrupted,
    CallMessage,
    CallRejected,
    ExecutionInvalid,
    Log,
    StateChanges,
    StateReader,
)
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.reference_block import BlockExecution, log_value
from cchain_app.evm.reference_call import (
    GasTooLowError,
    ReferenceCall,
    authority_of,
    execute_call,
    gas_of,
    prepare_call,
)
from cchain_app.evm.reference_env import fork_of, intrinsic_cost, signed_transaction
from cchain_app.evm.reference_failures import RefusalError
from cchain_app.evm.reference_hooks import recorded
from cchain_app.evm.reference_package import ForkModules
from cchain_app.evm.reference_recording import Recorder, RecordingAllowance
from cchain_app.evm.reference_state import StateSource
from cchain_app.evm.reference_trace import Watcher, watched
from cchain_app.evm.tracing import (
    BlockTrace,
    Recording,
    TouchedState,
    TraceTimedOut,
    TransactionTrace,
)
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH


class BlockTracing:
    """The transactions of an accepted block, executed and recorded one after the other."""

    def __init__(
        self, env: BlockEnv, state: StateReader, recording: Recording, time_limit: float | None
    ) -> None:
        """Start from the state after the parent block."""
        self._env = env
        self._fork = fork_of(env)
        self._state = PendingState(state)
        self._recording = recording
        self._time_limit = time_limit
        self._room = RecordingAllowance(recording.most_bytes)
        self._execution = BlockExecution(env, self._state, accepted=True)

    def run(self, transactions: Sequence[Transaction], first: int) -> BlockTrace:
        """Execute the transactions and return the traces from the first requested one on.

        Raises:
            ExecutionInvalid: A transaction cannot be in the block.
            TraceTooLarge: More would be recorded than the recording allows.
            TraceTimedOut: A transaction took too long.
        """
        self._execution.call_before()
        before = self._execution.settle(self._state)
        traces = []
        for index, transaction in enumerate(transactions):
            recording = self._recording if index >= first else Recording()
            trace = self._trace(index, transaction, recording)
            if index >= first:
                traces.append(trace)
        return BlockTrace(before, tuple(traces))

    def _trace(
        self, index: int, transaction: Transaction, recording: Recording
    ) -> TransactionTrace:
        before = self._state.flattened() if recording.state else self._state
        recorder = Recorder(recording, self._fork, self._env.fork, self._room)
        self._execution.watcher = Watcher(time_limit=self._time_limit)
        try:
            with _following(self._execution.watcher, recorder, self._fork):
                result = self._execution.apply(transaction, index)
        except RefusalError as refused:
            raise ExecutionInvalid(
                f"could not apply tx {index} [0x{transaction.hash.hex()}]: {refused}"
            ) from refused
        changes = self._execution.settle(self._state)
        tx = signed_transaction(transaction, self._fork)
        touched = TouchedState(changes=changes) if recording.changes else None
        if recording.state:
            mentioned = _mentioned(self._fork, self._env, transaction.sender, tx)
            touched = _touched(recorder, mentioned, before, changes)
        floor = intrinsic_cost(tx, self._fork)[1]
        return _trace_of(
            recorder,
            gas_limit=transaction.gas,
            gas_used=result.gas_used,
            gas_peak=max(transaction.gas - recorder.gas_left, floor),
            logs=result.logs,
            creation=transaction.to is None,
            state=touched,
        )


def trace_call(
    env: BlockEnv,
    message: CallMessage,
    reader: StateReader,
    recording: Recording,
    *,
    validate: bool,
    free: bool,
    time_limit: float | None,
) -> TransactionTrace:
    """Run a call and record it; it pays like a transaction.

    Raises:
        CallRejected: It could not start.
        TraceTooLarge: More would be recorded than the recording allows.
        TraceTimedOut: It took too long.
    """
    source = StateSource(reader, fork_of(env))
    try:
        call = prepare_call(env, message, reader, source, validate=validate, free=free)
    except GasTooLowError as error:
        raise CallRejected(str(error)) from error
    recorder = Recorder(recording, call.fork, env.fork, RecordingAllowance(recording.most_bytes))
    with _following(Watcher(time_limit=time_limit), recorder, call.fork):
        output = execute_call(call)
    gas_used, gas_peak = gas_of(call, output)
    _settle(call, output, gas_used)
    touched = TouchedState(changes=call.state.changes()) if recording.changes else None
    if recording.state:
        mentioned = _mentioned(call.fork, env, message.sender, call.tx)
        touched = _touched(recorder, mentioned, reader, call.state.changes())
    return _trace_of(
        recorder,
        gas_limit=message.gas,
        gas_used=gas_used,
        gas_peak=gas_peak,
        logs=tuple(map(log_value, output.logs)),
        creation=message.to is None,
        state=touched,
    )


def _settle(call: ReferenceCall, output: Any, gas_used: int) -> None:
    """Refund the remaining gas, pay the coinbase, and delete destroyed accounts, as after a transaction."""
    message, fork, state = call.message, call.fork.fork, call.state
    sender, coinbase = Bytes20(message.sender), call.block_env.coinbase
    back = (message.gas - gas_used) * message.gas_price
    fork.set_account_balance(state, sender, fork.get_account(state, sender).balance + U256(back))
    burns = call.env.variant != CORETH
    base_fee = int(getattr(call.block_env, "base_fee_per_gas", 0)) if burns else 0
    tip = gas_used * max(message.gas_price - base_fee, 0)
    credited = fork.get_account(state, coinbase).balance + U256(tip)
    if credited or not hasattr(fork, "account_exists_and_is_empty"):
        fork.set_account_balance(state, coinbase, credited)
    elif fork.account_exists_and_is_empty(state, coinbase):
        fork.destroy_account(state, coinbase)
    for address in output.accounts_to_delete:
        fork.destroy_account(state, address)
    if hasattr(fork, "destroy_touched_empty_accounts"):
        fork.destroy_touched_empty_accounts(state, output.touched_accounts)


@contextmanager
def _following(watcher: Watcher, recorder: Recorder, fork: ForkModules) -> Iterator[None]:
    """Let the watcher and the recorder follow the execution in the body.

    Raises:
        TraceTimedOut: It took too long.
    """
    try:
        with watched(watcher, recorder), recorded(recorder, fork):
            yield
    except CallInterrupted as error:
        raise TraceTimedOut("execution timeout") from error


def _trace_of(
    recorder: Recorder,
    *,
    gas_limit: int,
    gas_used: int,
    gas_peak: int,
    logs: tuple[Log, ...],
    creation: bool,
    state: TouchedState | None,
) -> TransactionTrace:
    top = recorder.top
    return TransactionTrace(
        succeeded=top.error is None,
        gas_limit=gas_limit,
        gas_used=gas_used,
        gas_peak=gas_peak,
        output=top.output,
        error=top.error,
        logs=logs,
        contract_address=top.to if creation else None,
        frames=recorder.frames(),
        state=state,
        steps=recorder.steps(),
        vm=recorder.vm(),
        preimages=recorder.preimages(),
    )


def _mentioned(fork: ForkModules, env: BlockEnv, sender: Address, tx: Any) -> set[Address]:
    """Return the accounts that a transaction touches before its code runs, except its recipient."""
    authorities = (authority_of(fork, entry) for entry in getattr(tx, "authorizations", ()))
    return {sender, env.coinbase, *filter(None, authorities)}


def _touched(
    recorder: Recorder, mentioned: set[Address], before: StateReader, changes: StateChanges
) -> TouchedState:
    """Return the touched state as it was before (tracing.md 6).

    Raises:
        TraceTooLarge: It is more than the recording allows.
    """
    addresses = mentioned | recorder.accounts
    recorder.count_state(len(addresses), sum(map(len, recorder.slots.values())), 0)
    accounts = {address: before.account(address) for address in sorted(addresses)}
    shared: dict[Hash, bytes] = {}
    codes: dict[Address, bytes] = {}
    for address, account in accounts.items():
        if account is None or account.code_hash == EMPTY_HASH:
            continue
        if account.code_hash not in shared:
            shared[account.code_hash] = before.code(account.code_hash)
        codes[address] = shared[account.code_hash]
        recorder.count_state(0, 0, len(codes[address]))
    return TouchedState(
        accounts=accounts,
        slots={
            address: {slot: before.storage(address, slot) for slot in sorted(slots)}
            for address, slots in sorted(recorder.slots.items())
        },
        codes=codes,
        changes=changes,
    )
