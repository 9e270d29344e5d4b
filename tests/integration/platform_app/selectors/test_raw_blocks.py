"""Accepted blocks as served to peers: ascending or descending, by height, and limited by size."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from platform_app.apps import platform_chain
from platform_app.blocks.block import Block
from platform_app.selectors import accepted as selector
from platform_app.selectors.accepted import RawPlatformBlock, raw_blocks
from platform_app.state.stakers import Priority
from tests.builders import platform
from tests.builders.platform_rows import accept, adding, adding_tx, begin, reward

pytestmark = pytest.mark.django_db

PLENTY = 1 << 30


@pytest.fixture
def chain() -> list[Block]:
    """A genesis, a block, a proposal with its option, and another block."""
    staker, add = adding(Priority.PRIMARY_VALIDATOR_CURRENT, end=platform.NOW + 99)
    first = begin(add)
    transfer = accept(adding_tx(platform.signed(memo=b"one")))
    proposal, option = reward(staker)
    last = accept(adding_tx(platform.signed(memo=b"two")))
    return [first, transfer, proposal, option, last]


def shown(blocks: list[RawPlatformBlock]) -> list[int]:
    return [block.height for block in blocks]


def test_raw_blocks_equal_the_accepted_blocks(chain: list[Block]) -> None:
    found = raw_blocks(platform_chain(), 0, 4, PLENTY)

    assert [item.raw for item in found] == [block.raw for block in chain]
    assert [(element.height, element.block_id, element.parent_id) for element in found] == [
        (block.height, block.block_id, block.parent_id) for block in chain
    ]
    assert [entry.is_option for entry in found] == [False, False, False, True, False]
    assert [other.time for other in found] == [
        platform.NOW, platform.NOW + 1, platform.NOW + 99, platform.NOW + 99, platform.NOW + 100,
    ]  # fmt: skip


def test_raw_blocks_can_be_read_in_both_directions(chain: list[Block]) -> None:
    assert shown(raw_blocks(platform_chain(), 1, 3, PLENTY)) == [1, 2, 3]
    assert shown(raw_blocks(platform_chain(), 3, 1, PLENTY)) == [3, 2, 1]
    assert shown(raw_blocks(platform_chain(), 2, 2, PLENTY)) == [2]


def test_heights_that_there_are_not_are_left_out(chain: list[Block]) -> None:
    assert shown(raw_blocks(platform_chain(), 3, 1 << 64, PLENTY)) == [3, 4]
    assert shown(raw_blocks(platform_chain(), 1, -5, PLENTY)) == [1, 0]
    assert raw_blocks(platform_chain(), 5, 9, PLENTY) == []


def test_raw_blocks_end_before_the_byte_limit(chain: list[Block]) -> None:
    sizes = [len(block.raw) for block in chain]

    assert shown(raw_blocks(platform_chain(), 1, 4, sizes[1] + sizes[2])) == [1, 2]
    assert shown(raw_blocks(platform_chain(), 1, 4, sizes[1] + sizes[2] - 1)) == [1]
    assert shown(raw_blocks(platform_chain(), 4, 0, sizes[4] + sizes[3])) == [4, 3]
    assert shown(raw_blocks(platform_chain(), 1, 4, 0)) == [1]


def test_many_are_two_statements_and_not_too_many(
    chain: list[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selector, "MAX_BLOCKS", 3)

    with CaptureQueriesContext(connection) as asked:
        assert shown(raw_blocks(platform_chain(), 0, 4, PLENTY)) == [0, 1, 2]
    assert len(asked) == 2
