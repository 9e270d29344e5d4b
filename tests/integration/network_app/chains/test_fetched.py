"""Blocks fetched during bootstrapping: kept until they are executed, also across a restart."""

import pytest

from network_app.models import FetchedBlock
from network_app.ports import BlockRef, ParsedBlock
from primitives.hashing import sha256
from primitives.ids import ID
from tests.integration.network_app.world import Chains, World


def block_id(height: int, branch: str = "") -> ID:
    return ID(sha256(f"{height} {branch}".encode()))


def block(height: int, branch: str = "", parent: str = "") -> ParsedBlock:
    raw = f"block {height} {branch}".encode()
    return ParsedBlock(
        block_id(height, branch), block_id(height - 1, parent), height, raw, needs_option=False
    )


@pytest.fixture
def node(world: World) -> Chains:
    return world.maker


def test_nothing_is_kept_at_first(node: Chains) -> None:
    for chain in node:
        assert chain.fetched(0, 10) == []
        assert chain.fetched_extent() is None
        chain.keep_fetched([])
        chain.forget_fetched()


def test_fetched_blocks_are_stored_downwards_and_read_upwards(node: Chains) -> None:
    node.c.keep_fetched([block(6), block(5)])
    node.c.keep_fetched([block(4), block(3)])

    assert node.c.fetched(0, 10) == [block(height).raw for height in (3, 4, 5, 6)]
    assert node.c.fetched(4, 10) == [block(5).raw, block(6).raw]
    assert node.c.fetched(2, 2) == [block(3).raw, block(4).raw]
    assert node.c.fetched(6, 10) == []
    assert node.c.fetched_extent() == (BlockRef(3, block_id(3)), block_id(2))


def test_reading_fetched_blocks_stops_at_a_gap(node: Chains) -> None:
    node.c.keep_fetched([block(2), block(3), block(5), block(6)])

    assert node.c.fetched(0, 10) == [block(2).raw, block(3).raw]
    assert node.c.fetched(3, 10) == [block(5).raw, block(6).raw]


def test_reading_fetched_blocks_stops_at_a_broken_link(node: Chains) -> None:
    node.c.keep_fetched([block(2), block(3), block(4, "other", "other"), block(5, parent="other")])

    assert node.c.fetched(0, 10) == [block(2).raw, block(3).raw]
    assert node.c.fetched(3, 10) == [block(4, "other").raw, block(5).raw]


def test_later_block_replaces_an_earlier_one(node: Chains) -> None:
    node.c.keep_fetched([block(2), block(3)])
    node.c.keep_fetched([block(3, "other"), block(4, parent="other")])

    assert node.c.fetched(0, 10) == [block(2).raw, block(3, "other").raw, block(4).raw]
    assert FetchedBlock.objects.count() == 3


def test_fetched_blocks_are_separate_per_chain(node: Chains) -> None:
    node.c.keep_fetched([block(2, "c")])
    node.p.keep_fetched([block(2, "p"), block(3, "p", "p")])

    assert node.c.fetched(0, 10) == [block(2, "c").raw]
    assert node.p.fetched(0, 10) == [block(2, "p").raw, block(3, "p").raw]
    node.p.forget_fetched()
    assert node.p.fetched_extent() is None
    assert node.c.fetched_extent() == (BlockRef(2, block_id(2, "c")), block_id(1))


def test_fetched_blocks_are_deleted_up_to_a_height(node: Chains) -> None:
    node.c.keep_fetched([block(height) for height in range(1, 6)])

    node.c.forget_fetched(3)
    assert node.c.fetched(0, 10) == [block(4).raw, block(5).raw]
    node.c.forget_fetched(2)
    assert node.c.fetched_extent() == (BlockRef(4, block_id(4)), block_id(3))
    node.c.forget_fetched(5)
    assert FetchedBlock.objects.count() == 0


def test_their_bytes_are_counted_for_each_chain(node: Chains) -> None:
    assert node.c.fetched_bytes() == 0
    node.c.keep_fetched([block(height) for height in range(1, 6)])
    node.p.keep_fetched([block(3)._replace(raw=bytes(70_000))])

    assert node.c.fetched_bytes() == 5 * len("block 1 ")
    assert node.p.fetched_bytes() == 70_000
    node.c.keep_fetched([block(5, "other")])
    assert node.c.fetched_bytes() == 5 * len("block 1 ") + len("other")
    node.c.forget_fetched(3)
    assert node.c.fetched_bytes() == 2 * len("block 1 ") + len("other")
    node.p.forget_fetched()
    assert node.p.fetched_bytes() == 0


def test_large_fetched_block_round_trips(node: Chains) -> None:
    large = block(1)._replace(raw=bytes(range(256)) * 8_000)
    node.c.keep_fetched([large])

    assert node.c.fetched(0, 1) == [large.raw]
