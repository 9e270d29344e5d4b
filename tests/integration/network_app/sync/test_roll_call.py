"""Who hears whom of those that take turns: each asks all others, however little happens."""

from network_app.ports import SyncState
from network_app.sync.polling import ROLL_CALL
from primitives.ids import NodeID
from tests.builders.memory_network import Node, World, quick_config, running, until


def several(*weights: int) -> list[Node]:
    """Return linked nodes with these stakes, that hardly ask each other by themselves."""
    world = World()
    config = quick_config(poll_interval=ROLL_CALL, slowest_poll=ROLL_CALL)
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


def test_a_state_without_a_conflict_says_nothing() -> None:
    assert SyncState(bootstrapped=True).conflict is None
