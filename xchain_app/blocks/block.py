"""Blocks as values, their conversion from and to bytes, and their JSON form (xchain.md 6, 11).

There is one kind of block. The transactions in it have no codec version of their own; they keep their bytes, so their IDs
are computed without serialising them again. Create blocks with `build_block` or `parse_block`, because `raw` must match
the fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from primitives.codec import DEFAULT_MAX_SIZE, U32, U64, VERSION
from primitives.codec_compiler import reference_name
from primitives.codec_errors import CodecError, CodecReason
from primitives.hashing import sha256
from primitives.ids import EMPTY_ID, ID
from utxo.rendering import Addresses, Json
from xchain_app.config import CORTINA_TIME
from xchain_app.txs.base import AvmTx
from xchain_app.txs.codec import CODEC, TYPES, embed, parse_embedded
from xchain_app.txs.views import render_tx

TYPE_ID: Final = 20
_HEAD: Final = len(VERSION) + 4
"""Bytes of codec version and type ID, before the fields."""
_INTERFACE: Final = "block.Block"


@dataclass(frozen=True)
class AvmBlock:
    """A block; `time` is in Unix seconds, `merkle_root` is zero in valid blocks."""

    raw: bytes
    parent_id: ID
    height: int
    time: int
    merkle_root: ID
    txs: tuple[AvmTx, ...]

    @cached_property
    def block_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(self.raw))


def parse_block(raw: bytes) -> AvmBlock:
    """Parse a block.

    Raises:
        CodecError: The bytes are not a block.
    """
    _verify_head(raw)
    parent_id, offset = CODEC.read(ID, raw, _HEAD)
    height, offset = CODEC.read(U64, raw, offset)
    time, offset = CODEC.read(U64, raw, offset)
    root, offset = CODEC.read(ID, raw, offset)
    count, offset = CODEC.read(U32, raw, offset)
    txs = []
    # the count is untrusted: parsing fails at the end of the bytes
    for _ in range(count):
        tx, offset = parse_embedded(raw, offset)
        txs.append(tx)
    if offset != len(raw):
        raise CodecError(CodecReason.TRAILING_BYTES, read=offset, provided=len(raw))
    return AvmBlock(raw, parent_id, height, time, root, tuple(txs))


def build_block(*, parent_id: ID, height: int, time: int, txs: Sequence[AvmTx]) -> AvmBlock:
    """Create a block."""
    raw = b"".join(
        (
            VERSION,
            CODEC.pack(TYPE_ID, U32),
            parent_id,
            CODEC.pack(height, U64),
            CODEC.pack(time, U64),
            EMPTY_ID,
            CODEC.pack(len(txs), U32),
            *map(embed, txs),
        )
    )
    return AvmBlock(raw, parent_id, height, time, EMPTY_ID, tuple(txs))


def genesis_block(stop_vertex_id: ID, time: int = CORTINA_TIME) -> AvmBlock:
    """Create the block of height 0, whose parent is the last vertex of the chain's graph."""
    return build_block(parent_id=stop_vertex_id, height=0, time=time, txs=())


def render_block(block: AvmBlock, addresses: Addresses) -> Json:
    """Return a block as JSON."""
    return {
        "parentID": str(block.parent_id),
        "height": block.height,
        "time": block.time,
        "merkleRoot": str(block.merkle_root),
        "txs": [render_tx(tx, addresses) for tx in block.txs],
        "id": str(block.block_id),
    }


def _verify_head(raw: bytes) -> None:
    if len(raw) > DEFAULT_MAX_SIZE:
        raise CodecError(CodecReason.INPUT_TOO_LARGE, size=len(raw), limit=DEFAULT_MAX_SIZE)
    version = raw[: len(VERSION)]
    if len(version) < len(VERSION):
        raise CodecError(CodecReason.MISSING_VERSION)
    if version != VERSION:
        raise CodecError(CodecReason.UNKNOWN_VERSION)
    if len(raw) < _HEAD:
        raise CodecError(CodecReason.MISSING_TYPE_ID)
    type_id = int.from_bytes(raw[len(VERSION) : _HEAD], "big")
    if type_id == TYPE_ID:
        return
    if type_id in TYPES:
        raise CodecError(
            CodecReason.WRONG_INTERFACE, type=reference_name(TYPES[type_id]), interface=_INTERFACE
        )
    raise CodecError(CodecReason.UNKNOWN_TYPE_ID, type_id=type_id)
