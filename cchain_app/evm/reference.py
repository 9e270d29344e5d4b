"""The reference engine: the executable specification of Ethereum behind the port.

It is the oracle of the tests, and the fallback if the native engine was not built, a thousand
times slower. Importing this module imports none of the specification's forks; executing does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from threading import Lock, local
from typing import Any, Final

from ethereum_types.bytes import Bytes20

from cchain_app.evm.engine import (
    BlockEnv,
    CallMessage,
    CallResult,
    ExecutedBlock,
    GasAllowance,
    GasEstimate,
    Log,
    StateReader,
)
from cchain_app.evm.reference_env import fork_of
from cchain_app.evm.reference_limits import limits_of
from cchain_app.evm.reference_package import ForkModules, recursion_for_nested_calls
from cchain_app.evm.reference_stateful import predicates_of, stateful_of
from cchain_app.evm.stateful import with_predicates, with_predicates_of_call
from cchain_app.evm.tracing import BlockTrace, ClosedBlock, Recording, TransactionTrace
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address

_ECRECOVER: Final = Bytes20(bytes(19) + b"\x01")
_current: Final = local()
_install_lock: Final = Lock()


@contextmanager
def given_signers(env: BlockEnv) -> Iterator[None]:
    """Make ecrecover return the environment's signers in code that this thread executes in the body.

    Raises:
        UnknownForkError: The specification has no such fork.
    """
    if not env.signers:
        yield
        return
    _install(fork_of(env))
    _current.signers = dict(env.signers)
    try:
        yield
    finally:
        _current.signers = None


@contextmanager
def _rules_of(env: BlockEnv) -> Iterator[None]:
    """Apply the signers, limits and precompiles of a block to code that this thread executes in the body."""
    with given_signers(env), limits_of(env), stateful_of(env):
        yield


@contextmanager
def _rules_of_call(env: BlockEnv, message: CallMessage) -> Iterator[None]:
    """Apply the rules of a block to a call, which reads the warp messages in its own access list."""
    with _rules_of(with_predicates_of_call(env, message)), predicates_of(b""):
        yield


def _install(fork: ForkModules) -> None:
    """Wrap the specification's ecrecover, so that it returns the signers that a block's environment defines.

    It is wrapped once for each fork, and works as before in threads whose environment defines no signers. The
    original function always runs first, so the gas is the same.
    """
    with _install_lock:
        precompiles = fork.precompiles.PRE_COMPILED_CONTRACTS
        if not hasattr(precompiles[_ECRECOVER], "__wrapped__"):
            precompiles[_ECRECOVER] = _answering(precompiles[_ECRECOVER])


def _answering(recover: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(recover)
    def ecrecover(evm: Any) -> None:
        recover(evm)
        signers: Mapping[bytes, Address] | None = getattr(_current, "signers", None)
        if signers:
            data = bytes(evm.message.data[:128]).ljust(128, b"\0")
            signer = signers.get(data[64:] + data[63:64])
            if signer is not None:
                evm.output = signer.rjust(32, b"\0")

    return ecrecover


class ReferenceEngine:
    """The executable specification, for every fork from Frontier to Osaka."""

    name = "ethereum-execution"
    fast = False

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
            InvalidBlock: A transaction cannot be in the block, and skip_invalid is off.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_block import BlockExecution

        env = with_predicates(env, transactions)
        with recursion_for_nested_calls(), _rules_of(env):
            return BlockExecution(env, state).run(transactions, skip_invalid=skip_invalid)

    def close_block(self, env: BlockEnv, state: StateReader, logs: Sequence[Log]) -> ClosedBlock:
        """Make the fork's system calls that follow a block's transactions.

        Raises:
            InvalidBlock: A system call failed, or a deposit cannot be read.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_block import BlockExecution

        with recursion_for_nested_calls(), _rules_of(env):
            return BlockExecution(env, state).close(logs)

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

        Raises:
            CallRejected: The call could not start.
            CallInterrupted: A limit was reached.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_call import run_call
        from cchain_app.evm.reference_trace import Watcher

        watcher = Watcher(allowance=allowance, time_limit=time_limit)
        with recursion_for_nested_calls(), _rules_of_call(env, message):
            return run_call(env, message, state, watcher, with_access_list=with_access_list)

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
        """Find the least gas with which a call succeeds.

        Raises:
            CallRejected: The call could not start with all its gas, for a reason other than too little gas.
            CallInterrupted: A limit was reached.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_call import run_estimate
        from cchain_app.evm.reference_trace import Watcher

        watcher = Watcher(allowance=allowance, time_limit=time_limit)
        with recursion_for_nested_calls(), _rules_of_call(env, message):
            return run_estimate(env, message, state, watcher, error_ratio)

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
            InvalidBlock: A transaction cannot be in the block.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: A transaction took too long.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_tracing import BlockTracing

        env = with_predicates(env, transactions)
        with recursion_for_nested_calls(), _rules_of(env):
            return BlockTracing(env, state, recording, time_limit).run(transactions, first)

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
        """Run a call as `call` does and record it; it pays its fees.

        Raises:
            CallRejected: It could not start.
            TraceTooLarge: More would be recorded than `recording.most_bytes`.
            TraceTimedOut: It took too long.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_tracing import trace_call

        with recursion_for_nested_calls(), _rules_of_call(env, message):
            return trace_call(
                env,
                message,
                state,
                recording,
                validate=validate,
                free=free,
                time_limit=time_limit,
            )
