"""Read-only calls: eth_call, and the code that similar methods share with it.

A call object becomes an engine's message here, with geth's order of checks and its messages. Gas estimation and
access lists are in `execution_gas`. On the event loop a request may use little gas (`loop_gas`); a request that
needs more is moved to a thread by `WouldBlock`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from cchain_app.api import block_tags
from cchain_app.api.errors import failure, server_error
from cchain_app.api.loop_gas import LoopGasShare, in_batch
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import (
    BASE_FEE_BITS,
    BlockEnv,
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
    GasAllowance,
    GasEstimate,
    StateReader,
)
from cchain_app.evm.installed import is_wide, missing_engine
from cchain_app.evm.overrides import (
    AccountOverride,
    BlockOverride,
    move_precompiles,
    override_state,
    with_stored_slots,
)
from cchain_app.evm.tracing import Recording, TransactionTrace
from cchain_app.selectors import blocks, development, state
from cchain_app.services.transaction_log import RECORDING, SECONDS_A_TRANSACTION
from cchain_app.transaction_log.console import WatchedState
from cchain_app.txs.transaction import Authorization
from chaindb.connections import WouldBlock, on_event_loop
from jsonrpc.errors import JsonRpcError
from primitives import rlp
from primitives.evm import Address
from primitives.hexadecimal import checksum_address, encode_data

T = TypeVar("T")

PRICE_BITS: Final = 128
BLOB_PRICE_BITS: Final = 128

Overrides = Mapping[Address, AccountOverride]


def call(
    rpc: EvmRpc,
    request: CallRequest,
    block: BlockParam,
    accounts: Overrides | None,
    block_override: BlockOverride | None,
) -> str:
    """eth_call: the output of a call, or the code that a contract creation would deploy.

    Raises:
        JsonRpcError: 3, the call reverted; -32000, it failed otherwise, could not begin or took too long.
    """
    epoch = rpc.epoch
    context = make_context(rpc, block, accounts, block_override)
    message = make_message(rpc, request, context.env)
    try:
        check_fees(request, context.env)
        result = context.logged("eth_call", message, lambda logged: logged.run(message))
    except CallRejected as refusal:
        raise server_error(f"err: {refusal} (supplied gas {message.gas})") from refusal
    failed = failure(result, of_coreth=rpc.chain.is_of_coreth)
    if failed is not None:
        failed.trace = context.again(message)
        raise failed
    if block is Tag.LATEST and not accounts and block_override is None:
        rpc.keep_environment(epoch, context.env)
    return encode_data(result.output)


class CallContext(NamedTuple):
    """The context of a call: chain and engine, state, environment, and deadline."""

    rpc: EvmRpc
    env: BlockEnv
    state: StateReader
    deadline: float
    """In seconds of the monotonic clock."""
    allowance: GasAllowance | None = None
    """Gas that the request may still use on the event loop; None in a thread."""
    height: int | None = None
    """Height of the block whose state it is; None: the state is not that of an accepted block alone."""
    has_wide_fee: bool = False
    """Whether the base fee of the block itself, before overrides, has more bits than the native engine reads."""

    def run(self, message: CallMessage, *, with_access_list: bool = False) -> CallResult:
        """Run one call.

        Raises:
            CallRejected: The call could not begin.
            JsonRpcError: -32000, the call took too long.
            WouldBlock: The call takes too long for the event loop.
        """
        env = self._fit(message)
        chain = self.rpc.chain
        run = partial(
            chain.engine.call,
            env,
            message,
            self.state,
            allowance=self.allowance,
            time_limit=self._seconds(),
            with_access_list=with_access_list,
        )
        try:
            return run() if self.height is None else state.read_at(chain, self.height, run)
        except CallInterrupted as interruption:
            raise self._given_up() from interruption

    def estimate(self, message: CallMessage, error_ratio: float) -> GasEstimate:
        """Find the least gas, up to the message's, with which a call succeeds. Raises as `run`."""
        env = self._fit(message)
        try:
            return self.rpc.chain.engine.estimate(
                env,
                message,
                self.state,
                error_ratio=error_ratio,
                allowance=self.allowance,
                time_limit=self._seconds(),
            )
        except CallInterrupted as interruption:
            raise self._given_up() from interruption

    def trace(
        self, message: CallMessage, recording: Recording, time_limit: float
    ) -> TransactionTrace:
        """Run one call and record its trace, within a time limit.

        Raises:
            CallRejected: The call could not begin.
            TraceTooLarge: The trace exceeds the recording's limit.
            TraceTimedOut: The call took too long.
        """
        env = self._fit(message)
        return self.rpc.chain.engine.trace_call(
            env, message, self.state, recording, time_limit=time_limit
        )

    def logged(self, method: str, message: CallMessage, run: Callable[["CallContext"], T]) -> T:
        """Run a call, once or several times, log it once, and return the result.

        A request that moves to a thread is logged there. A call that called console.log, or whose trace is printed, is
        executed again for the log, later and in a separate thread. If another call of the same batch moves the batch to a thread, this
        call's name is counted twice, but its console messages are logged once.

        Args:
            method: The method that the client called.
            message: The call, with all the gas that it may use.
            run: Runs the call in the context that it gets.

        Raises:
            WouldBlock: The call called console.log, or traces are printed, in a batch that may have to move to a thread.
        """
        log = self.rpc.transaction_log
        if not log.takes_calls(that_act=True):
            return run(self)
        watched = WatchedState(self.state)
        try:
            outcome = run(self._replace(state=watched, height=None))
        except (CallRejected, JsonRpcError):
            self._log_call(method, message, watched, has_run=False)
            raise
        self._log_call(method, message, watched, has_run=True)
        return outcome

    def _log_call(
        self, method: str, message: CallMessage, watched: WatchedState, *, has_run: bool
    ) -> None:
        trace = None
        settings = self.rpc.chain.settings
        has_messages = watched.console_was_called and settings.console_log
        if has_messages or (settings.print_traces and has_run):
            if in_batch():
                raise WouldBlock
            trace = self.again(message)
        self.rpc.transaction_log.called(method, trace=trace)

    def again(self, message: CallMessage) -> Callable[[], TransactionTrace] | None:
        """Return a function that executes a call again for the log; None if the log takes no calls."""
        if not self.rpc.transaction_log.takes_calls(that_act=True):
            return None
        return partial(self.trace, message, RECORDING, SECONDS_A_TRANSACTION)

    def _seconds(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)

    def _given_up(self) -> Exception:
        return timed_out(self.rpc) if self.allowance is None else WouldBlock()

    def _fit(self, message: CallMessage) -> BlockEnv:
        """Return the environment with a base fee that engines can read.

        Unspecified: geth calculates with 256-bit prices and base fees. Engines take prices of 128 bits, blob base fees
        of 128 bits, and base fees of 64 bits. Larger values are rejected. Only where the block itself has a wider base
        fee, as on a chain of a subnet whose manager set one, the reference engine runs the call, if it is installed. It
        is too slow to let the overrides of any caller choose it.

        Raises:
            CallRejected: A price or fee is larger than engines can read.
        """
        if message.gas_price >> PRICE_BITS:
            want = message.gas * message.gas_price + message.value
            account = self.state.account(message.sender)
            raise CallRejected(_unpaid(message.sender, account.balance if account else 0, want))
        env = self.env
        if env.blob_base_fee is not None and env.blob_base_fee >> BLOB_PRICE_BITS:
            raise CallRejected(f"blob base fee higher than 2^{BLOB_PRICE_BITS}-1")
        if not is_wide(env):
            return env
        if not message.gas_price:
            return replace(env, base_fee=0)
        if not self.has_wide_fee or missing_engine(env):
            raise CallRejected(f"block base fee higher than 2^{BASE_FEE_BITS}-1")
        return env


