"""Peers of a network where one chain differs from ours: the other chain continues, and the obstacle is reported.

The peers behave like nodes of avalanchego with another setup: one chain is the same, the other one has other
blocks, or another genesis.
"""

from dataclasses import replace

import pytest

from network_app.config import NetworkConfig
from network_app.ports import BlockRejection
from network_app.sync.errors import InvalidFetchedBlock
from network_app.wire.p2p_pb2 import Message, PushQuery
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import BAD, GENESIS, SEAL, MemoryChain, block_bytes, id_of
from tests.builders.memory_network import (
    Node,
    World,
    node_id,
    peer_info,
    quick_config,
    running,
    until,
)

pytestmark = pytest.mark.sqlite_only

NAMES = ["one", "two", "three", "four", "five"]
OTHER_GENESIS = block_bytes(ID(bytes(32)), 0, b"another genesis")
UNKNOWN_KIND = 9


def foreign_c(**traits: bytes | int) -> MemoryChain:
    chain = MemoryChain("C", **traits)  # type: ignore[arg-type]
    chain.make_many(10)
    return chain


def network_of_five(
    config: NetworkConfig | None = None, **traits: bytes | int
) -> tuple[World, list[Node], Node]:
    """Five validators that this node bootstraps from, whose C-Chain has some traits."""
    world = World()
    five = []
    for name in NAMES:
        p_chain = MemoryChain("P")
        p_chain.make_many(30)
        five.append(world.add(name, p_chain, foreign_c(**traits), weight=1))
    joining = world.add(
        "joining", MemoryChain("P"), MemoryChain("C"), beacons=NAMES, config=config, follows="one"
    )
    world.link_all()
    return world, five, joining


def obstacle(node: Node, alias: str) -> str | None:
    """Return the last reported obstacle of a chain."""
    states = node.records.of(alias)
    return states[-1].obstacle if states else None


@pytest.mark.parametrize("traits", [{"dialect": UNKNOWN_KIND}, {"genesis": OTHER_GENESIS}])
async def test_foreign_c_chain_does_not_affect_the_p_chain(
    traits: dict[str, bytes | int],
) -> None:
    _, five, joining = network_of_five(**traits)  # type: ignore[arg-type]
    async with running(*five, joining):
        await until(lambda: obstacle(joining, "C") is not None)
        assert joining.chain.height == 30
        assert joining.connected().keys() == {item.node_id for item in five}
        for entry in five:
            entry.chain.make()
        five[0].engine.blocks_accepted("P")
        await until(lambda: joining.chain.height == 31)
        assert joining.connected().keys() == {other.node_id for other in five}
    assert joining.chains["C"].height == 0
    assert not joining.follows("C")


async def test_different_genesis_is_reported() -> None:
    _, five, joining = network_of_five(genesis=OTHER_GENESIS)
    first = min(item.node_id for item in five)
    async with running(*five, joining):
        await until(lambda: obstacle(joining, "C") is not None)
        assert {node for node, _ in joining.aside("C")} == {other.node_id for other in five}
        assert joining.aside("P") == []
        assert joining.engine.benched().keys() == {entry.node_id for entry in five}
    assert obstacle(joining, "C") == (
        f"{first} and 4 others follow a C-Chain with another genesis than this node's, which is "
        f"{id_of(GENESIS)}"
    )
    assert joining.received["ancestors"] == 1  # no blocks of a foreign chain are fetched
    assert obstacle(joining, "P") is None


async def test_a_single_bootstrapper_with_another_genesis_is_outvoted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, five, joining = network_of_five()
    odd = five[2]
    odd.chains["C"].raws[0] = OTHER_GENESIS
    odd.chains["C"].heights = {id_of(OTHER_GENESIS): 0}
    async with running(*five, joining):
        await until(lambda: joining.follows("C"))
        assert joining.chains["C"].height == 10
        ((who, reason),) = joining.aside("C")
    assert who == odd.node_id
    assert reason == (
        f"follows a C-Chain with another genesis than this node's, which is {id_of(GENESIS)}"
    )
    assert f"{odd.node_id} {reason}: it is not asked about the C-Chain for 10 s" in caplog.messages


