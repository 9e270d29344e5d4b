"""trace_*: traces of transactions and calls, frame by frame, in Parity's format (tracing.md 12)."""

from collections.abc import Callable, Iterable
from itertools import chain as chained

import msgspec
from msgspec import Raw

from cchain_app.api import block_tags, tracing, wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth.execution import (
    CallContext,
    Overrides,
    check_fees,
    encode_authorization,
    make_context,
    make_message,
)
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.tracing import STATE_DIFF, TRACE, VM_TRACE, TracedCall, TraceTypes
from cchain_app.api.params.values import BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import BlockEnv, CallMessage, CallRejected
from cchain_app.evm.overrides import BlockOverride
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.tracing import Recording, TransactionTrace
from cchain_app.foreign.credits import Reward
from cchain_app.selectors import blocks, state
from cchain_app.selectors import tracing as traced
from cchain_app.tracing.output import Deadline
from cchain_app.tracing.parity import (
    TransactionPlace,
    entries,
    localized_entries,
    reward_entry,
    state_diff,
)
from cchain_app.txs.blobs import is_blob_transaction, separate
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.transaction import Transaction
from primitives.evm import Hash

_FRAMES = "parity"
"""Name of localized entries in the keys of cached answers."""


def trace_transaction(rpc: EvmRpc, transaction_hash: Hash) -> Raw | None:
    """trace_transaction: an entry for each frame of a transaction, null if it is in no block."""
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    return None if found is None else entries_of(rpc, *found)


def trace_get(rpc: EvmRpc, transaction_hash: Hash, indexes: list[int]) -> Raw | None:
    """trace_get: one entry of a transaction, by its index in trace_transaction; null if it does not exist.

    Unspecified: exactly one index is supported, as in Erigon; Parity takes the path to a frame.
    """
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is None or len(indexes) != 1:
        return None
    listed = msgspec.json.decode(entries_of(rpc, *found), type=list[Raw])
    return listed[indexes[0]] if indexes[0] < len(listed) else None


def entries_of(
    rpc: EvmRpc, block: AcceptedBlock, index: int, *, seconds: float | None = None
) -> Raw:
    """Return the entries of a block's transaction as a JSON array, from the cache or by executing it.

    Args:
        rpc: The chain's RPC context.
        block: The block.
        index: The transaction's index in it.
        seconds: The time limit; None for that of any transaction's trace.

    Raises:
        JsonRpcError: -32003, the answer is too large; -32000, it takes too long.
    """
    question = tracing.Question(
        _FRAMES,
        tracing.recording(rpc, frames=True),
        tracing.seconds(rpc) if seconds is None else seconds,
        lambda trace, block, index: tracing.encoded(
            rpc, localized_entries(trace.frames, position_of(block, index))
        ),
    )
    return tracing.of_transaction(rpc, block, index, question)


def trace_block(rpc: EvmRpc, block: BlockParam) -> Raw:
    """trace_block: the entries of all transactions of a block, in order, and its proof-of-work rewards.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    accepted = block_tags.require(rpc, block)

    def make() -> bytes:
        frames = (
            trace.frames for trace in _traces(rpc, accepted, tracing.recording(rpc, frames=True))
        )
        listed = (
            localized_entries(of_transaction, position_of(accepted, index))
            for index, of_transaction in enumerate(frames)
        )
        return tracing.encoded(rpc, chained(chained.from_iterable(listed), _rewards(rpc, accepted)))

    return tracing.of_block(rpc, accepted, _FRAMES, make)


def _rewards(rpc: EvmRpc, block: AcceptedBlock) -> Iterable[wire.Json]:
    """Return the entries of a block's proof-of-work rewards; a block that this node made has none."""
    return (
        reward_of(item, block.hash, block.number) for item in blocks.rewards_in(rpc.chain, block)
    )


def reward_of(reward: Reward, block_hash: Hash, number: int) -> wire.Json:
    """Return the entry of a proof-of-work reward."""
    return reward_entry(reward.author, reward.wei, block_hash, number, of_uncle=reward.of_uncle)


def position_of(block: AcceptedBlock, index: int) -> TransactionPlace:
    """Return the position of a block's transaction in the chain."""
    return TransactionPlace(block.hash, block.number, block.transactions[index].hash, index)


def replay_transaction(rpc: EvmRpc, transaction_hash: Hash, types: TraceTypes) -> Raw:
    """trace_replayTransaction: the requested traces of a transaction.

    Raises:
        JsonRpcError: -32000, the transaction is in no block.
    """
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is None:
        raise server_error("transaction not found")
    question = tracing.Question(
        types,
        _recording(rpc, types),
        tracing.seconds(rpc),
        lambda trace, block, _: _encoded_results(rpc, trace, types, _codes_at(rpc, block)),
    )
    return tracing.of_transaction(rpc, *found, question)


