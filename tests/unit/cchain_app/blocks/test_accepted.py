"""A whole block as RLP. Uncles and withdrawals, which only foreign blocks have, are decoded as they were encoded."""

from dataclasses import replace

import pytest
import rlp as library
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.accepted import (
    Withdrawal,
    decode_withdrawals,
    encode_block,
    encode_withdrawal,
    encode_withdrawals,
)
from cchain_app.blocks.candidate import parse_block, parse_foreign_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.header import Header, encode_header
from primitives import rlp
from primitives.evm import ZERO_HASH, Address
from primitives.hashing import EMPTY_ROOT
from tests.builders.accepted import header
from tests.builders.reasons import raises
from tests.builders.roots import fork_module
from tests.builders.transactions import legacy, signed

HEADER = Header(
    parent_hash=ZERO_HASH,
    coinbase=Address(bytes(20)),
    state_root=EMPTY_ROOT,
    transactions_root=EMPTY_ROOT,
    receipts_root=EMPTY_ROOT,
    logs_bloom=bytes(256),
    number=1,
    gas_limit=30_000_000,
    gas_used=0,
    timestamp=1,
    base_fee=7,
    withdrawals_root=EMPTY_ROOT,
)


def test_typed_transactions_are_strings_and_legacy_ones_are_lists():
    typed, old = signed().raw, legacy().raw
    expected = [library.decode(encode_header(HEADER)), [typed, library.decode(old)], [], []]
    assert encode_block(HEADER, [typed, old]) == library.encode(expected)


def test_block_before_shanghai_has_no_withdrawals_list():
    header = replace(HEADER, withdrawals_root=None)
    assert len(library.decode(encode_block(header, []))) == 3


numbers = st.integers(min_value=0, max_value=2**64 - 1)
withdrawals = st.builds(
    Withdrawal, numbers, numbers, st.binary(min_size=20, max_size=20).map(Address), numbers
)

LONDON = replace(
    header(),
    withdrawals_root=None,
    blob_gas_used=None,
    excess_blob_gas=None,
    parent_beacon_block_root=None,
    requests_hash=None,
)


@given(withdrawals)
def test_a_withdrawal_is_encoded_as_the_specification_does(one: Withdrawal) -> None:
    blocks = fork_module("prague", "blocks")
    theirs = blocks.Withdrawal(
        blocks.U64(one.index),
        blocks.U64(one.validator_index),
        blocks.Address(one.address),
        blocks.U256(one.amount),
    )

    assert encode_withdrawal(one) == fork_module("prague", "fork").rlp.encode(theirs)
    assert one.wei == one.amount * 10**9


@given(st.lists(withdrawals, max_size=4))
def test_withdrawals_read_back(some: list[Withdrawal]) -> None:
    payload = rlp.read_only_item(encode_withdrawals(some))

    assert decode_withdrawals(payload) == tuple(some)


@given(st.lists(withdrawals, max_size=3))
def test_foreign_block_round_trips(some: list[Withdrawal]) -> None:
    raw = encode_block(header(), [signed().raw], (), some)

    found = parse_foreign_block(raw)

    assert (found.withdrawals, found.raw) == (tuple(some), raw)
    assert found.transactions == (signed().raw,)


def test_uncles_read_back() -> None:
    uncles = (replace(LONDON, extra_data=b"one"), replace(LONDON, base_fee=None))
    raw = encode_block(LONDON, (), uncles)

    assert parse_foreign_block(raw).ommers == uncles
    with raises(BlockReason.UNCLES_NOT_EMPTY, kind=BlockRefused):
        parse_block(raw)


@pytest.mark.parametrize(
    "raw",
    [
        rlp.encode_list([b"\xc0"]),
        rlp.encode_list([rlp.encode_list([b"\x01"] * 3)]),
        rlp.encode_list([rlp.encode_list([b"\x01", b"\x01", b"\x01", b"\x01"])]),
        rlp.encode_list([b"\x01"]),
    ],
)
def test_block_with_malformed_withdrawal_is_refused(raw: bytes) -> None:
    block = rlp.read_only_item(encode_block(header(), ()))[:-1] + raw
    with raises(BlockReason.BLOCK_ENCODING, kind=BlockRefused):
        parse_foreign_block(rlp.list_prefix(len(block)) + block)


def test_a_block_without_the_list_that_its_header_names_is_refused() -> None:
    block = rlp.read_only_item(encode_block(header(), ()))[:-1]

    with raises(BlockReason.WITHDRAWALS_MISSING, kind=BlockRefused):
        parse_foreign_block(rlp.list_prefix(len(block)) + block)
