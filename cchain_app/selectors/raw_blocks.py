"""Accepted blocks as bytes, many at once: what other nodes ask for."""

from typing import NamedTuple

from cchain_app import models
from cchain_app.blocks.block import join_block
from cchain_app.blocks.header import decode_header
from cchain_app.chain import EvmChain
from primitives.evm import Hash


class RawBlock(NamedTuple):
    """A block as it is sent."""

    number: int
    hash: Hash
    parent_hash: Hash
    timestamp: int
    """Unix seconds."""
    raw: bytes
    """The whole block as RLP."""


def raw_blocks(chain: EvmChain, first: int, last: int, max_bytes: int) -> list[RawBlock]:
    """Return the accepted blocks from height `first` to `last`, also downwards, in that order.

    It ends before the blocks together have more than `max_bytes`; the first one is always there, if
    it exists at all. Two statements, however many they are.
    """
    rows = _rows(chain, first, last, max_bytes)
    if not rows:
        return []
    envelopes = _envelopes(chain, min(rows), max(rows))
    found = []
    for number, (block_hash, header) in rows.items():
        read = decode_header(header)
        raw = join_block(
            header, envelopes.get(number, ()), withdrawals=read.withdrawals_root is not None
        )
        found.append(
            RawBlock(number, Hash(block_hash), Hash(read.parent_hash), read.timestamp, raw)
        )
    return found


def _rows(chain: EvmChain, first: int, last: int, max_bytes: int) -> dict[int, tuple[bytes, bytes]]:
    """Return hash and header by height, as many as fit."""
    lowest, highest = sorted((first, last))
    found = chain.db.objects(models.Block).filter(number__gte=lowest, number__lte=highest)
    ordered = found.order_by("number" if first <= last else "-number")
    rows: dict[int, tuple[bytes, bytes]] = {}
    for number, block_hash, header, size in ordered.values_list(
        "number", "hash", "header", "size"
    ).iterator():
        max_bytes -= size
        if max_bytes < 0 and rows:
            break
        rows[number] = bytes(block_hash), bytes(header)
    return rows


def _envelopes(chain: EvmChain, lowest: int, highest: int) -> dict[int, list[bytes]]:
    """Return the signed envelopes of a range of blocks by height."""
    found = chain.db.objects(models.Transaction).filter(
        id__gte=models.row_id(lowest), id__lt=models.row_id(highest + 1)
    )
    by_block: dict[int, list[bytes]] = {}
    for key, raw in found.order_by("id").values_list("id", "raw"):
        by_block.setdefault(models.height_of(key), []).append(bytes(raw))
    return by_block
