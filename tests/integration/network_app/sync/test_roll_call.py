"""Who hears whom of those that take turns: each asks all others, however little happens."""

import time

import pytest

from network_app.ports import SyncState
from network_app.sync.calling import PERIOD
from primitives.ids import NodeID
from tests.builders.memory_network import Node, World, quick_config, running, until


def several(*weights: int) -> list[Node]:
    """Return linked nodes with these stakes, that hardly ask each other by themselves."""
    world = World()
    config = quick_config(poll_interval=PERIOD * 100, slowest_poll=PERIOD * 100)
    nodes = [
        world.add(f"node{place}", weight=weight, config=config)
        for place, weight in enumerate(weights)
    ]
    world.link_all()
    return nodes


def listen(node: Node) -> set[NodeID]:
    """Return whom a node sends questions, as it goes."""
    asked: set[NodeID] = set()

    def noted(message: object, to: NodeID) -> object:
        if message.HasField("pull_query"):  # type: ignore[attr-defined]
            asked.add(to)
        return message

    node.tamper = noted  # type: ignore[assignment]
    return asked


async def test_who_takes_turns_asks_all_others_that_do() -> None:
    *nodes, follower = several(5, 5, 5, 0)
    asked = listen(nodes[0])
    async with running(*nodes, follower):
        await until(lambda: asked == {node.node_id for node in nodes[1:]})
        asked.clear()
        await until(lambda: asked == {node.node_id for node in nodes[1:]})


async def test_who_does_not_take_turns_calls_no_roll() -> None:
    *nodes, follower = several(5, 5, 5, 5, 0)
    asked = listen(follower)
    async with running(*nodes, follower):
        await until(lambda: bool(asked))
        assert len(asked) == 1


def since(node: Node) -> float:
    """Return since when all others agree, as far as a node has written it down."""
    states = node.records.of("P")
    said = (states[-1].roll or {}).values() if states else ()
    return min((one.agreed_at or 0.0 for one in said), default=0.0)


async def test_who_takes_turns_writes_down_since_when_all_agree() -> None:
    *nodes, follower = several(5, 5, 5, 0)
    async with running(*nodes, follower):
        for node in nodes:
            await until(lambda node=node: since(node) > 0)
            first = since(node)
            assert (node.records.of("P")[-1].roll or {}).keys() == {
                one.node_id for one in nodes if one is not node
            }
            await until(lambda node=node, first=first: since(node) > first)
        assert follower.records.of("P")[-1].roll is None


@pytest.mark.parametrize("told", [True, False])
async def test_who_has_a_block_that_is_missing_here_does_not_agree(*, told: bool) -> None:
    """However long that is on its way, and also before the maker's own event loop knows of it."""
    maker, other = nodes = several(5, 5)
    async with running(*nodes):
        await until(lambda: since(other) > 0)
        maker.tamper = lambda message, _to: message if message.HasField("chits") else None
        maker.chain.make()
        if told:
            maker.engine.blocks_accepted("P")
        made_at = time.time()
        answers = maker.sent["chits"]
        await until(lambda: maker.sent["chits"] >= answers + 3)
        assert other.chain.height == 0
        assert since(other) <= made_at

        maker.tamper = None
        await until(lambda: since(other) > made_at)
        assert other.chain.height == 1


def test_a_state_without_a_conflict_says_nothing() -> None:
    assert SyncState(bootstrapped=True).conflict is None
