"""Limits shared by peers: concurrent fetches, bytes, pushes, the bench, and received transactions."""

import random
import time

import pytest

from network_app.ports import PoolLimitReached
from network_app.sync import producing
from network_app.sync.messages import enclose, with_handler
from network_app.sync.tx_queue import ReceivedTransaction
from network_app.wire.framing import MAX_FRAME, PackedMessage
from network_app.wire.p2p_pb2 import AppGossip, Chits, GetAncestors, Message, PullQuery, PushQuery
from network_app.wire.sdk_pb2 import PushGossip
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import id_of
from tests.builders.memory_network import Node, World, quick_config, running, until

pytestmark = pytest.mark.sqlite_only

TRANSACTION = b"a transaction"


def gossip(*raws: bytes) -> Message:
    payload = PushGossip(gossip=raws).SerializeToString()
    return enclose(AppGossip(chain_id=bytes(32), app_bytes=with_handler(0, payload)))


def muted_pair() -> tuple[Node, Node]:
    world = World()
    node, peer = world.add("node"), world.add("peer")
    world.link_all(muted=1)
    return node, peer


async def test_requests_of_a_benched_peer_do_not_unbench_it() -> None:
    node, peer = muted_pair()
    bench, now = node.engine._bench, time.monotonic()
    for _ in range(5):
        bench.failed(peer.node_id, "P", now)
    query = PullQuery(chain_id=bytes(32), container_id=bytes(32), requested_height=1)
    for _ in range(100):
        await node.engine.handle(peer.node_id, Message(pull_query=query))
    assert node.engine.benched() == {peer.node_id: ["P"]}


async def test_a_block_is_made_ready_once_for_all_peers() -> None:
    world = World()
    node = world.add("node", weight=1)
    peers = [world.add(f"peer {at}") for at in range(5)]
    for peer in peers:
        world.link(node, peer)
    requests = node.engine.line("P").requests
    sent: list[Message | PackedMessage] = []
    node.send = lambda _peer, message: not sent.append(message)  # type: ignore[method-assign, func-returns-value]
    answers: list[object] = []
    asked = requests.post_to_all(
        {peer.node_id: answers.append for peer in peers}, PushQuery(container=b"block"), Chits
    )
    assert asked == [peer.node_id for peer in peers]
    assert len(sent) == 5
    assert all(item is sent[0] for item in sent)
    for peer in peers:
        requests.disconnected(peer.node_id)
    assert answers == [None] * 5


async def test_block_above_the_message_size_is_not_pushed() -> None:
    node, peer = muted_pair()
    requests = node.engine.line("P").requests
    huge = PushQuery(container=bytes(MAX_FRAME))
    assert requests.post_to_all({peer.node_id: lambda _: None}, huge, Chits) == []
    assert len(requests) == 0


def test_pushes_use_at_most_half_of_the_open_requests() -> None:
    most = quick_config().most_open_requests
    assert most // 2 >= producing.MAX_PEERS * producing.WINDOW


async def test_flood_of_transactions_does_not_block_other_peers() -> None:
    world = World()
    node = world.add("node", weight=1)
    flooder, honest = world.add("flooder"), world.add("honest")
    world.link(node, flooder)
    world.link(node, honest)
    async with running(node):
        await until(node.follows)
        for at in range(60):
            flood = gossip(*(b"BAD %d %0200d" % (at, number) for number in range(100)))
            await node.engine.handle(flooder.node_id, flood)
        await node.engine.handle(honest.node_id, gossip(TRANSACTION))
        await until(lambda: bool(node.chain.issued))
        # The honest transaction is in the first batches, not behind the flood.
        assert TRANSACTION in node.chain.issued[: 2 * 256]


async def test_transaction_that_failed_to_issue_is_pulled_again() -> None:
    world = World()
    node, peer = world.add("node", weight=1), world.add("peer", weight=1)
    world.link_all()
    known = node.engine.line("P").gossip.known
    issue = node.chain.issue
    arrivals = [ReceivedTransaction(TRANSACTION, peer.node_id)]
    tx_id = node.chain.transaction_id(TRANSACTION)
    gossiping = node.engine.line("P").gossip

    def is_away(_raws: object) -> list[ID | Exception]:
        raise OSError("the database is away")

    node.chain.issue = is_away  # type: ignore[method-assign]
    with pytest.raises(OSError, match="the database is away"):
        await gossiping._take_in(arrivals)
    assert tx_id not in known
    node.chain.issue = lambda _raws: [PoolLimitReached("the pool is full")]  # type: ignore[method-assign]
    await gossiping._take_in(arrivals)
    assert tx_id not in known
    node.chain.issue = issue  # type: ignore[method-assign]
    await gossiping._take_in(arrivals)
    assert tx_id in known


async def test_ancestor_requests_are_limited_for_unknown_peers_only() -> None:
    world = World()
    config = quick_config(answer_bytes=10_000, strangers_answer_bytes=20_000)
    node = world.add("node", config=config)
    node.chain.make_many(40, 1000)
    # Zeros compress well on the wire; these bytes do not.
    node.chain.make(random.Random(7).randbytes(60_000))
    stranger, validator = world.add("stranger"), world.add("validator", weight=1)
    world.link_all()
    top = bytes(id_of(node.chain.raws[-1]))
    request = enclose(GetAncestors(chain_id=bytes(32), container_id=top, deadline=1_000_000_000))
    for _ in range(4):
        await node.engine.handle(stranger.node_id, request)
    assert node.sent["ancestors"] == 1
    for _ in range(4):
        await node.engine.handle(validator.node_id, request)
    assert node.sent["ancestors"] == 5


async def test_unsendable_ancestors_give_an_empty_answer() -> None:
    world = World()
    node = world.add(
        "node", config=quick_config(answer_bytes=10_000, strangers_answer_bytes=20_000)
    )
    node.chain.make(random.Random(7).randbytes(60_000))
    stranger = world.add("stranger")
    world.link_all()
    top = bytes(id_of(node.chain.raws[-1]))
    request = enclose(GetAncestors(chain_id=bytes(32), container_id=top, deadline=10_000_000_000))
    send, told = node.send, list[int]()

    def has_no_room(peer: NodeID, message: Message | PackedMessage) -> bool:
        if isinstance(message, PackedMessage):
            return False
        told.append(len(message.ancestors.containers))
        return send(peer, message)

    node.send = has_no_room  # type: ignore[method-assign]
    for _ in range(3):
        await node.engine.handle(stranger.node_id, request)
    assert (told, node.sent["ancestors"]) == ([0, 0, 0], 3)
    node.send = send  # type: ignore[method-assign]
    await node.engine.handle(stranger.node_id, request)
    assert node.sent["ancestors"] == 4


async def test_gossip_of_many_empty_transactions_is_ignored() -> None:
    node, peer = muted_pair()
    offered: list[object] = []
    node.engine.line("P").gossip.add = lambda told, _: offered.append(told)  # type: ignore[method-assign]
    payload = with_handler(0, b"\x0a\x00" * 1_000_000)
    flood = enclose(AppGossip(chain_id=bytes(32), app_bytes=payload))
    await node.engine.handle(peer.node_id, flood)
    assert offered == []
    await node.engine.handle(peer.node_id, gossip(TRANSACTION))
    assert offered == [[TRANSACTION]]
