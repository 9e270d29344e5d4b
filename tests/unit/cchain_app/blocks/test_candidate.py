"""Blocks from other nodes are decoded as they were encoded, or rejected with a reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import rlp as library
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.accepted import encode_block
from cchain_app.blocks.candidate import (
    MAX_BYTES,
    MIN_GAS,
    MIN_TRANSACTION,
    CandidateBlock,
    CandidateHeader,
    parse_block,
    parse_header,
)
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused
from cchain_app.blocks.header import Header, encode_header
from cchain_app.txs.transaction import Transaction, TransactionReason
from chainvm.errors import InvalidBlock
from primitives import rlp
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data
from tests.builders.accepted import header
from tests.builders.reasons import raises, reason_of
from tests.builders.transactions import legacy, signed

HEADER = header()
LONDON = replace(
    HEADER,
    withdrawals_root=None,
    blob_gas_used=None,
    excess_blob_gas=None,
    parent_beacon_block_root=None,
    requests_hash=None,
)


def fields(of: Header = HEADER) -> Any:
    return library.decode(encode_header(of))


def body(*parts: Any) -> bytes:
    return bytes(library.encode(list(parts)))


@pytest.mark.parametrize("of", [HEADER, LONDON], ids=["prague", "london"])
def test_a_block_reads_back_as_it_was_written(of: Header) -> None:
    envelopes = (signed().raw, legacy(nonce=1).raw)
    raw = encode_block(of, envelopes)
    assert parse_block(raw) == CandidateBlock(of, envelopes, keccak256(encode_header(of)), raw)


@given(
    st.lists(st.integers(min_value=0, max_value=2**256 - 1), max_size=4),
    st.binary(max_size=40),
    st.sampled_from([signed, legacy]),
)
def test_any_block_reads_back_as_it_was_written(
    values: list[int], extra_data: bytes, sign: Callable[..., Transaction]
) -> None:
    made = replace(HEADER, extra_data=extra_data)
    envelopes = tuple(sign(value=value).raw for value in values[:2])
    read = parse_block(encode_block(made, envelopes))
    assert (read.header, read.transactions, read.hash) == (made, envelopes, made.hash)
    assert encode_block(read.header, read.transactions) == read.raw


@pytest.mark.parametrize(
    ("raw", "reason", "words"),
    [
        (b"", BlockReason.BLOCK_ENCODING, "rlp: value size exceeds available input length for types.Block"),
        (b"\x80", BlockReason.BLOCK_ENCODING, "rlp: expected input list for types.Block"),
        (b"\xc0", BlockReason.BLOCK_ENCODING, "rlp: element is larger than containing list for types.Block"),
        (body(fields()), BlockReason.BLOCK_ENCODING, "rlp: too few elements for types.Block"),
        (body(fields(), [], [], [], []), BlockReason.BLOCK_ENCODING,
         "rlp: input list has too many elements for types.Block"),
        (body(fields(), b"", [], []), BlockReason.BLOCK_ENCODING,
         "rlp: expected input list for types.Block"),
        (body(fields(), [], b"", []), BlockReason.BLOCK_ENCODING,
         "rlp: expected input list for types.Block"),
        (body(fields(), [], [], []) + b"\x00", BlockReason.BLOCK_ENCODING,
         "rlp: input contains more than one value for types.Block"),
        (body(b"header", [], [], []), BlockReason.BLOCK_ENCODING,
         "rlp: expected input list for types.Header"),
        (body(fields()[:14], [], [], []), BlockReason.BLOCK_ENCODING,
         "rlp: too few elements for types.Header"),
        (body(fields(), [], [fields()], []), BlockReason.UNCLES_NOT_EMPTY, "uncles not allowed"),
        (body(fields(), [], [], [b"\x01"]), BlockReason.WITHDRAWALS_NOT_EMPTY, "withdrawals not allowed"),
        (body(fields(), [], []), BlockReason.WITHDRAWALS_MISSING, "missing withdrawals in block body"),
        (body(fields(LONDON), [], [], []), BlockReason.WITHDRAWALS_UNEXPECTED,
         "withdrawals present in block body"),
        (body(fields(), [legacy().raw], [], []), TransactionRefused,
         "transaction 0: transaction type not supported"),
    ],
)  # fmt: skip
def test_malformed_block_is_refused(raw: bytes, reason: BlockReason | type, words: str) -> None:
    with pytest.raises(InvalidBlock) as caught:
        parse_block(raw)
    assert reason_of(caught.value) is reason
    assert str(caught.value) == words


@pytest.fixture
def few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on reading more items than a small block has, because no code may iterate over a large one."""
    read, items = rlp.read_item, iter(range(100))

    def counted(*given: Any) -> Any:
        assert next(items, None) is not None
        return read(*given)

    monkeypatch.setattr(rlp, "read_item", counted)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([fields(), [b"\x01"] * 10_000, [], []], BlockReason.TRANSACTION_TOO_SHORT),
        ([fields(replace(HEADER, gas_limit=3 * MIN_GAS)), [b"\x02" * 50] * 10_000, [], []],
         BlockReason.TOO_MANY_TRANSACTIONS),
        ([[b"\x01"] * 10_000, [], [], []], BlockReason.BLOCK_ENCODING),
        ([fields(), *[[]] * 10_000], BlockReason.BLOCK_ENCODING),
    ],
    ids=["short transactions", "many transactions", "long header", "many lists"],
)  # fmt: skip
def test_a_bomb_is_refused_at_its_first_items(
    few_items: None, parts: list[Any], reason: BlockReason
) -> None:
    with raises(reason, kind=BlockRefused):
        parse_block(body(*parts))


