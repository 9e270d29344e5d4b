"""Peers are asked for the signatures of a message; those that refuse or send garbage are left out."""

import asyncio
from contextlib import ExitStack

import pytest

from network_app.chains.statements import ReachedPeers, StatementSigners
from network_app.ports import SignatureRefused
from network_app.sync.messages import enclose
from network_app.sync.signatures import ask_signatures
from network_app.wire.p2p_pb2 import AppResponse, Message
from network_app.wire.sdk_pb2 import SignatureRequest, SignatureResponse
from platform_app.services.errors import AggregationReason, NotAggregated
from platform_app.services.signatures import AggregationSlots
from primitives.ids import NodeID
from tests.builders.memory_network import PATIENT, World, node_id, quick_config
from tests.builders.reasons import raises

pytestmark = pytest.mark.sqlite_only

REQUEST = SignatureRequest(message=b"message", justification=b"because").SerializeToString()


def signing(name: str) -> "Signs":
    return Signs(name.encode().ljust(96, b"."))


class Signs:
    def __init__(self, signature: bytes) -> None:
        self.signature = signature

    def __call__(self, payload: bytes) -> bytes:
        assert payload == REQUEST
        return SignatureResponse(signature=self.signature).SerializeToString()


def refusing(_payload: bytes) -> bytes:
    raise SignatureRefused(11, "validation does not exist")


def garbled(message: Message, _receiver: NodeID) -> Message:
    """Replace an answer by bytes that are no answer."""
    if message.WhichOneof("message") != "app_response":
        return message
    answer = message.app_response
    return enclose(
        AppResponse(chain_id=answer.chain_id, request_id=answer.request_id, app_bytes=b"\xff")
    )


async def test_only_connected_peers_sign() -> None:
    world = World()
    config = quick_config(**PATIENT)
    asker = world.add("asker", config=config)
    peers = {name: world.add(name, config=config) for name in ("one", "two", "no", "garbage")}
    for name in ("one", "two", "garbage"):
        peers[name].engine._signers = {"P": signing(name)}
    peers["no"].engine._signers = {"P": refusing}
    peers["garbage"].tamper = garbled
    world.link_all()
    asked = [node_id(name) for name in (*peers, "nobody")]

    requests = asker.engine.requests("P")
    assert requests is not None
    found = await ask_signatures(requests, REQUEST, asked)

    assert found == {
        node_id("one"): signing("one").signature,
        node_id("two"): signing("two").signature,
    }
    assert asker.engine.benched() == {}
    assert asker.engine.requests("a chain that has not joined") is None

    slots = AggregationSlots(threads=8)
    signers = StatementSigners(None, lambda: None, slots)  # type: ignore[arg-type,return-value]
    assert await asyncio.to_thread(signers._ask, REQUEST, asked) == {}
    signers.peers = ReachedPeers(asyncio.get_running_loop(), requests)
    assert await asyncio.to_thread(signers._ask, REQUEST, asked) == found
    with ExitStack() as held:
        assert all(held.enter_context(slots.slot()) for _ in range(slots.count))
        with raises(AggregationReason.BUSY, kind=NotAggregated):
            signers._ask(REQUEST, asked)
    assert await asyncio.to_thread(signers._ask, REQUEST, asked) == found
