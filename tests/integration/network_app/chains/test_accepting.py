"""Blocks of other nodes are accepted with their outer blocks: the rows equal those of the node that built them."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from chaindb import clock
from chainvm.port import HeadMoved
from network_app.chains.chain import NetworkChain
from network_app.models import OuterBlock
from network_app.ports import AcceptResult, BlockRef, BlockRejection
from network_app.proposervm.block import parse
from platform_app.config import DAY
from primitives.ids import NodeID
from tests.integration.network_app import tables
from tests.integration.network_app.world import (
    FOLLOWER,
    Past,
    World,
    follow,
    raws,
    refusal,
    tip,
)
from tests.integration.platform_app.made import scheduled_validator


def pieces(blocks: list[bytes], size: int) -> list[list[bytes]]:
    return [blocks[start : start + size] for start in range(0, len(blocks), size)]


def places(blocks: list[bytes], first: int = 1) -> tuple[BlockRef, ...]:
    return tuple(BlockRef(height, parse(raw).outer_id) for height, raw in enumerate(blocks, first))


@pytest.mark.parametrize("size", [2, 3, 100])
def test_followed_blocks_write_the_same_rows(world: World, past: Past, *, size: int) -> None:
    node = world.node(FOLLOWER)
    waiting: list[bytes] = []
    for chain, blocks in zip(node, past, strict=True):
        for piece in pieces(blocks, size):
            waiting += piece
            if chain.parse(waiting[-1]).needs_option:
                continue
            follow(chain, waiting)
            waiting = []
        assert chain.last_accepted() == places(blocks)[-1]

    assert tables.alike() == world.made
    assert [raws(chain) for chain in world.node(FOLLOWER)] == list(past)


def test_blocks_are_accepted_one_by_one(world: World, past: Past) -> None:
    node = world.node(FOLLOWER)
    for chain, blocks in zip(node, past, strict=True):
        waiting: list[bytes] = []
        for height, raw in enumerate(blocks, 1):
            waiting.append(raw)
            if not chain.parse(raw).needs_option:
                done = follow(chain, waiting)
                assert done.places == places(waiting, height - len(waiting) + 1)
                waiting = []

    assert tables.alike() == world.made


def test_accepted_blocks_are_skipped(world: World, past: Past) -> None:
    for chain, blocks in zip(world.node(FOLLOWER), past, strict=True):
        follow(chain, blocks[:3])
        before = tables.everything()

        assert follow(chain, blocks[:3]) == AcceptResult()
        assert follow(chain, []) == AcceptResult()
        assert tables.everything() == before
        assert follow(chain, blocks[1:4]).places == places(blocks[3:4], 4)


def test_transactions_are_counted(world: World, past: Past) -> None:
    node = world.node(FOLLOWER)

    assert follow(node.p, past.p).transactions == 7  # a proposal counts as one, its option as none
    assert follow(node.c, past.c).transactions == 6


def test_the_next_block_is_this_nodes_own(world: World, past: Past) -> None:
    node = world.node(FOLLOWER)
    for chain, blocks in zip(node, past, strict=True):
        follow(chain, blocks)
    made = world.make_c()

    ((place, raw),) = node.c.accepted_since(len(past[1]), 10)

    assert parse(raw).inner == node.c.rows.blocks(made.number, made.number, 1)[0].raw
    assert parse(raw).parent_id == places(past[1])[-1].block_id
    assert place == node.c.last_accepted()


class Failing:
    """Makes the nth statement fail."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Any, sql: str, params: Any, *context: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise DatabaseError("the disk is full")
        return execute(sql, params, *context)


@pytest.mark.parametrize("alias", ["p", "c"])
def test_failure_of_any_statement_leaves_nothing(world: World, past: Past, alias: str) -> None:
    chain: NetworkChain[Any] = getattr(world.node(FOLLOWER), alias)
    blocks = past[alias == "c"][:3]
    world.wall.seconds -= 50 * DAY  # the clock must follow the blocks, too
    before, offset = tables.everything(), clock.offset()
    number = 0
    while True:
        number += 1
        with suppress(DatabaseError), connection.execute_wrapper(Failing(number)):
            follow(chain, blocks)
            break
        assert (tables.everything(), clock.offset()) == (before, offset), number

    assert number > 15  # with PostgreSQL the number of messages
    assert chain.last_accepted() == places(blocks)[-1]
    assert clock.offset() > offset


@pytest.fixture
def overtake(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[NetworkChain[Any]], None]:
    """Have another process of this node make a block just before blocks of other nodes are accepted."""

    def install(chain: NetworkChain[Any]) -> None:
        elsewhere = world.node(FOLLOWER, alone, elsewhere=True)
        other = elsewhere.p if chain.alias == "P" else elsewhere.c
        vm = chain.vm.inner
        accept = vm.accept

        def overtaken(*blocks: Any, **given: Any) -> None:
            assert other.consensus.produce(now=clock.now(), allow_empty=True) is not None
            accept(*blocks, **given)

        monkeypatch.setattr(vm, "accept", overtaken)

    return install


def alone(_height: int) -> dict[NodeID, int]:
    return {FOLLOWER.node_id: 1}


def test_a_block_of_this_nodes_own_overtakes(
    world: World, past: Past, overtake: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = world.node(FOLLOWER).c
    overtake(chain)

    refusal(HeadMoved, chain, *past[1])
    own = OuterBlock.objects.get(chain="C")
    monkeypatch.undo()
    assert chain.last_accepted() == BlockRef(1, own.block_id)
    refused = refusal(BlockRejection, chain, *past[1])
    assert (refused.height, refused.reason) == (
        1, f"at its height the block {own.block_id} is accepted",
    )  # fmt: skip


def test_the_very_same_block_of_this_nodes_own_overtakes(
    world: World, overtake: Callable[..., None]
) -> None:
    world.p.do(scheduled_validator(world.p, "node", start=DAY, end=20 * DAY))
    known = raws(world.maker.p)
    world.p.wait(DAY)  # a block without transactions, identical on every node
    blocks, _ = world.hand_over()
    chain = world.node(FOLLOWER).p
    follow(chain, known)
    overtake(chain)

    refusal(HeadMoved, chain, *blocks)
    assert OuterBlock.objects.filter(chain="P").count() == len(known) + 1
    assert tip(chain).height == len(blocks) == len(known) + 1


def test_cost_of_outer_blocks_does_not_grow_with_their_number(world: World) -> None:
    for value in range(12):
        world.make_c(value)
    past = world.hand_over()
    chain = world.node(FOLLOWER).c
    follow(chain, past.c[:2])
    follow(chain, past.c[2:3])  # the signer's certificate is known to be stored from now on
    costs = []
    for blocks in (past.c[3:4], past.c[4:]):
        with CaptureQueriesContext(connection) as asked:
            follow(chain, blocks)
        costs.append([item["sql"] for item in asked])

    ours = ("chaindb_clock", "network_app_outerblock")
    for statements in costs:
        found = [name for sql in statements for name in ours if name in sql]
        assert found == list(ours)
        assert not any("network_app_certificate" in sql for sql in statements)
        assert not any("platform_app" in sql for sql in statements)