async def test_a_bootstrapper_with_another_upgrade_time_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As in avalanchego, the bootstrapper stays connected: only the genesis and the blocks decide."""
    _, five, joining = network_of_five()
    other = peer_info(five[0].node_id), peer_info(node_id("a validator"))
    for info in other:
        joining.engine.connected(replace(info, upgrade_time=1_700_000_000))
    joining.engine.connected(replace(other[0], upgrade_time=1_700_000_000))

    (words,) = caplog.messages
    assert words.startswith(
        f"bootstrapper {five[0].node_id} has its latest upgrade at 1700000000, this node at 0"
    )


async def test_peers_that_switch_to_the_own_genesis_are_asked_again() -> None:
    _, five, joining = network_of_five(genesis=OTHER_GENESIS)
    async with running(*five, joining):
        await until(lambda: obstacle(joining, "C") is not None)
        joining.engine.choice.aside._faults.clear()  # as if the faults had expired
        for item in five:
            chain = foreign_c()
            chain.make()
            item.chains["C"].raws, item.chains["C"].heights = chain.raws, chain.heights
            item.engine.blocks_accepted("C")
        await until(lambda: joining.follows("C"))
        assert joining.chains["C"].height == 11
        await until(lambda: obstacle(joining, "C") is None)


async def test_refused_block_accepted_by_all_is_reported_with_its_rule() -> None:
    _, five, joining = network_of_five()
    for item in five:
        item.chain.make(BAD)
        item.chain.make_many(3)
    async with running(*five, joining):
        await until(lambda: obstacle(joining, "P") is not None)
        assert obstacle(joining, "P") == (
            "all 5 validators accepted P-Chain block 31, which this node's rules refuse: bad transaction"
        )
        await until(lambda: joining.follows("C"))  # the other chain continues
        assert not joining.follows("P")
        assert joining.aside("P") == []
        assert joining.chain.height == 30

        joining.chain.lenient = True  # as after an upgrade
        await until(lambda: joining.follows("P"))
        assert joining.chain.height == 34
    assert obstacle(joining, "P") is None


async def test_refused_block_is_reported_and_retried_while_following() -> None:
    _, five, joining = network_of_five()
    async with running(*five, joining):
        await until(lambda: joining.follows("P") and joining.follows("C"))
        for other in five:
            other.chain.make(BAD)
        five[0].engine.blocks_accepted("P")
        await until(lambda: obstacle(joining, "P") is not None)
        assert obstacle(joining, "P") == (
            "all 5 validators accepted P-Chain block 31, which this node's rules refuse: bad transaction"
        )
        assert joining.connected().keys() == {item.node_id for item in five}
        five[0].make_block(alias="C")
        await until(lambda: joining.chains["C"].height == 11)

        joining.chain.lenient = True
        await until(lambda: joining.chain.height == 31)
        await until(lambda: obstacle(joining, "P") is None)


async def test_acceptance_of_a_refused_block_is_reported_by_stake() -> None:
    world, five, joining = network_of_five()
    world.stakes[five[0].node_id] = world.stakes[five[0].node_id]._replace(weight=6)
    five[0].chain.make(BAD)
    async with running(*five, joining):
        await until(lambda: obstacle(joining, "P") is not None)
    assert obstacle(joining, "P") == (
        "1 of 5 validators (60.00% of the stake) accepted P-Chain block 31, which this node's rules "
        "refuse: bad transaction"
    )


async def test_an_invalid_block_of_few_is_in_nobodys_way() -> None:
    _, five, joining = network_of_five()
    async with running(*five, joining):
        await until(lambda: joining.follows("P") and joining.follows("C"))
        bad = block_bytes(id_of(joining.chain.raws[-1]), 31, BAD)
        push = PushQuery(chain_id=bytes(32), request_id=1, container=bad)
        await joining.engine.handle(five[0].node_id, Message(push_query=push))
        await until(lambda: joining.chain.refused == {bad})
        five[0].make_block()
        await until(lambda: joining.chain.height == 31)
        assert five[0].node_id in joining.connected()
    assert obstacle(joining, "P") is None


def without_seals(message: Message, _: NodeID) -> Message:
    """Strip the bytes that block IDs do not cover, so that the IDs still match."""
    if message.HasField("put"):
        message.put.container = message.put.container[:-SEAL]
    for at, raw in enumerate(message.ancestors.containers):
        message.ancestors.containers[at] = raw[:-SEAL]
    return message


async def test_peers_that_send_unsigned_blocks_are_set_aside() -> None:
    _, five, joining = network_of_five()
    for liar in five[:4]:
        liar.tamper = without_seals
    async with running(*five, joining):
        await until(lambda: joining.follows("P") and joining.follows("C"))
        assert joining.chain.height == 30
        assert joining.chains["C"].height == 10
    for alias in ("P", "C"):
        assert {state.obstacle for state in joining.records.of(alias)} == {None}
        assert {who for who, _ in joining.aside(alias)} <= {item.node_id for item in five[:4]}


async def test_locally_accepted_block_is_no_obstacle() -> None:
    _, five, joining = network_of_five()
    async with running(*five, joining):
        await until(lambda: joining.follows("P") and joining.follows("C"))
        line = joining.engine.line("P")
        known = BlockRejection(id_of(joining.chain.raws[7]), None, "cannot be read")
        assert not await line._witnesses.judge(InvalidFetchedBlock(known))
        assert line.last_accepted.obstacle.words is None


async def test_block_that_no_peer_has_is_no_obstacle() -> None:
    config = quick_config(unnamed_for=2.0)
    _, five, joining = network_of_five(config=config)
    async with running(*five, joining):
        await until(lambda: joining.follows("P") and joining.follows("C"))
        for item in five:
            item.chain.make(BAD)
        five[0].engine.blocks_accepted("P")
        await until(lambda: obstacle(joining, "P") is not None)
        for other in five:  # as if the nodes were set up again
            other.chain.heights.pop(id_of(other.chain.raws.pop()))
            other.engine.line("P").last_accepted.place = joining.engine.line(
                "P"
            ).last_accepted.place
        await until(lambda: obstacle(joining, "P") is None)
        assert joining.chain.height == 30
