"""Blocks, headers and receipts as RLP: the debug_getRaw family."""

from cchain_app.api import block_tags
from cchain_app.api.params import BlockParam
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.block import encode_block
from cchain_app.blocks.header import encode_header
from cchain_app.blocks.receipt import encode_receipt
from primitives.hexadecimal import encode_data


def get_raw_block(rpc: EvmRpc, block: BlockParam) -> str:
    """debug_getRawBlock: header, transactions and empty lists of uncles and withdrawals.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    found = block_tags.require(rpc, block)
    raws = [transaction.raw for transaction in found.transactions]
    return encode_data(encode_block(found.header, raws))


def get_raw_header(rpc: EvmRpc, block: BlockParam) -> str:
    """debug_getRawHeader: what the block's hash is made of.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    return encode_data(encode_header(block_tags.require(rpc, block).header))


def get_raw_receipts(rpc: EvmRpc, block: BlockParam) -> list[str]:
    """debug_getRawReceipts: what the receipts root is made of.

    Raises:
        JsonRpcError: -32000, there is no such block.
    """
    return [
        encode_data(encode_receipt(receipt)) for receipt in block_tags.require(rpc, block).receipts
    ]
