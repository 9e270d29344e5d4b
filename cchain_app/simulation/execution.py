"""The execution of planned blocks, each on the state that the previous one left.

Nothing is stored: overlays hold the state, and each block's state root is computed as for a real block.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal
from cchain_app.blocks.receipt import EncodeLogs
from cchain_app.config import at_least
from cchain_app.evm.credits import pay
from cchain_app.evm.engine import (
    BASE_FEE_BITS,
    AccountChange,
    AccountState,
    BlockEnv,
    CallRejected,
    ExecutedBlock,
    Log,
    StateChanges,
    StateReader,
)
from cchain_app.evm.overrides import move_precompiles, override_changes
from cchain_app.evm.pending_state import PendingState, state_after
from cchain_app.evm.tracing import (
    Recording,
    TraceTimedOut,
    TraceTooLarge,
    TracingEngine,
    TransactionTrace,
)
from cchain_app.foreign.credits import block_reward
from cchain_app.rules.ethereum import EthereumRules
from cchain_app.rules.port import ChainRules
from cchain_app.simulation.assembly import (
    SimulatedBlock,
    SimulatedCall,
    StateRoots,
    executed_block,
    logs_with_transfers,
)
from cchain_app.simulation.calls import MAXIMUM_NONCE, GasLeft, PreparedCall, prepare
from cchain_app.simulation.plan import (
    BlockRequest,
    PlannedBlock,
    SimulationReason,
    SimulationRefused,
    not_applied,
    plan,
)
from cchain_app.txs.request import CallRequest
from primitives.evm import ZERO_HASH, Address

BLOB_BASE_FEE_BITS: Final = 128
"""Bits of a price of blob gas that engines can read."""


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options of a simulation."""

    validate: bool = False
    """Whether nonces and prices are checked against state and block, as for transactions."""
    transfers: bool = False
    """Whether the logs include value transfers."""
    signers: tuple[tuple[bytes, Address], ...] = ()
    """Signers that ecrecover returns for given signatures, as in `BlockEnv`."""


