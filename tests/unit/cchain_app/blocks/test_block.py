"""A whole block as RLP."""

from dataclasses import replace

import rlp as library

from cchain_app.blocks.accepted import encode_block
from cchain_app.blocks.header import Header, encode_header
from primitives.evm import ZERO_HASH, Address
from primitives.hashing import EMPTY_ROOT
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


def test_before_shanghai_there_is_no_list_of_withdrawals():
    header = replace(HEADER, withdrawals_root=None)
    assert len(library.decode(encode_block(header, []))) == 3
