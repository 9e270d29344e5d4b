"""Blocks by ID and by height, as bytes or as JSON."""

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.blocks.block import parse_block
from platform_app.blocks.render import render_block
from platform_app.selectors import accepted
from platform_app.selectors.accepted import StoredBlock
from primitives.checksummed import TextEncoding, encode
from primitives.ids import ID


def get_block(rpc: PlatformRpc, block_id: ID, encoding: TextEncoding) -> Json:
    """platform.getBlock: an accepted block by its ID."""
    found = accepted.block(rpc.chain, block_id)
    if found is None:
        raise refused(f"couldn't get block with id {block_id}: {NOT_FOUND}")
    return _to_json(rpc, found, encoding)


def get_block_by_height(rpc: PlatformRpc, height: int, encoding: TextEncoding) -> Json:
    """platform.getBlockByHeight: an accepted block by its height; the genesis block is at 0."""
    found = accepted.block_at(rpc.chain, height)
    if found is None:
        raise refused(f"couldn't get block at height {height}: {NOT_FOUND}")
    return _to_json(rpc, found, encoding)


def _to_json(rpc: PlatformRpc, found: StoredBlock, encoding: TextEncoding) -> Json:
    """Return a block in the requested encoding; in JSON all its numbers are plain, as in the reference."""
    if encoding is TextEncoding.JSON:
        return {
            "block": render_block(parse_block(found.raw), rpc.address),
            "encoding": encoding.value,
        }
    return {"block": encode(found.raw, encoding), "encoding": encoding.value}