@dataclass(slots=True)
class SimulationBudget:
    """The resources left for all calls of a request together."""

    gas: int
    bytes: int
    """Bytes of returned data and logs."""
    deadline: float
    """In seconds of the monotonic clock."""

    def seconds(self) -> float:
        """Return the seconds that are left.

        Raises:
            TraceTimedOut: The deadline has passed.
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TraceTimedOut
        return left

    def use(self, trace: TransactionTrace) -> None:
        """Subtract the resources that a call used.

        Raises:
            TraceTooLarge: The bytes exceed the limit.
        """
        self.gas -= trace.gas_used
        self.bytes -= len(trace.output) + sum(len(log.data) for log in trace.logs)
        if self.bytes < 0:
            raise TraceTooLarge


class Simulation:
    """Executes blocks on top of an accepted one. It serves one request, and keeps the state of the last block.

    Unspecified: a precompile that is moved is back at its old address in the next block, as in geth. Blobs cost their
    block's price also without validation, at most the sender's balance. Withdrawals are ignored where blocks have none.
    The calls of a block of coreth have its gas capacity, even if its gas limit is overridden. Warp messages are not
    verified: they count as valid.

    Args:
        rules: The chain's rules.
        engine: Executes the calls.
        roots: Has the root of the state after `base`.
        base: The accepted block.
        state: The state after it.
        encode_logs: Encodes the logs of receipts.
        options: The options of the simulation.
        budget: The resources for all calls.
    """

    def __init__(
        self,
        rules: ChainRules,
        engine: TracingEngine,
        roots: StateRoots,
        base: AcceptedBlock,
        state: StateReader,
        *,
        encode_logs: EncodeLogs,
        options: SimulationOptions,
        budget: SimulationBudget,
    ) -> None:
        self._rules = rules
        self._engine = engine
        self._encode_logs = encode_logs
        self._roots = roots
        self._parent = base
        self._state = state
        self._options = options
        self._budget = budget

    def run(self, requests: Sequence[BlockRequest]) -> list[SimulatedBlock]:
        """Simulate blocks, including those that fill gaps.

        Raises:
            SimulationRefused: The blocks are not in order, are too many, or a call cannot begin.
            BadOverride: State overrides contradict each other.
            InvalidBlock: A system call failed.
            TraceTimedOut: It took too long.
            TraceTooLarge: The answer would have too many bytes.
        """
        return [self._run(planned) for planned in plan(self._parent, requests)]

    def _run(self, planned: PlannedBlock) -> SimulatedBlock:
        self._budget.seconds()
        request, engine = planned.request, self._engine
        state = PendingState(self._state)
        env = move_precompiles(self._env(planned), request.accounts)
        state.put(self._rules.changes_before(self._parent, env, state))
        state.put(override_changes(state, request.accounts))
        state.put(engine.trace_block(env, (), state, Recording()).before)
        calls = self._run_calls(request.calls, env, state)
        logs = [log for call in calls for log in call.trace.logs]
        withdrawals = request.withdrawals if self._has_withdrawals(env) else ()
        closed = engine.close_block(env, state, logs)
        state.put(closed.changes)
        credited = _credits(withdrawals, env)
        if self._rules.pays_base_fee:
            credited[env.coinbase] = credited.get(env.coinbase, 0) + _base_fees(calls, env)
        state.put(pay(credited, StateChanges(), state, env.fork))
        changes = state.changes()
        executed = executed_block(calls, changes, closed.requests_hash)
        block = self._assembled(env, calls, executed, withdrawals)
        self._state = state_after(self._state, block.number, block.hash, changes)
        self._parent = block
        return SimulatedBlock(block, tuple(calls))

    def _assembled(
        self,
        env: BlockEnv,
        calls: Sequence[SimulatedCall],
        executed: ExecutedBlock,
        withdrawals: Sequence[Withdrawal],
    ) -> AcceptedBlock:
        """Return the block as if it had been accepted."""
        transactions = [call.prepared.transaction for call in calls]
        return self._rules.assemble(
            env,
            transactions,
            executed,
            state_root=self._roots.after(executed.changes),
            ordered_root=self._roots.ordered_root,
            encode_logs=self._encode_logs,
            extra_data=self._rules.message_results(env, transactions),
            payload=None,
            withdrawals=withdrawals,
            parent=self._parent,
        )

    def _env(self, planned: PlannedBlock) -> BlockEnv:
        """Return a block's environment; values that it does not override are those of the block before.

        The rules of coreth and subnet-evm determine them.
        """
        override, rules, header = planned.request.override, self._rules, self._parent.header
        env = rules.on(self._state).env_after(self._parent, planned.timestamp)
        if isinstance(rules, EthereumRules):
            env = replace(
                env,
                fork=rules.config.fork_at(planned.number, planned.timestamp, header.difficulty),
                gas_limit=header.gas_limit,
                coinbase=header.coinbase,
                difficulty=header.difficulty,
                prev_randao=ZERO_HASH,  # also where blocks of the chain have a random one (tracing.md 14)
            )
        base_fee = env.base_fee if self._options.validate else 0
        env = replace(
            env,
            base_fee=base_fee if at_least(env.fork, "london") else None,
            signers=self._options.signers,
        )
        beacon_root = planned.request.beacon_root
        if beacon_root is not None and env.parent_beacon_block_root is not None:
            env = replace(env, parent_beacon_block_root=beacon_root)
        return _readable(override.apply(env))

    def _has_withdrawals(self, env: BlockEnv) -> bool:
        return at_least(env.fork, "shanghai") and isinstance(self._rules, EthereumRules)

    def _run_calls(
        self, requests: Sequence[CallRequest], env: BlockEnv, state: PendingState
    ) -> list[SimulatedCall]:
        calls: list[SimulatedCall] = []
        gas_left = env.limits.in_block(env.gas_limit)
        if env.capacity is not None:
            gas_left = min(gas_left, env.capacity)
        for request in requests:
            left = GasLeft(gas_left, self._budget.gas)
            account = state.account(request.sender)
            call = prepare(request, account, env, left, validate=self._options.validate)
            if account is not None and call.blob_fee:
                rest = max(account.balance - call.blob_fee, 0)
                state.put(_changed(request.sender, account, account._replace(balance=rest)))
            trace = self._execute(call, env, state)
            _overflow_nonce(request, account, state)
            gas_left -= trace.gas_used
            kept_trace = replace(trace, state=None, frames=())
            calls.append(SimulatedCall(call, kept_trace, self._logs(trace)))
        return calls

    def _execute(self, call: PreparedCall, env: BlockEnv, state: PendingState) -> TransactionTrace:
        recording = Recording(
            frames=self._options.transfers, changes=True, most_bytes=self._budget.bytes
        )
        try:
            trace = self._engine.trace_call(
                env,
                call.message,
                state,
                recording,
                validate=self._options.validate,
                free=True,
                time_limit=self._budget.seconds(),
            )
        except CallRejected as refusal:
            raise not_applied(str(refusal), call.message.gas) from refusal
        self._budget.use(trace)
        assert trace.state is not None, "it was asked for"
        state.put(trace.state.changes)
        return trace

    def _logs(self, trace: TransactionTrace) -> tuple[Log | None, ...]:
        if not self._options.transfers:
            return trace.logs
        return tuple(logs_with_transfers(trace.frames))


def _readable(env: BlockEnv) -> BlockEnv:
    """Return the environment; raise `SimulationReason.PRICE_TOO_HIGH` if engines cannot read its prices."""
    for name, price, bits in (
        ("block base fee", env.base_fee, BASE_FEE_BITS),
        ("blob base fee", env.blob_base_fee, BLOB_BASE_FEE_BITS),
    ):
        if (price or 0) >> bits:
            raise SimulationRefused(SimulationReason.PRICE_TOO_HIGH, price=name, bits=bits)
    return env


def _overflow_nonce(
    request: CallRequest, account: AccountState | None, state: PendingState
) -> None:
    """Set the nonce of a caller that had the maximum to 0, as geth without validation."""
    after = state.account(request.sender)
    if account is None or after is None or request.to is None:
        return
    if account.nonce == MAXIMUM_NONCE:
        state.put(_changed(request.sender, after, after._replace(nonce=0)))


def _changed(address: Address, before: AccountState, after: AccountState) -> StateChanges:
    return StateChanges(accounts={address: AccountChange(before, after)})


def _base_fees(calls: Sequence[SimulatedCall], env: BlockEnv) -> int:
    """Return what calls pay of the base fee, in wei: without validation their price may be lower."""
    base_fee = env.base_fee or 0
    return sum(
        min(call.prepared.message.gas_price, base_fee) * call.trace.gas_used for call in calls
    )


def _credits(withdrawals: Sequence[Withdrawal], env: BlockEnv) -> dict[Address, int]:
    """Return the wei that each account receives from a block's reward and withdrawals."""
    reward = block_reward(env.fork)
    paid: dict[Address, int] = {env.coinbase: reward} if reward else {}
    for withdrawal in withdrawals:
        paid[withdrawal.address] = paid.get(withdrawal.address, 0) + withdrawal.wei
    return paid
