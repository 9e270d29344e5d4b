"""The order of a handshake, and each reason for rejecting one, on a real connection."""

import logging
import time
from typing import Any

import pytest

from network_app.bloom import EMPTY
from network_app.ports import ValidatorInfo
from network_app.wire.p2p_pb2 import (
    BloomFilter,
    Client,
    GetPeerList,
    Message,
    PeerList,
    Ping,
)
from primitives.ids import ID
from tests.builders.nodes import node
from tests.builders.peers import (
    NETWORK_ID,
    Running,
    Validators,
    eventually,
    frontier_request,
    running,
    stranger,
)

pytestmark = pytest.mark.sqlite_only

FUTURE = 2**40


@pytest.fixture(autouse=True)
def words(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log messages of the connections."""
    caplog.set_level(logging.DEBUG, logger="network_app.peers")
    return caplog


async def assert_refused(one: Running, reason: str) -> None:
    await eventually(lambda: one.ended[reason] == 1, f"{reason} is not in {one.ended}")
    assert not one.recorder.events
    assert not one.network.connected()


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"network_id": 1}, "WrongNetwork", f"network ID 1 is not ours, {NETWORK_ID}"),
        ({"my_time": 1_000_000}, "ClocksDiffer", "peer's clock says 1000000"),
        ({"my_time": FUTURE}, "ClocksDiffer", "too far apart"),
        ({"tracked_subnets": [bytes([n]) * 32 for n in range(17)]}, "TooManySubnets", "17"),
        ({"tracked_subnets": [bytes(31)]}, "SubnetIdSize", "31 bytes, not 32"),
        ({"known_peers": BloomFilter(filter=b"\x11")}, "KnownPeers", "17 hashes"),
        (
            {"known_peers": BloomFilter(filter=bytes(EMPTY), salt=bytes(33))},
            "KnownPeers",
            "salt of 33 bytes",
        ),
        ({"ip_addr": bytes(5)}, "AddressSize", "IP address has 5 bytes"),
        ({"ip_port": 65536}, "PortZero", "port is 0"),
        ({"ip_signing_time": FUTURE}, "SignedInTheFuture", f"signed at {FUTURE}"),
        ({"ip_node_id_sig": b"\x30\x00"}, "WrongTlsSignature", "is not its node's"),
        ({"ip_port": 9652}, "WrongTlsSignature", "signature of the address"),
        ({"ip_bls_sig": bytes(96)}, "MalformedBlsSignature", "malformed BLS signature"),
        ({"ip_bls_sig": None}, "MalformedBlsSignature", "malformed BLS signature"),
        (
            {"client": Client(name="avalanchego", major=1, minor=13, patch=9)},
            "IncompatibleVersion",
            "version avalanchego/1.13.9 is not compatible",
        ),
        ({"client": Client(name="x", major=2)}, "IncompatibleVersion", "x/2.0.0"),
        ({"client": None}, "IncompatibleVersion", "/0.0.0"),
    ],
)  # fmt: skip
async def test_a_wrong_handshake_ends_the_connection(
    changes: dict[str, Any], reason: str, said: str, words: pytest.LogCaptureFixture
) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        peer.send(peer.handshake(**changes), Message(peer_list=PeerList()))

        assert await peer.ended()
        await assert_refused(one, reason)
        assert said in words.text


async def test_a_validator_signs_its_address_with_its_own_bls_key() -> None:
    other_key = Validators({
        node(99).identity.node_id: ValidatorInfo(1, node(5).identity.bls_public_key)
    })  # fmt: skip
    async with running(node(0), other_key) as one, stranger(one.address) as peer:
        peer.send(peer.handshake())

        assert await peer.ended()
        await assert_refused(one, "WrongBlsSignature")


async def test_a_validator_with_its_own_key_is_welcome() -> None:
    validators = Validators.of(node(99))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        await peer.finish_handshake()

        await eventually(one.network.connected)


async def test_new_validator_is_verified_again_before_a_ping() -> None:
    validators = Validators()
    async with (
        running(node(0), validators, ping_interval=0.05) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake()
        await peer.receive_kind("ping")
        right = node(99).identity.bls_public_key
        validators.facts = {peer.node_id: ValidatorInfo(1, right)}
        await peer.receive_kind("ping")
        await peer.receive_kind("ping")
        assert one.network.connected()

        validators.facts = {peer.node_id: ValidatorInfo(1, node(5).identity.bls_public_key)}

        assert await peer.ended()
        await eventually(lambda: one.ended["WrongBlsSignature"] == 1)
        assert one.recorder.events[-1] == ("disconnected", peer.node_id)


async def test_a_version_is_checked_again_before_a_ping() -> None:
    upgrade = int(time.time()) + 1000
    async with (
        running(node(0), ping_interval=0.05, upgrade_time=upgrade) as one,
        stranger(one.address) as peer,
    ):
        await peer.finish_handshake(client=Client(name="old", major=1, minor=13, patch=0))
        await peer.receive_kind("ping")
        assert one.network.connected()[peer.node_id].version == "old/1.13.0"

        assert one.network._running is not None
        one.network._running.connection_tasks._context.introductions._wall = lambda: upgrade
        assert await peer.ended()
        await eventually(lambda: one.ended["IncompatibleVersion"] == 1)


async def test_handshake_fields_are_reported() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake(
            tracked_subnets=[bytes([7]) * 32], upgrade_time=1234, supported_acps=[1]
        )
        await eventually(one.network.connected)

        seen = one.network.connected()[peer.node_id]
        assert seen.tracked_subnets == (ID(bytes([7]) * 32),)
        assert seen.upgrade_time == 1234
        assert seen.public_ip == "127.0.0.1:9651"
        assert one.recorder.infos == [seen]


async def test_a_large_filter_in_a_handshake_is_not_kept() -> None:
    large = BloomFilter(filter=b"\x01" + bytes(8) + bytes(60_000))
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake(known_peers=large)
        await eventually(one.network.connected)

        facts = next(iter(one.network.roster)).facts
        assert facts is not None
        assert facts.known_peers == EMPTY


async def test_peer_is_connected_after_its_peer_list() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        peer.send(Message(peer_list=PeerList()))  # ignored before the handshake
        peer.send(peer.handshake())
        assert await peer.receive_kind("peer_list")
        peer.send(Message(ping=Ping()))
        await peer.receive_kind("pong")
        assert not one.recorder.events

        peer.send(Message(peer_list=PeerList()))

        await eventually(lambda: one.recorder.events == [("connected", peer.node_id)])


async def test_before_the_handshake_only_pings_are_answered() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        assert (await peer.receive()).HasField("handshake")
        no_filter = Message(get_peer_list=GetPeerList())
        peer.send(frontier_request(), no_filter, Message(ping=Ping(uptime=5)))

        assert (await peer.receive()).HasField("pong")
        peer.send(peer.handshake(), frontier_request(), no_filter, Message(peer_list=PeerList()))
        assert (await peer.receive()).HasField("peer_list")
        peer.send(frontier_request(7))

        await eventually(lambda: one.recorder.messages)
        assert one.recorder.messages == [(peer.node_id, frontier_request(7))]
        assert one.network.connected()[peer.node_id].observed_uptime == 5


async def test_own_handshake_is_sent_first_with_correct_fields() -> None:
    validators = Validators.of(node(0))
    async with running(node(0), validators, upgrade_time=77) as one, stranger(one.address) as peer:
        said = (await peer.receive()).handshake

        assert said.network_id == NETWORK_ID
        assert abs(said.my_time - time.time()) < 60
        assert said.ip_addr.hex() in {"7f000001", bytes(10).hex() + "ffff7f000001"}
        assert said.ip_port == one.network.port
        assert said.upgrade_time == 77
        assert said.all_subnets  # the node is a validator
        assert (said.client.name, said.client.major, said.client.minor) == ("avalanchego", 1, 14)


async def test_a_second_handshake_ends_the_connection() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.send(peer.handshake())

        assert await peer.ended()
        await eventually(lambda: one.ended["SecondHandshake"] == 1)


async def test_a_handshake_has_to_be_finished_in_time() -> None:
    async with running(node(0), handshake_timeout=2.0) as one, stranger(one.address) as peer:
        peer.send(peer.handshake())

        assert await peer.ended()
        await assert_refused(one, "HandshakeTooSlow")