def make_context(
    rpc: EvmRpc, block: BlockParam, accounts: Overrides | None, block_override: BlockOverride | None
) -> CallContext:
    """Return the context for a call at a block, with its overrides.

    Raises:
        JsonRpcError: -32000, there is no such block.
        BadOverride: The overrides contradict each other.
        WouldBlock: This is the event loop, and the engine must not run there.
    """
    share = _share_of_event_loop(rpc)
    named = block_tags.require_header(rpc, block)
    reader = state.state_after(rpc.chain, named)
    return context_on(rpc, named, reader, accounts, block_override, share=share)


def next_or_latest(rpc: EvmRpc) -> Tag:
    """Return the block to estimate for: the pending block if an override is set for the next block, else the latest."""
    if not rpc.chain.is_development:
        return Tag.LATEST
    head = blocks.head(rpc.chain)
    overrides = development.conditions(rpc.chain).of_next_block(head.header.timestamp)
    return Tag.LATEST if overrides is None else Tag.PENDING


def context_on(
    rpc: EvmRpc,
    found: AcceptedBlock,
    reader: StateReader,
    accounts: Overrides | None,
    block_override: BlockOverride | None,
    *,
    share: LoopGasShare | None = None,
) -> CallContext:
    """Return the context for a call on a state, in the environment of a block that may be `blocks.header_only`.

    `share` is given on the event loop.

    Raises:
        BadOverride: The overrides contradict each other.
    """
    rules = rpc.chain.rules
    config = rules.config
    env = rpc.environments.of(found.hash, lambda: rules.env_of(found))
    has_wide_fee = rpc.chain.is_of_subnet and is_wide(env)
    if env.chain_id != config.chain_id:  # anvil_setChainId was called; only block 0 has the old ID
        env = replace(env, chain_id=config.chain_id)
    signers = development.signers(rpc.chain)
    if signers:
        env = replace(env, signers=signers)
    if accounts:
        env = move_precompiles(env, accounts)
        reader = override_state(reader, stored_overrides(rpc.chain, accounts))
    if block_override is not None:
        env = block_override.apply(env)
    if share is not None:
        return CallContext(rpc, env, reader, share.deadline, share.gas, has_wide_fee=has_wide_fee)
    return CallContext(
        rpc,
        env,
        reader,
        time.monotonic() + rpc.chain.call_seconds,
        height=None if accounts else found.number,
        has_wide_fee=has_wide_fee,
    )


