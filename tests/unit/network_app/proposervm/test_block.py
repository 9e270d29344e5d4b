"""Encoding and decoding of outer blocks, and bytes that are not blocks."""

from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.proposervm.block import (
    OuterBlock,
    SignedBlock,
    build_option,
    build_unsigned,
    encode_signed,
    parse,
)
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.errors import (
    NotAnOuterBlock,
    OuterBlockError,
    OuterBlockReason,
)
from network_app.proposervm.layout import header, proposer_of, verify_signature
from primitives.codec_errors import CodecError, CodecReason
from primitives.hashing import sha256
from tests.builders.outer_blocks import (
    ALICE,
    BOB,
    CHAIN,
    an_id,
    epochs,
    heights,
    ids,
    inners,
    signed,
    times,
)
from tests.builders.reasons import raises
from tests.searching import cases

unsigned_blocks = st.builds(build_unsigned, ids, times, heights, epochs, inners)
option_blocks = st.builds(build_option, ids, inners)
# not signed again for each example, because signatures are random and need not be valid here
signed_blocks = st.builds(
    partial(encode_signed, certificate=ALICE.certificate),
    ids,
    times,
    heights,
    epochs,
    inners,
    signature=st.binary(min_size=1, max_size=72),
).map(parse)
blocks = unsigned_blocks | option_blocks | signed_blocks


@settings(max_examples=cases(25), deadline=None)
@given(blocks)
def test_a_block_is_read_as_it_was_built(block: OuterBlock) -> None:
    assert parse(block.raw) == block


@settings(max_examples=cases(25), deadline=None)
@given(unsigned_blocks | signed_blocks)
def test_a_block_is_written_from_its_fields_alone(block: OuterBlock) -> None:
    assert isinstance(block, SignedBlock)
    raw = encode_signed(
        block.parent_id,
        block.time,
        block.p_chain_height,
        block.epoch,
        block.inner,
        certificate=block.certificate,
        signature=block.signature,
    )
    assert raw == block.raw


@settings(max_examples=cases(25), deadline=None)
@given(signed_blocks)
def test_block_id_excludes_the_signature(block: OuterBlock) -> None:
    assert isinstance(block, SignedBlock)
    other = block.raw[: -len(block.signature)] + bytes(len(block.signature))

    assert block.outer_id == sha256(block.raw[: -4 - len(block.signature)])
    assert parse(other).outer_id == block.outer_id


@settings(max_examples=cases(20), deadline=None)
@given(option_blocks)
def test_an_options_id_is_of_all_its_bytes(block: OuterBlock) -> None:
    assert block.outer_id == sha256(block.raw)


@settings(max_examples=cases(60), deadline=None)
@given(raw=st.binary(max_size=120), block=blocks, data=st.data())
def test_any_bytes_are_a_block_or_refused(
    raw: bytes, block: OuterBlock, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(block.raw) - 1))
    head, tail = block.raw[:place], block.raw[place:]
    changed = head + bytes([tail[0] ^ data.draw(st.integers(1, 255))]) + tail[1:]
    for strange in (raw, changed, head, head + raw, block.raw[:6] + raw):
        with suppress(OuterBlockError):
            assert parse(strange).raw == strange


@settings(max_examples=cases(25), deadline=None)
@given(blocks, st.data())
def test_truncated_block_is_refused(block: OuterBlock, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(block.raw) - 1))
    with pytest.raises(OuterBlockError) as caught:
        parse(block.raw[:end])
    assert caught.value.reason in {OuterBlockReason.OTHER_LAYOUT, OuterBlockReason.CUT_OFF}


def test_the_reason_is_the_codecs() -> None:
    raw = build_option(an_id("parent"), b"inner").raw
    with raises(
        OuterBlockReason.OTHER_LAYOUT,
        kind=NotAnOuterBlock,
        match=r"^packer has insufficient length",
    ) as caught:
        parse(raw[:-1])
    cause = caught.value.values["cause"]
    assert isinstance(cause, CodecError)
    assert cause.reason is CodecReason.INPUT_TOO_SHORT
    with raises(
        OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock, match=r"trailing buffer space"
    ) as caught:
        parse(raw + b"!")
    cause = caught.value.values["cause"]
    assert isinstance(cause, CodecError)
    assert cause.reason is CodecReason.TRAILING_BYTES
    with raises(
        OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock, match=r"unknown type ID 3$"
    ) as caught:
        parse(raw[:5] + b"\x03" + raw[6:])
    cause = caught.value.values["cause"]
    assert isinstance(cause, CodecError)
    assert cause.reason is CodecReason.UNKNOWN_TYPE_ID