def replay_block_transactions(rpc: EvmRpc, block: BlockParam, types: TraceTypes) -> Raw:
    """trace_replayBlockTransactions: the requested traces of a block's transactions.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    accepted = block_tags.require(rpc, block)

    def make() -> bytes:
        codes = _codes_at(rpc, accepted)
        traces = _traces(rpc, accepted, _recording(rpc, types))
        listed = (
            {**_results(rpc, trace, types, codes), "transactionHash": wire.hexed(transaction.hash)}
            for trace, transaction in zip(traces, accepted.transactions, strict=True)
        )
        return tracing.encoded(rpc, listed)

    return tracing.of_block(rpc, accepted, types, make)


def _traces(rpc: EvmRpc, block: AcceptedBlock, recorded: Recording) -> Iterable[TransactionTrace]:
    """Trace a block; a block without transactions, such as genesis, has no traces."""
    if not block.transactions:
        return ()
    return traced.trace_block(rpc.chain, block, recorded, time_limit=tracing.seconds(rpc))


def call(  # noqa: PLR0917  # arguments come by position
    rpc: EvmRpc,
    request: CallRequest,
    types: TraceTypes,
    block: BlockParam,
    accounts: Overrides | None,
    block_override: BlockOverride | None,
) -> Raw:
    """trace_call: the requested traces of a call, which changes nothing.

    Raises:
        JsonRpcError: -32000, there is no such block, or the call could not begin.
    """
    context = make_context(rpc, block, accounts, block_override)
    with tracing.tracing(rpc):
        trace = _run(context, request, _recording(rpc, types), tracing.seconds(rpc))
        return Raw(_encoded_results(rpc, trace, types, context.state.code))


def call_many(rpc: EvmRpc, calls: list[TracedCall], block: BlockParam) -> Raw:
    """trace_callMany: the requested traces of several calls, each executed on the state after the previous ones.

    Unspecified: all calls together have the time limit of one transaction.

    Raises:
        JsonRpcError: -32000, there is no such block, a call could not begin, or they take too long;
            -32003, the answer is too large.
    """
    context = make_context(rpc, block, None, None)
    after = PendingState(context.state)
    context = context._replace(state=after)
    deadline = Deadline(rpc.chain.settings.trace.timeout)

    def results() -> Iterable[bytes]:
        for request, types in calls:
            recorded = _recording(rpc, types)._replace(changes=True)
            limit = min(deadline.left(), tracing.seconds(rpc))
            trace = _run(context, request, recorded, limit)
            assert trace.state is not None, "asked for"
            yield tracing.encode(_results(rpc, trace, types, after.code))
            after.apply(context.env.number - 1, context.env.parent_hash, trace.state.changes)

    with tracing.tracing(rpc):
        return Raw(tracing.array(rpc, results()))


def _run(
    context: CallContext, request: CallRequest, recorded: Recording, seconds: float
) -> TransactionTrace:
    message = make_message(context.rpc, request, context.env)
    try:
        check_fees(request, context.env)
        return context.trace(message, recorded, seconds)
    except CallRejected as refusal:
        raise server_error(f"err: {refusal} (supplied gas {message.gas})") from refusal


def raw_transaction(rpc: EvmRpc, raw: bytes, types: TraceTypes) -> Raw:
    """trace_rawTransaction: the requested traces of a signed transaction at the head; it is not sent.

    Unspecified: its nonce is not checked, and it runs in the environment of the head. A sidecar is ignored.

    Raises:
        InvalidTransaction: The bytes are not a valid transaction.
        JsonRpcError: -32000, it could not begin.
    """
    if is_blob_transaction(raw):
        raw = separate(raw, rpc.chain.pool_limits.transaction_bytes).raw
    transaction = decode_transaction(raw, rpc.chain.config.chain_id)
    context = make_context(rpc, Tag.LATEST, None, None)
    with tracing.tracing(rpc):
        message = _message_of(transaction, context.env)
        trace = context.trace(message, _recording(rpc, types), tracing.seconds(rpc))
        return Raw(_encoded_results(rpc, trace, types, context.state.code))


def _message_of(transaction: Transaction, env: BlockEnv) -> CallMessage:
    return CallMessage(
        transaction.sender,
        transaction.to,
        transaction.gas,
        transaction.effective_gas_price(env.base_fee or 0),
        transaction.value,
        transaction.data,
        transaction.access_list,
        tuple(map(encode_authorization, transaction.authorizations)),
        transaction.max_priority_fee_per_gas,
        transaction.blob_hashes,
    )


def _recording(rpc: EvmRpc, types: TraceTypes) -> Recording:
    return tracing.recording(
        rpc, frames=TRACE in types, state=STATE_DIFF in types, vm=VM_TRACE in types
    )


def _encoded_results(
    rpc: EvmRpc,
    found: TransactionTrace,
    types: TraceTypes,
    code_of: Callable[[Hash], bytes],
) -> bytes:
    """Return a results object as JSON.

    Raises:
        JsonRpcError: -32003, the answer is too large.
    """
    return tracing.bounded(rpc, tracing.encode(_results(rpc, found, types, code_of)))


def _results(
    rpc: EvmRpc,
    found: TransactionTrace,
    types: TraceTypes,
    code_of: Callable[[Hash], bytes],
) -> wire.Json:
    """Return a results object; members that were not requested are empty."""
    with_state = found.state if STATE_DIFF in types else None
    listed = entries(found.frames) if TRACE in types else ()
    return {
        "output": wire.hexed(found.output),
        "stateDiff": None if with_state is None else state_diff(with_state, code_of),
        "trace": Raw(tracing.encoded(rpc, listed)),
        "vmTrace": Raw(found.vm) if VM_TRACE in types else None,
    }


def _codes_at(rpc: EvmRpc, block: AcceptedBlock) -> Callable[[Hash], bytes]:
    return state.state_after(rpc.chain, block).code
