"""Blocks, headers and counts of their contents; raw RLP, the debug_getRaw family."""

from msgspec import Raw

from cchain_app.api import block_tags, wire
from cchain_app.api.errors import server_error
from cchain_app.api.params.values import BlockHash, BlockNumber, BlockParam
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import PendingBlock
from cchain_app.blocks.receipt import encode_receipt
from cchain_app.selectors import blocks
from primitives.evm import Hash
from primitives.hexadecimal import encode_data, encode_quantity


def block_number(rpc: EvmRpc) -> str:
    """eth_blockNumber: height of the last accepted block."""
    return encode_quantity(blocks.head(rpc.chain).number)


def get_block_by_number(rpc: EvmRpc, number: BlockNumber, full: bool) -> Raw | None:  # noqa: FBT001
    """eth_getBlockByNumber: a block with its transactions or their hashes, null above the head.

    Unspecified: where only this node makes blocks, `pending` is the block that it would build now, with null
    for hash, nonce and miner, as in go-ethereum; elsewhere it is the head, as in coreth. The same holds for all
    methods that take a block. Transactions, receipts and logs of the pending block name the hash that it would have
    now, as in go-ethereum.
    """
    epoch = rpc.epoch
    return _block(rpc, epoch, block_tags.find(rpc, number), full=full)


def get_block_by_hash(rpc: EvmRpc, block_hash: Hash, full: bool) -> Raw | None:  # noqa: FBT001
    """eth_getBlockByHash: a block with its transactions or their hashes, null when unknown."""
    epoch = rpc.epoch
    return _block(rpc, epoch, block_tags.find(rpc, BlockHash(block_hash)), full=full)


def get_header_by_number(rpc: EvmRpc, number: BlockNumber) -> Raw | None:
    """eth_getHeaderByNumber: a block without transactions, uncles and size."""
    return _header(rpc, block_tags.find(rpc, number))


def get_header_by_hash(rpc: EvmRpc, block_hash: Hash) -> Raw | None:
    """eth_getHeaderByHash: a block without transactions, uncles and size."""
    return _header(rpc, block_tags.find(rpc, BlockHash(block_hash)))


def get_block_receipts(rpc: EvmRpc, block: BlockParam) -> Raw | None:
    """eth_getBlockReceipts: all receipts of a block, null when it is unknown."""
    accepted = block_tags.find(rpc, block)
    return None if accepted is None else rpc.rendered.of(accepted).receipts()


def get_block_transaction_count_by_number(rpc: EvmRpc, number: BlockNumber) -> str | None:
    """eth_getBlockTransactionCountByNumber: the number of transactions in a block."""
    return _count(block_tags.find(rpc, number))


def get_block_transaction_count_by_hash(rpc: EvmRpc, block_hash: Hash) -> str | None:
    """eth_getBlockTransactionCountByHash: the number of transactions in a block."""
    return _count(block_tags.find(rpc, BlockHash(block_hash)))


def get_uncle_count_by_number(rpc: EvmRpc, number: BlockNumber) -> str | None:
    """eth_getUncleCountByBlockNumber: the number of uncles; 0 except in blocks that were mined elsewhere."""
    return _uncles(block_tags.find(rpc, number))


def get_uncle_count_by_hash(rpc: EvmRpc, block_hash: Hash) -> str | None:
    """eth_getUncleCountByBlockHash: the number of uncles; 0 except in blocks that were mined elsewhere."""
    return _uncles(block_tags.find(rpc, BlockHash(block_hash)))


def get_uncle_by_number(rpc: EvmRpc, number: BlockNumber, index: int) -> wire.Json | None:
    """eth_getUncleByBlockNumberAndIndex: an uncle's header, null if it does not exist."""
    return _uncle(block_tags.find(rpc, number), index)


def get_uncle_by_hash(rpc: EvmRpc, block_hash: Hash, index: int) -> wire.Json | None:
    """eth_getUncleByBlockHashAndIndex: an uncle's header, null if it does not exist."""
    return _uncle(block_tags.find(rpc, BlockHash(block_hash)), index)


def _block(rpc: EvmRpc, epoch: int, found: AcceptedBlock | None, *, full: bool) -> Raw | None:
    """Return the JSON of a block that was read in this epoch."""
    if found is None:
        return None
    shown = rpc.rendered.of(found).block(full=full)
    if isinstance(found, PendingBlock):
        return shown
    return rpc.keep_block(epoch, found, shown, full=full)


def _header(rpc: EvmRpc, found: AcceptedBlock | None) -> Raw | None:
    return None if found is None else rpc.rendered.of(found).header()


def _count(found: AcceptedBlock | None) -> str | None:
    return None if found is None else encode_quantity(len(found.transactions))


def _uncles(found: AcceptedBlock | None) -> str | None:
    return None if found is None else encode_quantity(len(found.ommers))


def _uncle(found: AcceptedBlock | None, index: int) -> wire.Json | None:
    if found is None or index >= len(found.ommers):
        return None
    return wire.uncle(found, index)


def get_raw_block(rpc: EvmRpc, block: BlockParam) -> str:
    """debug_getRawBlock: the RLP of header, transactions, uncles and withdrawals; `0x` above the head.

    Raises:
        JsonRpcError: -32000, no block has this hash.
    """
    raw = _raw(rpc, block, "block")
    return encode_data(b"" if raw is None else raw.ethereum_raw)


def get_raw_header(rpc: EvmRpc, block: BlockParam) -> str:
    """debug_getRawHeader: the RLP whose hash is the block's; `0x` above the head.

    Raises:
        JsonRpcError: -32000, no block has this hash.
    """
    raw = _raw(rpc, block, "header")
    return encode_data(b"" if raw is None else raw.header.raw)


def get_raw_receipts(rpc: EvmRpc, block: BlockParam) -> list[str] | None:
    """debug_getRawReceipts: the encoded receipts of the receipts root; null above the head, empty for an unknown hash."""
    accepted = block_tags.find(rpc, block)
    if accepted is None:
        return [] if isinstance(block, BlockHash) else None
    return [encode_data(encode_receipt(receipt)) for receipt in accepted.receipts]


def _raw(rpc: EvmRpc, block: BlockParam, what: str) -> AcceptedBlock | None:
    accepted = block_tags.find(rpc, block)
    if accepted is None and isinstance(block, BlockHash):
        raise server_error(f"{what} 0x{block.hash.hex()} not found")
    return accepted
