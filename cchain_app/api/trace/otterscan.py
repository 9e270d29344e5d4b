"""ots_* and erigon_*: the methods that Otterscan calls, at API level 8 (tracing.md 13).

Its searches, by address and for a contract's creator, are in `otterscan_searches`.
"""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Raw

from cchain_app.api import block_tags, tracing, wire
from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import Frame
from cchain_app.selectors import blocks, state, state_search
from cchain_app.selectors.blocks import rewards_in
from cchain_app.tracing import otterscan
from primitives.evm import Address, Hash
from primitives.hexadecimal import encode_data

API_LEVEL: Final = 8
"""The lowest level that Otterscan accepts."""


def api_level() -> int:
    """ots_getApiLevel: the version of these methods and their formats."""
    return API_LEVEL


def header_by_number(rpc: EvmRpc, number: BlockNumber) -> Raw | None:
    """erigon_getHeaderByNumber: a header, null above the head."""
    return _header(rpc, block_tags.find(rpc, number))


def header_by_hash(rpc: EvmRpc, block_hash: Hash) -> Raw | None:
    """erigon_getHeaderByHash: a header, null when unknown."""
    return _header(rpc, block_tags.find(rpc, BlockHash(block_hash)))


def _header(rpc: EvmRpc, found: AcceptedBlock | None) -> Raw | None:
    return None if found is None else rpc.rendered.of(found).header()


def has_code(rpc: EvmRpc, address: Address, number: BlockNumber) -> bool:
    """ots_hasCode: whether an account had code after a block.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    block = block_tags.require(rpc, number)
    return bool(state.code_at(state.state_after(rpc.chain, block), address))


def block_details(rpc: EvmRpc, number: BlockNumber) -> wire.Json | None:
    """ots_getBlockDetails: a block without its transactions, with its rewards and the sum of its fees."""
    return _details(rpc, block_tags.find(rpc, number))


def block_details_by_hash(rpc: EvmRpc, block_hash: Hash) -> wire.Json | None:
    """ots_getBlockDetailsByHash: a block without its transactions, with its rewards and the sum of its fees."""
    return _details(rpc, block_tags.find(rpc, BlockHash(block_hash)))


def _details(rpc: EvmRpc, block: AcceptedBlock | None) -> wire.Json | None:
    if block is None:
        return None
    shown = _block(block, [])
    del shown["transactions"]
    shown["logsBloom"] = None
    return {
        "block": shown,
        "issuance": _issuance(rpc, block),
        "totalFees": hex(_total_fees(block)),
    }


def _issuance(rpc: EvmRpc, block: AcceptedBlock) -> wire.Json:
    """Return the rewards of a proof-of-work block; they are zero for blocks that this node makes."""
    paid = rewards_in(rpc.chain, block)
    of_uncles = sum(item.wei for item in paid if item.of_uncle)
    of_block = sum(other.wei for other in paid if not other.of_uncle)
    return {
        "blockReward": hex(of_block),
        "uncleReward": hex(of_uncles),
        "issuance": hex(of_block + of_uncles),
    }


def _block(block: AcceptedBlock, transactions: list[wire.Json]) -> wire.Json:
    """Return a block with these transactions.

    Unspecified: `totalDifficulty` is the block's own difficulty, because the chain does not store the total.
    """
    return {
        **wire.block(block, transactions),
        "transactionCount": len(block.transactions),
        "totalDifficulty": hex(block.header.difficulty),
    }


def _total_fees(block: AcceptedBlock) -> int:
    fees, before = 0, 0
    base_fee = block.header.base_fee or 0
    for transaction, receipt in zip(block.transactions, block.receipts, strict=True):
        used = receipt.cumulative_gas_used - before
        fees += used * transaction.effective_gas_price(base_fee)
        before = receipt.cumulative_gas_used
    return fees


def block_transactions(
    rpc: EvmRpc, number: BlockNumber, page: int, page_size: int
) -> wire.Json | None:
    """ots_getBlockTransactions: a page of a block's transactions and receipts, null above the head.

    Unspecified: page 0 has the block's first transactions, as with Reth.
    """
    block = block_tags.find(rpc, number)
    if block is None:
        return None
    indexes = range(len(block.transactions))[page * page_size :][:page_size]
    shown = _block(block, [wire.mined_transaction(block, index) for index in indexes])
    return {"fullblock": shown, "receipts": [receipt(block, index) for index in indexes]}


def receipt(block: AcceptedBlock, index: int) -> wire.Json:
    """Return a receipt in the format of Otterscan's lists: without logs, with the block's time."""
    return {
        **wire.receipt(block, index, Raw(b"[]")),
        "logs": None,
        "logsBloom": None,
        "timestamp": block.header.timestamp,
    }


def transaction_error(rpc: EvmRpc, transaction_hash: Hash) -> str | Raw:
    """ots_getTransactionError: the revert data of a failed transaction, `0x` for any other.

    Raises:
        JsonRpcError: -32000, the transaction is in no block; -32003, the data has more bytes than an answer may have.
    """
    block, index = _find(rpc, transaction_hash)
    if block.receipts[index].succeeded:
        return encode_data(b"")
    question = tracing.Question(
        "error",
        tracing.recording(rpc),
        tracing.seconds(rpc),
        lambda trace, _block, _index: tracing.bounded(
            rpc, tracing.encode(encode_data(trace.output))
        ),
    )
    return tracing.of_transaction(rpc, block, index, question)


def internal_operations(rpc: EvmRpc, transaction_hash: Hash) -> Raw:
    """ots_getInternalOperations: the value transfers and contract creations inside a transaction.

    Raises:
        JsonRpcError: -32000, it is in no block.
    """
    return _of_frames(rpc, transaction_hash, "operations", otterscan.operations)


def trace_transaction(rpc: EvmRpc, transaction_hash: Hash) -> Raw:
    """ots_traceTransaction: the calls of a transaction, depth first.

    Raises:
        JsonRpcError: -32000, it is in no block.
    """
    return _of_frames(rpc, transaction_hash, "calls", otterscan.calls)


def _of_frames(
    rpc: EvmRpc,
    transaction_hash: Hash,
    name: str,
    show: Callable[[Iterable[Frame]], Iterable[wire.Json]],
) -> Raw:
    question = tracing.Question(
        name,
        tracing.recording(rpc, frames=True),
        tracing.seconds(rpc),
        lambda trace, _block, _index: tracing.encoded(rpc, show(trace.frames)),
    )
    return tracing.of_transaction(rpc, *_find(rpc, transaction_hash), question)


def _find(rpc: EvmRpc, transaction_hash: Hash) -> blocks.TransactionPosition:
    found = blocks.find_transaction(rpc.chain, transaction_hash)
    if found is None:
        raise server_error("transaction not found")
    return found


def by_sender_and_nonce(rpc: EvmRpc, sender: Address, nonce: int) -> str | None:
    """ots_getTransactionBySenderAndNonce: the hash of a sender's transaction, null if it is in no block."""
    found = state_search.find_by_nonce(rpc.chain, sender, nonce)
    if found is None:
        return None
    block, index = found
    return encode_data(block.transactions[index].hash)
