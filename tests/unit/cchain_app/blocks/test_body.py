"""Uncles and withdrawals are decoded as they were encoded; only foreign blocks have them."""

from dataclasses import replace

import pytest
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
from primitives import rlp
from primitives.evm import Address
from tests.builders.accepted import header
from tests.builders.reasons import raises
from tests.builders.roots import fork_module
from tests.builders.transactions import signed

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
def test_a_block_of_others_reads_back(some: list[Withdrawal]) -> None:
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
def test_what_is_no_withdrawal_is_no_block(raw: bytes) -> None:
    block = rlp.read_only_item(encode_block(header(), ()))[:-1] + raw
    with raises(BlockReason.BLOCK_ENCODING, kind=BlockRefused):
        parse_foreign_block(rlp.list_prefix(len(block)) + block)


def test_a_block_without_the_list_that_its_header_names_is_refused() -> None:
    block = rlp.read_only_item(encode_block(header(), ()))[:-1]

    with raises(BlockReason.WITHDRAWALS_MISSING, kind=BlockRefused):
        parse_foreign_block(rlp.list_prefix(len(block)) + block)
