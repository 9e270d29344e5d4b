"""A node without a genesis requests it from connected peers, and uses the first valid one."""

import asyncio
from collections.abc import Mapping

import pytest

from network_app.ports import PeerInfo
from network_app.sync.errors import UnusableGenesis
from network_app.sync.genesis import GenesisAnswer, GenesisFetcher
from network_app.sync.messages import GENESIS, enclose, with_handler
from network_app.sync.pulling import GenesisBytes, GenesisTeller
from network_app.wire.p2p_pb2 import AppRequest, AppResponse, Message
from primitives.ids import NodeID
from tests.builders.memory_network import World, node_id, until

pytestmark = pytest.mark.sqlite_only

LIAR, HONEST = node_id("liar"), node_id("honest")
GOOD = GenesisAnswer(platform=b"platform", cchain=b"{}")


def usable(answer: GenesisAnswer) -> None:
    if answer != GOOD:
        raise UnusableGenesis("it is garbage")


class Wires:
    """A peer that lies, which answers immediately, and an honest one, which answers when released."""

    def __init__(self) -> None:
        self.fetcher = GenesisFetcher(usable)
        self.asked: list[NodeID] = []
        self.peers = {LIAR: b"garbage"}

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        return dict.fromkeys(self.peers)  # type: ignore[arg-type]

    def send(self, node_id: NodeID, message: Message) -> bool:
        self.asked.append(node_id)
        content = GenesisAnswer(platform=self.peers[node_id], cchain=b"{}")
        answer = AppResponse(
            request_id=message.app_request.request_id, app_bytes=content.SerializeToString()
        )
        asyncio.get_running_loop().create_task(self.fetcher.handle(node_id, enclose(answer)))
        return True


async def test_peer_that_sends_garbage_is_not_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wires = Wires()
    fetching = asyncio.create_task(wires.fetcher.fetch(wires))  # type: ignore[arg-type]
    await until(lambda: bool(caplog.records))
    wires.peers[HONEST] = GOOD.platform
    wires.fetcher.connected(None)  # type: ignore[arg-type]
    assert await asyncio.wait_for(fetching, 60) == GOOD
    assert wires.asked == [LIAR, HONEST]
    assert caplog.messages == [f"the genesis that {LIAR} sent cannot be used: it is garbage"]
    assert list(wires.fetcher.refused.values()) == caplog.messages


async def test_request_after_its_deadline_is_not_answered() -> None:
    world = World()
    node, peer = world.add("node"), world.add("peer")
    world.link_all()
    read: list[int] = []

    def genesis() -> GenesisBytes:
        read.append(1)
        return GenesisBytes(b"platform", b"{}")

    node.engine._genesis = GenesisTeller(genesis, asyncio.to_thread)

    def asked(seconds: float) -> Message:
        deadline = int(seconds * 1e9)
        app_bytes = with_handler(GENESIS, b"")
        return enclose(AppRequest(chain_id=bytes(32), deadline=deadline, app_bytes=app_bytes))

    gate = node.engine._gate
    async with gate.turn(peer.node_id), gate.turn(peer.node_id):
        late = asyncio.create_task(node.engine.handle(peer.node_id, asked(0.02)))
        await asyncio.sleep(0.04)
    await late
    assert (node.sent["app_response"], read) == (0, [])
    for _ in range(3):
        await node.engine.handle(peer.node_id, asked(10))
    assert (node.sent["app_response"], read) == (3, [1])
