"""Blocks for requests of peers: many in one call, byte for byte, within limits."""

from typing import Any

import pytest

from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import encode_block
from cchain_app.selectors import pool
from cchain_app.selectors.blocks import RawBlock, raw_blocks
from primitives.evm import Hash
from primitives.hexadecimal import encode_data
from tests.builders.transactions import legacy, signed
from tests.integration.conftest import Chain, Rpc

PLENTY = 10**9


@pytest.fixture
def made(chain: Chain) -> list[RawBlock]:
    """Genesis and three blocks: with two transactions, with none, and with one."""
    blocks = [chain.genesis]
    chain.send(signed(nonce=0), legacy(nonce=1))
    blocks += [chain.mine(), chain.mine()]
    chain.send(signed(nonce=2))
    blocks.append(chain.mine())
    return [
        RawBlock(
            block.number,
            block.hash,
            block.header.parent_hash,
            block.header.timestamp,
            encode_block(block.header, [tx.raw for tx in block.transactions]),
        )
        for block in blocks
    ]


def test_raw_blocks_equal_the_mined_blocks(made: list[RawBlock], rpc: Rpc) -> None:
    assert raw_blocks(evm_chain(), 0, 3, PLENTY) == made
    shown = [rpc("debug_getRawBlock", hex(number)) for number in range(4)]
    assert shown == [encode_data(item.raw) for item in made]


def test_raw_blocks_take_two_statements(
    made: list[RawBlock], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(2):
        raw_blocks(evm_chain(), 0, 3, PLENTY)


def test_raw_blocks_can_be_read_downwards(made: list[RawBlock]) -> None:
    assert raw_blocks(evm_chain(), 3, 1, PLENTY) == made[:0:-1]


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
def test_many_are_read_in_parts(
    made: list[RawBlock], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cchain_app.selectors.blocks.ROWS_AT_ONCE", at_once)
    for first in range(4):
        for last in range(4):
            wanted = made[first : last + 1] if first <= last else made[last : first + 1][::-1]
            assert raw_blocks(evm_chain(), first, last, PLENTY) == wanted


@pytest.mark.parametrize("at_once", [1, 256])
def test_raw_blocks_end_at_the_head(
    made: list[RawBlock], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cchain_app.selectors.blocks.ROWS_AT_ONCE", at_once)
    assert raw_blocks(evm_chain(), 2, 99, PLENTY) == made[2:]
    assert raw_blocks(evm_chain(), 99, 2, PLENTY) == made[:1:-1]
    assert raw_blocks(evm_chain(), 4, 99, PLENTY) == []
    assert raw_blocks(evm_chain(), 99, 4, PLENTY) == []


def test_raw_blocks_end_before_the_byte_limit(made: list[RawBlock]) -> None:
    two = len(made[1].raw) + len(made[2].raw)
    assert raw_blocks(evm_chain(), 1, 3, two) == made[1:3]
    assert raw_blocks(evm_chain(), 1, 3, two - 1) == made[1:2]
    assert raw_blocks(evm_chain(), 3, 1, len(made[3].raw) + len(made[2].raw)) == [made[3], made[2]]


def test_the_first_is_there_however_large(made: list[RawBlock]) -> None:
    assert raw_blocks(evm_chain(), 1, 3, 0) == made[1:2]
    assert raw_blocks(evm_chain(), 3, 1, 0) == made[3:]


def test_waiting_transactions_are_reported_newest_last(chain: Chain) -> None:
    sent = chain.send(*(signed(nonce=nonce) for nonce in (0, 2, 1)))
    assert pool.newest_hashes(evm_chain(), 2) == sent[1:]
    assert pool.newest_hashes(evm_chain(), 9) == sent
    assert pool.newest_hashes(evm_chain(), 0) == []


def test_pending_transactions_are_returned_as_received(chain: Chain) -> None:
    first, second = signed(nonce=0), signed(nonce=5)
    chain.send(first, second)
    unknown = Hash(b"\x99" * 32)
    assert pool.raws_of(evm_chain(), [second.hash, unknown, first.hash]) == {
        first.hash: first.raw, second.hash: second.raw,
    }  # fmt: skip
    chain.mine()
    assert pool.raws_of(evm_chain(), [first.hash]) == {}
