"""debug_trace*: traces of transactions, blocks and calls, as in go-ethereum (tracing.md 1, 2, 10 and 11)."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Raw

from cchain_app.api import block_tags, tracing, wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth.execution import CallContext, check_fees, context_on, make_message
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.tracing import CallTraceOptions
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam, Tag
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.engine import CallRejected, StateReader
from cchain_app.evm.tracing import Recording, TransactionTrace
from cchain_app.selectors import blocks, state
from cchain_app.selectors import tracing as traced
from cchain_app.services import tracing as given_blocks
from cchain_app.tracing.options import TraceConfig, TraceContext
from cchain_app.tracing.render import render
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock
from primitives.evm import Hash


def trace_transaction(rpc: EvmRpc, transaction_hash: Hash, config: TraceConfig) -> Raw:
    """debug_traceTransaction: the trace of a mined transaction.

    Raises:
        JsonRpcError: -32000, the transaction is in no block, or the trace took too long; -32003, the trace is too large.
    """
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is None:
        raise server_error("transaction not found")
    question = tracing.Question(
        _key(config),
        _recording(rpc, config),
        _seconds(rpc, config),
        lambda trace, block, index: _rendered(rpc, trace, config, _context(rpc, block, index)),
    )
    return tracing.of_transaction(rpc, *found, question)


def trace_block_by_number(rpc: EvmRpc, number: BlockNumber, config: TraceConfig) -> Raw:
    """debug_traceBlockByNumber: the traces of all transactions of a block.

    Raises:
        JsonRpcError: -32000, there is no such block, or it is the genesis block.
    """
    return _block(rpc, _require(rpc, number), config)


def trace_block_by_hash(rpc: EvmRpc, block_hash: Hash, config: TraceConfig) -> Raw:
    """debug_traceBlockByHash: the traces of all transactions of a block. Raises as `trace_block_by_number`."""
    return _block(rpc, _require(rpc, BlockHash(block_hash)), config)


def trace_block(rpc: EvmRpc, raw: bytes, config: TraceConfig) -> Raw:
    """debug_traceBlock: the traces of the transactions of a block that is given as RLP.

    Raises:
        BlockNotTraceable: By a subclass: the RLP is not a block, or the block's parent is not in the chain.
        JsonRpcError: -32000, a transaction is not valid in the block.
    """
    block = given_blocks.read_block(rpc.chain, raw)
    known = blocks.by_hash(rpc.chain, block.hash)
    if known is not None:
        return _block(rpc, known, config)
    with tracing.tracing(rpc):
        try:
            transactions, traces = given_blocks.trace_candidate(
                rpc.chain, block, _recording(rpc, config), time_limit=_seconds(rpc, config)
            )
        except InvalidBlock as refusal:
            raise server_error(f"tracing failed: {refusal}") from refusal
        logs = accumulate((len(trace.logs) for trace in traces), initial=0)
        contexts = [
            TraceContext(block.hash, block.header.number, transaction.hash, index, first_log)
            for index, (transaction, first_log) in enumerate(zip(transactions, logs, strict=False))
        ]
        return Raw(_listed(rpc, transactions, traces, config, contexts))


def _block(rpc: EvmRpc, block: AcceptedBlock, config: TraceConfig) -> Raw:
    def make() -> bytes:
        traces = traced.trace_block(
            rpc.chain, block, _recording(rpc, config), time_limit=_seconds(rpc, config)
        )
        return _listed(
            rpc,
            block.transactions,
            traces,
            config,
            [_context(rpc, block, index) for index in range(len(traces))],
        )

    return tracing.of_block(rpc, block, _key(config), make)


def _listed(
    rpc: EvmRpc,
    transactions: Sequence[Transaction],
    traces: Sequence[TransactionTrace],
    config: TraceConfig,
    contexts: Sequence[TraceContext],
) -> bytes:
    """Return the traces of a block's transactions as an array, each with its transaction's hash."""

    def entries() -> Iterable[bytes]:
        for transaction, trace, context in zip(transactions, traces, contexts, strict=True):
            shown = wire.hexed(transaction.hash).encode()
            result = _rendered(rpc, trace, config, context)
            yield b'{"txHash":"%b","result":%b}' % (shown, result)

    return tracing.array(rpc, entries())


def trace_call(
    rpc: EvmRpc, request: CallRequest, block: BlockParam, options: CallTraceOptions
) -> Raw:
    """debug_traceCall: the trace of a call on a block's state, in that block's environment.

    Unspecified: `pending` is rejected, as in geth, even where it means the last accepted block.

    Raises:
        JsonRpcError: -32000, there is no such block, or the call could not begin.
        BadOverride: The overrides contradict each other.
    """
    if block is Tag.PENDING:
        raise server_error("tracing on top of pending is not supported")
    accepted = _require(rpc, block)
    with tracing.tracing(rpc):
        context = _call_context(rpc, accepted, options)
        message = make_message(rpc, request, context.env)
        try:
            check_fees(request, context.env)
            trace = context.trace(
                message, _recording(rpc, options.config), _seconds(rpc, options.config)
            )
        except CallRejected as refusal:
            raise server_error(f"tracing failed: {refusal}") from refusal
        return Raw(_rendered(rpc, trace, options.config, TraceContext()))


def _call_context(rpc: EvmRpc, block: AcceptedBlock, options: CallTraceOptions) -> CallContext:
    reader: StateReader = state.state_at(rpc.chain, block.number)
    if options.transaction_index is not None:
        reader = traced.state_before(
            rpc.chain,
            block,
            options.transaction_index,
            time_limit=_seconds(rpc, options.config),
        )
    return context_on(rpc, block, reader, options.accounts, options.block)


def _require(rpc: EvmRpc, param: BlockParam) -> AcceptedBlock:
    """Return the requested block.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    block = block_tags.find(rpc, param)
    if block is not None:
        return block
    if isinstance(param, BlockHash):
        raise server_error(f"block {wire.hexed(param.hash)} not found")
    raise server_error(f"block #{param} not found")


def _context(rpc: EvmRpc, block: AcceptedBlock, index: int) -> TraceContext:
    """Return the position of a block's transaction in the chain."""
    first_log = rpc.rendered.of(block).first_log_indexes[index]
    return TraceContext(block.hash, block.number, block.transactions[index].hash, index, first_log)


def _rendered(
    rpc: EvmRpc, trace: TransactionTrace, config: TraceConfig, context: TraceContext
) -> bytes:
    return render(trace, config, context, most_bytes=rpc.chain.settings.trace.bytes)


def _recording(rpc: EvmRpc, config: TraceConfig) -> Recording:
    return config.recording(rpc.chain.settings.trace.bytes)


def _seconds(rpc: EvmRpc, config: TraceConfig) -> float:
    return tracing.seconds(rpc, tracing.SECONDS if config.timeout is None else config.timeout)


def _key(config: TraceConfig) -> TraceConfig:
    """Return the options that affect the answer: all but the time limit."""
    return config._replace(timeout=None)
