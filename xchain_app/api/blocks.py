"""Blocks by ID and by height."""

from jsonrpc.dispatch.values import refused
from primitives.checksummed import TextEncoding, encode
from primitives.ids import ID
from xchain_app.api.rpc import NOT_FOUND, AvmRpc, Json
from xchain_app.blocks.block import parse_block, render_block
from xchain_app.selectors import accepted
from xchain_app.selectors.accepted import StoredXBlock


def get_height(rpc: AvmRpc) -> Json:
    """avm.getHeight: the height of the last accepted block."""
    return {"height": str(rpc.chain.tip().height)}


def get_block(rpc: AvmRpc, block_id: ID, encoding: TextEncoding) -> Json:
    """avm.getBlock: an accepted block by its ID.

    Unspecified: the reference also knows blocks that are not decided yet.
    """
    block = accepted.block(rpc.chain, block_id)
    if block is None:
        raise refused(f"couldn't get block with id {block_id}: {NOT_FOUND}")
    return _to_json(rpc, block, encoding)


def get_block_by_height(rpc: AvmRpc, height: int, encoding: TextEncoding) -> Json:
    """avm.getBlockByHeight: an accepted block by its height; the genesis block is at 0."""
    block = accepted.block_at(rpc.chain, height)
    if block is None:
        raise refused(f"couldn't get block at height {height}: {NOT_FOUND}")
    return _to_json(rpc, block, encoding)


def _to_json(rpc: AvmRpc, block: StoredXBlock, encoding: TextEncoding) -> Json:
    if encoding is TextEncoding.JSON:
        shown = render_block(parse_block(block.raw), rpc.chain.address)
        return {"block": shown, "encoding": encoding.value}
    return {"block": encode(block.raw, encoding), "encoding": encoding.value}