def stored_overrides(chain: EvmChain, accounts: Overrides) -> Overrides:
    """Return overrides as engines read them, whose slots are other ones on a chain of coreth."""
    return with_stored_slots(accounts) if chain.is_of_coreth else accounts


def _share_of_event_loop(rpc: EvmRpc) -> LoopGasShare | None:
    if not on_event_loop():
        return None
    if not rpc.chain.engine.fast:
        raise WouldBlock
    return rpc.loop_gas.share()


def make_message(rpc: EvmRpc, request: CallRequest, env: BlockEnv) -> CallMessage:
    """Convert a call object to an engine's message.

    Raises:
        JsonRpcError: -32000, the call's fees contradict each other, or it is for another chain.
    """
    check_request(rpc, request)
    cap = rpc.gas_cap(env.gas_limit)
    return CallMessage(
        request.sender,
        request.to,
        cap if request.gas is None else min(request.gas, cap),
        gas_price(request, env),
        request.value,
        request.data,
        request.access_list,
        tuple(map(encode_authorization, request.authorizations)) if request.authorizations else (),
        request.max_priority_fee_per_gas,
        request.blob_hashes or (),
    )


def check_request(rpc: EvmRpc, request: CallRequest) -> None:
    """Reject calls that are invalid in every block.

    Raises:
        JsonRpcError: -32000: both fee styles, another chain's ID, or an empty list of authorizations or blobs.
    """
    if request.authorizations == ():
        sender = checksum_address(request.sender)
        raise server_error(f"EIP-7702 transaction with empty auth list (sender {sender})")
    if request.blob_hashes == ():
        raise server_error("blob transaction missing blob hashes")
    if request.gas_price is not None and (
        request.max_fee_per_gas is not None or request.max_priority_fee_per_gas is not None
    ):
        raise server_error("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
    have = request.chain_id
    if have is not None and have != (want := rpc.chain.config.chain_id):
        raise server_error(f"chainId does not match node's (have={have}, want={want})")


def fee_cap(request: CallRequest) -> int:
    """Return the most that the caller pays for one unit of gas, in wei; 0 if no price is named."""
    if request.gas_price is not None:
        return request.gas_price
    return request.max_fee_per_gas or 0


def gas_price(request: CallRequest, env: BlockEnv) -> int:
    """Return the price of one unit of gas in this environment, in wei; 0 if no price is named."""
    cap = fee_cap(request)
    if request.gas_price is not None or env.base_fee is None or not cap:
        return cap
    return min(cap, env.base_fee + (request.max_priority_fee_per_gas or 0))


def timed_out(rpc: EvmRpc) -> JsonRpcError:
    """Return the error of a call that took longer than NODE_RPC_CALL_TIMEOUT."""
    return server_error(f"execution aborted (timeout = {rpc.chain.call_seconds:g}s)")


def _unpaid(sender: Address, have: int, want: int) -> str:
    who = f"address {checksum_address(sender)}"
    if want >> 256:
        wrong = f"{who} required balance exceeds 256 bits"
    elif have < want:
        wrong = f"{who} have {have} want {want}"
    else:
        return f"gas price higher than 2^{PRICE_BITS}-1"
    return f"insufficient funds for gas * price + value: {wrong}"


def check_fees(request: CallRequest, env: BlockEnv) -> None:
    """Check the fees against each other and against the base fee, unless the call names no fees.

    Raises:
        CallRejected: The tip is above the fee cap, or the fee cap is below the base fee.
    """
    cap = fee_cap(request)
    tip = cap if request.gas_price is not None else (request.max_priority_fee_per_gas or 0)
    if env.base_fee is None or not (cap or tip):
        return
    who = f"address {checksum_address(request.sender)}"
    if tip > cap:
        raise CallRejected(
            f"max priority fee per gas higher than max fee per gas: {who}, "
            f"maxPriorityFeePerGas: {tip}, maxFeePerGas: {cap}"
        )
    if cap < env.base_fee:
        raise CallRejected(
            f"max fee per gas less than block base fee: {who}, "
            f"maxFeePerGas: {cap}, baseFee: {env.base_fee}"
        )


def encode_authorization(authorization: Authorization) -> bytes:
    """Return an entry of an authorization list as RLP."""
    address = rlp.encode_bytes(authorization.address)
    numbers = (authorization.nonce, authorization.y_parity, authorization.r, authorization.s)
    return rlp.encode_list(
        (rlp.encode_uint(authorization.chain_id), address, *map(rlp.encode_uint, numbers))
    )
