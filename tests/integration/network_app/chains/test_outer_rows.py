"""Rows of outer blocks: read back as written, stored without the inner block, and known to later readers."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from chaindb.database import Database
from network_app.chains.outer_blocks import OuterRows
from network_app.models import Certificate, OuterBlock
from network_app.proposervm.block import OuterOptionBlock, parse
from network_app.proposervm.verification import InnerContext, ParentContext, follow, of_genesis
from primitives.ids import ID
from tests.integration.network_app.world import Past, World, raws


@pytest.fixture
def made(world: World) -> Past:
    """A history built by this node."""
    world.make_history()
    return Past(raws(world.maker.p), raws(world.maker.c))


def rows_of(world: World) -> list[OuterRows]:
    """Return both chains' rows, as a newly started process reads them."""
    return [OuterRows(Database(), item.alias, item.rows.blocks) for item in world.maker]


def facts_after(rows: OuterRows, blocks: list[bytes]) -> list[ParentContext]:
    """Return the parent data for a child of genesis and of each block, as a follower computes it."""
    found = [of_genesis(rows.genesis.block_id, rows.genesis.time)]
    for raw in blocks:
        outer, last = parse(raw), found[-1]
        (inner,) = rows.blocks(last.height + 1, last.height + 1, 1)
        facts = InnerContext(inner.block_id, last.inner_id, inner.height)
        found.append(follow(last, outer, facts))
    return found


def test_last_outer_block_is_read_after_acceptance(world: World, made: Past) -> None:
    for rows, blocks in zip(rows_of(world), made, strict=True):
        after = facts_after(rows, blocks)
        for height in range(len(blocks), -1, -1):
            assert rows.last() == after[height]
            assert rows.tip().height == height
            assert rows.tip().block_id == after[height].outer_id
            OuterBlock.objects.filter(chain=rows.alias, height=height).delete()


def test_stored_outer_blocks_equal_the_written_ones(world: World, made: Past) -> None:
    for rows, blocks in zip(rows_of(world), made, strict=True):
        for height, raw in enumerate(blocks, 1):
            block_id = parse(raw).outer_id
            assert rows.raw(block_id) == raw
            assert rows.id_at(height) == block_id
        assert rows.raw(rows.genesis.block_id) is None
        assert rows.raw(ID(bytes(range(32)))) is None
        assert rows.id_at(len(blocks) + 1) is None
        assert [raw for _, raw in rows.raws(2, len(blocks), 1 << 30)] == blocks[1:]
        assert [raw for _, raw in rows.raws(3, 1, 1 << 30)] == blocks[2::-1]


def facts() -> list[dict[str, Any]]:
    """Return the rows without their numbers, which follow the order of writing."""
    rows = OuterBlock.objects.order_by("chain", "height").values()
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


def test_writing_outer_blocks_again_changes_nothing(world: World, made: Past) -> None:
    assert any(isinstance(parse(raw), OuterOptionBlock) for raw in made.p)
    before = facts()
    OuterBlock.objects.all().delete()
    Certificate.objects.all().delete()

    for rows, blocks in zip(rows_of(world), made, strict=True):
        rows.write([(parse(raw), height) for height, raw in enumerate(blocks, 1)])

    assert facts() == before


def test_outer_block_of_a_known_signer_takes_one_statement(world: World, made: Past) -> None:
    rows = rows_of(world)[1]
    costs = []
    for raw in made.c[-3:]:
        height = rows.tip().height
        OuterBlock.objects.filter(chain="C", height=height).delete()
        with CaptureQueriesContext(connection) as asked:
            rows.write([(parse(made.c[height - 1]), height)])
        costs.append(len(asked))
        assert raw in made.c
    assert costs == [2, 1, 1]


def test_rolled_back_signer_is_written_again(world: World, made: Past) -> None:
    OuterBlock.objects.all().delete()
    Certificate.objects.all().delete()
    rows = rows_of(world)[1]
    db = rows.db
    for _ in range(2):
        with db.atomic():
            rows.write([(parse(made.c[1]), 2)])
            transaction.set_rollback(True)
        assert Certificate.objects.count() == 0
    with db.atomic():
        rows.write([(parse(made.c[1]), 2)])
    assert Certificate.objects.count() == 1


def test_repeated_read_of_the_last_block_takes_one_statement(world: World, made: Past) -> None:
    for rows in rows_of(world):
        last = rows.last()
        with CaptureQueriesContext(connection) as asked:
            assert rows.last() == last
        assert len(asked) == 1