@given(signed_blocks | unsigned_blocks)
@settings(max_examples=cases(25), deadline=None)
def test_block_without_its_signature_is_reported_as_cut_off(
    block: SignedBlock,
) -> None:
    cut = block.raw[: -4 - len(block.signature)]
    assert sha256(cut) == block.outer_id
    with raises(
        OuterBlockReason.CUT_OFF, kind=OuterBlockError, match=r"^the signature's field is cut off$"
    ):
        parse(cut)
    with raises(OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock):
        parse(cut[:-1])


def test_bare_genesis_blocks_are_not_outer_blocks() -> None:
    p_chain = bytes.fromhex("000000000002") + bytes(32) + bytes(8)  # ApricotCommitBlock
    for raw in (p_chain, b"\xf9\x02\x00" + bytes(512)):
        with raises(OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock):
            parse(raw)


def test_signature_without_certificate_is_refused() -> None:
    head = (an_id("parent"), 5, 6, None, b"inner")
    with raises(
        OuterBlockReason.MISSING_SIGNATURE,
        kind=OuterBlockError,
        match=r"^no signature provided when one was expected$",
    ):
        parse(encode_signed(*head, certificate=ALICE.certificate))
    with raises(
        OuterBlockReason.UNEXPECTED_SIGNATURE,
        kind=OuterBlockError,
        match=r"^signature provided when none was expected$",
    ):
        parse(encode_signed(*head, signature=b"!"))


def test_malformed_certificate_is_refused() -> None:
    raw = encode_signed(an_id("parent"), 5, 6, None, b"inner", certificate=b"x", signature=b"y")
    with raises(
        OuterBlockReason.INVALID_CERTIFICATE,
        kind=OuterBlockError,
        match=r"^invalid certificate: malformed certificate$",
    ):
        parse(raw)


def test_zero_epoch_is_refused() -> None:
    with raises(
        OuterBlockReason.ZERO_EPOCH, kind=OuterBlockError, match=r"^epoch must not be zero$"
    ):
        parse(encode_signed(an_id("parent"), 5, 6, Epoch(0, 0, 0), b"inner"))
    assert parse(encode_signed(an_id("parent"), 5, 6, Epoch(0, 0, -1), b"inner")).kind == 2


@pytest.mark.parametrize(
    ("p_chain_height", "epoch"),
    [(2**63, None), (2**63, Epoch(1, 1, 1)), (1, Epoch(2**63, 1, 1)), (1, Epoch(1, 2**63, 1))],
)
def test_heights_have_63_bits(p_chain_height: int, epoch: Epoch | None) -> None:
    raw = encode_signed(an_id("parent"), 5, p_chain_height, epoch, b"inner")
    with raises(
        OuterBlockReason.HEIGHT_TOO_LARGE,
        kind=OuterBlockError,
        match=f"^height of more than 63 bits: {2**63}$",
    ):
        parse(raw)


def test_value_out_of_range_is_not_encoded() -> None:
    with raises(CodecReason.UNENCODABLE_VALUE, kind=CodecError):
        build_unsigned(an_id("parent"), 2**63, 1, None, b"inner")


def test_a_block_names_its_type() -> None:
    assert build_unsigned(an_id("parent"), 5, 6, None, b"").kind == 0
    assert build_option(an_id("parent"), b"").kind == 1
    assert build_unsigned(an_id("parent"), 5, 6, Epoch(1, 1, 1), b"").kind == 2


def test_proposers_are_remembered_in_bounds() -> None:
    proposer_of.cache_clear()
    for block in (signed(), signed(BOB), signed()):
        assert isinstance(parse(block.raw), SignedBlock)

    info = proposer_of.cache_info()
    assert (info.misses, info.currsize) == (2, 2)
    assert info.maxsize is not None


def test_a_signed_block_is_read_as_it_was_built() -> None:
    block = signed()

    assert parse(block.raw) == block
    assert block.proposer == ALICE.node_id


def test_a_signature_is_over_chain_parent_and_block() -> None:
    block = signed()

    assert header(CHAIN, block.parent_id, block.outer_id) == (
        b"\0\0" + CHAIN + block.parent_id + block.outer_id
    )
    message = header(CHAIN, block.parent_id, block.outer_id)
    assert len(message) == 98
    verify_signature(block.certificate, message, block.signature)