def test_malformed_transaction_of_a_block_is_named() -> None:
    with raises(BlockReason.TRANSACTION_TOO_SHORT, kind=BlockRefused) as short:
        parse_block(body(fields(), [signed().raw, b"\x01"], [], []))
    assert str(short.value) == "transaction 1 has 1 bytes, fewer than any transaction"
    assert short.value.values == {"index": 1, "size": 1}
    one = replace(HEADER, gas_limit=MIN_GAS)
    assert len(parse_block(encode_block(one, [signed().raw])).transactions) == 1
    with raises(BlockReason.TOO_MANY_TRANSACTIONS, kind=BlockRefused) as many:
        parse_block(encode_block(one, [signed().raw] * 2))
    assert str(many.value) == "more than 1 transactions, more than the block's gas allows"
    assert many.value.values == {"most": 1}


def test_the_shortest_transaction_is_long_enough() -> None:
    shortest = bytes(library.encode([b"", b"", (21_000).to_bytes(2, "big"), *[b""] * 6]))
    assert len(shortest) == MIN_TRANSACTION
    assert parse_block(encode_block(HEADER, [shortest])).transactions == (shortest,)


def test_a_header_is_read_alone(few_items: None) -> None:
    raw = body(fields(), [b"\x01"] * 10_000, [], [])
    assert parse_header(raw) == CandidateHeader(HEADER, HEADER.hash)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (bytes(MAX_BYTES + 1), BlockReason.BLOCK_TOO_LARGE),
        (body(), BlockReason.BLOCK_ENCODING),
        (body(b"header"), BlockReason.BLOCK_ENCODING),
        (body(fields()) + b"\x00", BlockReason.BLOCK_ENCODING),
    ],
)
def test_header_of_malformed_block_is_refused(raw: bytes, reason: BlockReason) -> None:
    with raises(reason, kind=BlockRefused):
        parse_header(raw)


def test_a_legacy_transaction_in_a_string_is_another_block_with_the_same_hash() -> None:
    first = signed().raw
    raw = body(fields(), [first, legacy().raw], [], [])
    with pytest.raises(TransactionRefused, match=r"^transaction 1: ") as caught:
        parse_block(raw)
    assert caught.value.__cause__.reason is TransactionReason.TYPE_NOT_SUPPORTED


def test_a_block_is_not_larger_than_a_message_between_nodes() -> None:
    raw = bytes(MAX_BYTES + 1)
    with raises(BlockReason.BLOCK_TOO_LARGE, kind=BlockRefused) as caught:
        parse_block(raw)
    assert str(caught.value) == "block too large: 2097153 bytes, at most 2097152"
    assert caught.value.values == {"size": 2_097_153, "most": 2_097_152}


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_an_error_of_blocks(raw: bytes) -> None:
    with pytest.raises(InvalidBlock):
        parse_block(raw)


@given(st.data())
def test_a_changed_byte_gives_another_block_or_none(data: st.DataObject) -> None:
    raw = encode_block(HEADER, (signed().raw,))
    place = data.draw(st.integers(min_value=0, max_value=len(raw) - 1))
    changed = bytearray(raw)
    changed[place] ^= data.draw(st.integers(min_value=1, max_value=255))
    try:
        read = parse_block(bytes(changed))
    except InvalidBlock:
        return
    assert encode_block(read.header, read.transactions) == bytes(changed)
    assert (read.hash, read.transactions) != (HEADER.hash, (signed().raw,)), encode_data(read.hash)
