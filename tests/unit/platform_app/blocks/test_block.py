"""Encoding and decoding of blocks, and values derived from them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.blocks.block import (
    BLOCK_TYPES,
    AbortBlock,
    ApricotCommitBlock,
    BanffAbortBlock,
    BanffCommitBlock,
    BanffProposalBlock,
    BanffStandardBlock,
    Block,
    CommitBlock,
    OptionBlock,
    ProposalBlock,
    StandardBlock,
    build_options,
    build_proposal,
    build_standard,
    genesis_block,
    parse_block,
    render_block,
)
from platform_app.txs.base import Tx
from platform_app.txs.render import render_tx
from platform_app.txs.staking import RewardValidatorTx
from primitives.codec_errors import CodecError, CodecReason
from primitives.hashing import sha256
from tests.builders.platform import NOW, signed, some_id
from tests.builders.platform_strategies import transactions
from tests.builders.reasons import raises

TOO_SHORT = {
    CodecReason.INPUT_TOO_SHORT,
    CodecReason.MISSING_TYPE_ID,
    CodecReason.MISSING_VERSION,
}
PARENT = some_id("parent")
TX = signed()
STANDARD = build_standard(parent_id=PARENT, height=7, time=NOW, txs=[TX, TX])
PROPOSAL = build_proposal(
    parent_id=PARENT, height=7, time=NOW, proposal=signed(RewardValidatorTx), txs=[TX]
)


def as_type(block: Block, type_id: int) -> bytes:
    return block.raw[:2] + type_id.to_bytes(4, "big") + block.raw[6:]


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.lists(transactions(), max_size=4))
def test_standard_block_round_trips(height: int, time: int, txs: list[Tx]) -> None:
    block = build_standard(parent_id=PARENT, height=height, time=time, txs=txs)

    read = parse_block(block.raw)

    assert read == block
    assert (read.parent_id, read.height, read.time) == (PARENT, height, time)
    assert [tx.raw for tx in read.txs] == [tx.raw for tx in txs]
    assert read.block_id == sha256(block.raw)


@settings(deadline=None)
@given(transactions(), st.lists(transactions(), max_size=3))
def test_proposal_block_round_trips(proposal: Tx, txs: list[Tx]) -> None:
    block = build_proposal(parent_id=PARENT, height=1, time=2, proposal=proposal, txs=txs)

    read = parse_block(block.raw)

    assert isinstance(read, BanffProposalBlock)
    assert read == block
    assert read.proposal == proposal


def test_a_proposal_has_two_children_at_its_own_time() -> None:
    commit, abort = build_options(PROPOSAL)

    for child, cls in ((commit, BanffCommitBlock), (abort, BanffAbortBlock)):
        assert type(child) is cls
        assert child.parent_id == PROPOSAL.block_id
        assert child.height == PROPOSAL.height + 1
        assert child.time == PROPOSAL.time
        assert child.txs == ()
        assert parse_block(child.raw) == child
    assert commit.block_id != abort.block_id


def test_the_genesis_block_is_a_commit_block_at_height_zero() -> None:
    block = genesis_block(b"genesis")

    assert isinstance(block, ApricotCommitBlock)
    assert block.parent_id == sha256(b"genesis")
    assert block.height == 0
    assert block.time is None
    assert block.raw == bytes.fromhex("000000000002") + sha256(b"genesis") + bytes(8)
    assert parse_block(block.raw) == block


@pytest.mark.parametrize(
    ("role", "type_ids"),
    [
        (StandardBlock, {3, 32}),
        (ProposalBlock, {0, 29}),
        (CommitBlock, {2, 31}),
        (AbortBlock, {1, 30}),
        (OptionBlock, {1, 2, 30, 31}),
        (Block, {0, 1, 2, 3, 4, 29, 30, 31, 32}),
    ],
)
def test_each_type_has_its_role(role: type[Block], type_ids: set[int]) -> None:
    found = {type_id for type_id, cls in BLOCK_TYPES.items() if issubclass(cls, role)}

    assert found == type_ids


@pytest.mark.parametrize("block", [STANDARD, PROPOSAL], ids=["standard", "proposal"])
def test_a_block_that_ends_early_is_refused(block: Block) -> None:
    for size in range(len(block.raw)):
        with pytest.raises(CodecError) as refused:
            parse_block(block.raw[:size])
        assert refused.value.reason in TOO_SHORT


def test_bytes_behind_a_block_are_refused() -> None:
    size = len(STANDARD.raw)

    with raises(
        CodecReason.TRAILING_BYTES,
        kind=CodecError,
        match=f"^trailing buffer space: read {size} provided",
    ):
        parse_block(STANDARD.raw + b"\0")


def test_another_version_is_refused() -> None:
    with raises(CodecReason.UNKNOWN_VERSION, kind=CodecError, match=r"^unknown codec version$"):
        parse_block(b"\0\1" + STANDARD.raw[2:])


def test_transaction_is_not_parsed_as_a_block() -> None:
    with raises(
        CodecReason.WRONG_INTERFACE,
        kind=CodecError,
        match=r"BaseTx does not implement interface Block$",
    ):
        parse_block(TX.raw)


def test_a_number_without_type_is_refused() -> None:
    with raises(
        CodecReason.UNKNOWN_TYPE_ID,
        kind=CodecError,
        match=r"^couldn't unmarshal interface: unknown type ID 99$",
    ):
        parse_block(as_type(STANDARD, 99))


def test_a_block_within_a_block_is_refused() -> None:
    count = b"\0\0\0\1"
    inner = STANDARD.raw[2:]
    head = build_standard(parent_id=PARENT, height=7, time=NOW, txs=[]).raw[:-4]

    with raises(
        CodecReason.WRONG_INTERFACE,
        kind=CodecError,
        match=r"does not implement interface UnsignedTx$",
    ):
        parse_block(head + count + inner)


def test_a_count_of_four_billion_transactions_is_not_believed() -> None:
    head = build_standard(parent_id=PARENT, height=7, time=NOW, txs=[]).raw[:-4]

    with raises(CodecReason.MISSING_TYPE_ID, kind=CodecError):
        parse_block(head + b"\xff" * 4 + TX.raw[2:])


def test_more_than_a_quarter_of_a_mebibyte_is_refused() -> None:
    with raises(
        CodecReason.INPUT_TOO_LARGE,
        kind=CodecError,
        match=r"^byte array exceeds maximum length: 262145 > 262144$",
    ):
        parse_block(bytes(262_145))


@settings(deadline=None)
@given(st.data())
def test_garbled_blocks_are_read_as_something_or_refused(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from([STANDARD.raw, PROPOSAL.raw])))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    try:
        block = parse_block(bytes(raw))
    except CodecError:
        return
    assert block.block_id == sha256(bytes(raw))


def test_a_standard_block_is_shown_with_its_transactions() -> None:
    shown = render_block(STANDARD, str)

    assert list(shown) == ["time", "parentID", "height", "id", "txs"]
    assert shown["txs"] == [render_tx(TX, str)] * 2
    assert (shown["time"], shown["height"], shown["id"]) == (NOW, 7, str(STANDARD.block_id))


def test_a_proposal_block_is_shown_with_decisions_and_proposal() -> None:
    shown = render_block(PROPOSAL, str)

    assert list(shown) == ["time", "txs", "parentID", "height", "id", "tx"]
    assert PROPOSAL.proposal
    assert shown["tx"]["id"] == str(PROPOSAL.proposal.tx_id)
    assert [tx["id"] for tx in shown["txs"]] == [str(TX.tx_id)]


def test_the_genesis_block_is_shown_without_time() -> None:
    assert list(render_block(genesis_block(b""), str)) == ["parentID", "height", "id"]


def test_blocks_that_are_built_are_standard_and_proposal() -> None:
    assert type(STANDARD) is BanffStandardBlock
    assert STANDARD.txs == (TX, TX)
    assert STANDARD.proposal is None
