"""Blocks: bytes and IDs of the reference implementation."""

from typing import Any

import pytest

from platform_app.blocks.block import (
    BLOCK_TYPES,
    ApricotAtomicBlock,
    BanffProposalBlock,
    BanffStandardBlock,
    Block,
    build_proposal,
    build_standard,
    parse_block,
    render_block,
)
from platform_app.txs.base import Tx
from tests.conformance.pchain_vectors import cases
from tests.conformance.platform_app.views import view


@pytest.mark.parametrize("case", cases("blocks"))
def test_blocks_are_read(case: dict[str, Any]) -> None:
    block = parse_block(bytes.fromhex(case["bytes"]))

    assert shown(block) == case["fields"]
    assert str(block.block_id) == case["blockID"]


@pytest.mark.parametrize("case", cases("blocks", txIDs=...))
def test_transactions_within_blocks_keep_their_ids(case: dict[str, Any]) -> None:
    block = parse_block(bytes.fromhex(case["bytes"]))
    txs = (*block.txs, *([block.proposal] if block.proposal else []))

    assert [str(tx.tx_id) for tx in txs] == case["txIDs"]


@pytest.mark.parametrize("case", cases("blocks"))
def test_banff_blocks_are_written(case: dict[str, Any]) -> None:
    block = parse_block(bytes.fromhex(case["bytes"]))
    place: dict[str, Any] = {
        "parent_id": block.parent_id,
        "height": block.height,
        "time": block.time,
        "txs": block.txs,
    }

    if isinstance(block, BanffProposalBlock):
        assert block.proposal
        assert build_proposal(**place, proposal=block.proposal) == block
    elif isinstance(block, BanffStandardBlock):
        assert build_standard(**place) == block
    else:
        assert case["fields"]["_typeID"] == block.TYPE_ID


@pytest.mark.parametrize("case", cases("blocks"))
def test_blocks_are_shown_as_json(case: dict[str, Any]) -> None:
    rendered = render_block(parse_block(bytes.fromhex(case["bytes"])), str)

    assert rendered["id"] == case["blockID"]
    names = set(case["fields"]) - {"_typeID", "_type"} | {"id"}
    assert set(rendered) == names
    for name in names - {"txs", "tx", "id"}:
        assert rendered[name] == case["fields"][name]


def shown(block: Block) -> dict[str, Any]:
    """Return a block in the format of the vectors."""
    assert BLOCK_TYPES[block.TYPE_ID] is type(block)
    fields: dict[str, Any] = {
        "_typeID": block.TYPE_ID,
        "_type": type(block).__name__,
        "parentID": str(block.parent_id),
        "height": block.height,
    }
    if block.time is not None:
        fields["time"] = block.time
    if "txs" in block.LAYOUT:
        fields["txs"] = [shown_tx(tx) for tx in block.txs]
    if isinstance(block, ApricotAtomicBlock):
        fields["tx"] = shown_tx(block.tx)
    if block.proposal is not None:
        fields["tx"] = shown_tx(block.proposal)
    return fields


def shown_tx(tx: Tx) -> dict[str, Any]:
    """Return a transaction in the format of the vectors."""
    return {
        "unsignedTx": view(tx.unsigned, is_interface=True),
        "credentials": view(tx.credentials, is_interface=True),
    }
