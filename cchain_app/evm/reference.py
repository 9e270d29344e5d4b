"""The reference engine: the executable specification of Ethereum behind the port.

It is the oracle of the tests and the fallback where the native engine was not built, a thousand
times slower. Importing this module imports none of the specification's forks; executing does.
"""

from collections.abc import Sequence

from cchain_app.evm.engine import (
    BlockEnv,
    CallMessage,
    CallResult,
    ExecutedBlock,
    GasAllowance,
    GasEstimate,
    StateReader,
)
from cchain_app.evm.reference_package import room_for_nested_calls
from cchain_app.txs.transaction import Transaction


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

        with room_for_nested_calls():
            return BlockExecution(env, state).run(transactions, skip_invalid=skip_invalid)

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
        """Run one call on the state and throw its changes away.

        Raises:
            CallRejected: The call could not begin.
            CallInterrupted: A limit was reached.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_call import run_call
        from cchain_app.evm.reference_trace import Watcher

        watcher = Watcher(allowance=allowance, time_limit=time_limit)
        with room_for_nested_calls():
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
        """Find the least gas with which a call works.

        Raises:
            CallRejected: The call could not begin with all its gas, and not for too little of it.
            CallInterrupted: A limit was reached.
            UnknownForkError: The specification has no such fork.
        """
        from cchain_app.evm.reference_call import run_estimate
        from cchain_app.evm.reference_trace import Watcher

        watcher = Watcher(allowance=allowance, time_limit=time_limit)
        with room_for_nested_calls():
            return run_estimate(env, message, state, watcher, error_ratio)
