"""Discovery of validators: addresses are gossiped, stored and dialled, but not trusted."""

import time
from ipaddress import ip_address

import pytest

from network_app.bloom import EMPTY
from network_app.handshake.claims import claimed_ip_port, gossip_id
from network_app.wire.p2p_pb2 import BloomFilter, ClaimedIpPort, GetPeerList, Message, PeerList
from primitives.ids import ID
from tests.builders.nodes import Node, node
from tests.builders.peers import (
    LOOPBACK,
    Validators,
    eventually,
    running,
    stranger,
)

pytestmark = pytest.mark.sqlite_only

NOBODY_ASKED = GetPeerList(known_peers=BloomFilter(filter=bytes(EMPTY)))


def passed_on(who: Node, port: int = 9651, timestamp: int | None = None) -> ClaimedIpPort:
    """Return a node's address as peers gossip it."""
    signed = who.claim(ip_address(LOOPBACK), port, timestamp or int(time.time()))
    return claimed_ip_port(who.identity.certificate_der, signed)


def peer_list(*claims: ClaimedIpPort) -> Message:
    return Message(peer_list=PeerList(claimed_ip_ports=claims))


async def test_validators_discover_each_other_through_a_common_peer() -> None:
    validators = Validators.of(node(0), node(1), node(2), node(3))
    async with (
        running(node(0), validators) as known,
        running(node(1), validators, tracked=(known.address,)) as one,
        running(node(2), validators, tracked=(known.address,)) as two,
        running(node(3), validators, tracked=(known.address,)) as three,
    ):
        everybody = (known, one, two, three)
        for here in everybody:
            others = [other for other in everybody if other is not here]
            await eventually(lambda here=here, others=others: here.knows(*others))  # type: ignore[misc]
        for here in everybody:
            assert here.network.known_addresses() == 3


async def test_follower_learns_validators_and_is_not_gossiped() -> None:
    validators = Validators.of(node(0), node(1))
    async with (
        running(node(0), validators) as known,
        running(node(1), validators, tracked=(known.address,)) as one,
        running(node(2), validators, tracked=(known.address,)) as follower,
        running(node(3), validators, tracked=(known.address,)) as other,
    ):
        await eventually(lambda: follower.knows(known, one) and other.knows(known, one))

        assert not follower.knows(other)
        assert follower.network.known_addresses() == 2
        assert known.network.known_addresses() == 1


async def test_validators_of_an_l1_find_each_other_through_a_node_that_tracks_it() -> None:
    l1 = ID(bytes([7]) * 32)
    validators = Validators.of(node(0))
    validators.of_subnets[l1] = Validators.of(node(1), node(2)).facts
    async with (
        running(node(0), validators, joined=(l1,)) as known,
        running(node(1), validators, tracked=(known.address,), joined=(l1,)) as one,
        running(node(2), validators, tracked=(known.address,), joined=(l1,)) as two,
        running(node(3), validators, tracked=(known.address,)) as other,
    ):
        await eventually(lambda: one.knows(known, two) and two.knows(known, one))
        await eventually(lambda: other.knows(known) and known.knows(one, two, other))

        assert not other.knows(one)
        assert not other.knows(two)
        assert other.network.known_addresses() == 1
        connected = known.network.connected()
        assert [connected[one_of.node_id].known for one_of in (one, two, other)] == [
            True, True, False,
        ]  # fmt: skip


async def test_a_private_address_that_the_operator_has_named_is_dialled() -> None:
    validators = Validators.of(node(0), node(1), node(2))
    async with (
        running(node(0), validators, dials_private=False) as known,
        running(node(1), validators, tracked=(known.address,), dials_private=False) as one,
        stranger(one.address) as peer,
    ):
        await eventually(lambda: one.knows(known))
        await peer.finish_handshake()
        peer.send(peer_list(passed_on(node(2))))
        await eventually(lambda: one.network.known_addresses() == 2)
        one.network._dial_validators()
        assert len(one.network._dialer) == 1, "the tracked address alone"


async def test_tracked_nodes_are_passed_on_although_they_do_not_validate() -> None:
    async with (
        running(node(0)) as bootstrapper,
        running(node(1), tracked=(bootstrapper.address,)) as one,
        stranger(one.address) as peer,
    ):
        await eventually(lambda: one.knows(bootstrapper))
        await peer.finish_handshake()
        peer.send(Message(get_peer_list=NOBODY_ASKED))

        told = (await peer.receive_kind("peer_list")).peer_list.claimed_ip_ports
        assert [claim.ip_port for claim in told] == [bootstrapper.network.port]


async def test_former_validator_is_not_dialled_again() -> None:
    validators = Validators.of(node(0), node(1))
    async with running(node(0), validators) as one:
        async with running(node(1), validators, tracked=(one.address,)) as two:
            await eventually(lambda: one.knows(two))
        await eventually(lambda: one.ended["NotReached"] >= 2)

        one.directory.facts.clear()

        await eventually(lambda: not one.network._dialer._tasks)
        await eventually(lambda: one.network.known_addresses() == 0)


async def test_a_node_that_moved_is_dialled_at_its_new_address() -> None:
    validators = Validators.of(node(0), node(1))
    async with (
        running(node(0), validators, first_retry=30.0, longest_retry=60.0) as one,
        running(node(1)) as two,
        stranger(one.address) as peer,
    ):
        now = int(time.time())
        await peer.finish_handshake()
        peer.send(peer_list(passed_on(node(1), 1, now - 10)))
        await eventually(lambda: one.ended["NotReached"] == 1)

        peer.send(peer_list(passed_on(node(1), two.network.port, now - 5)))

        await eventually(lambda: one.knows(two))
        assert one.network.connected()[two.node_id].outbound


async def test_an_older_address_changes_nothing() -> None:
    validators = Validators.of(node(0), node(1))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        now = int(time.time())
        await peer.finish_handshake()
        peer.send(
            peer_list(passed_on(node(1), 1, now - 5)), peer_list(passed_on(node(1), 2, now - 10))
        )
        peer.send(Message(get_peer_list=NOBODY_ASKED))

        told = (await peer.receive_kind("peer_list")).peer_list.claimed_ip_ports
        assert [claim.ip_port for claim in told] == [1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"signature": b"\x30\x00"}, "WrongTlsSignature"),
        ({"ip_port": 1}, "WrongTlsSignature"),
        ({"timestamp": 2**40}, "SignedInTheFuture"),
        ({"x509_certificate": b"none"}, "Certificate"),
        ({"ip_addr": b"abc"}, "AddressSize"),
        ({"ip_port": 0}, "PortZero"),
    ],
)
async def test_invalid_gossiped_address_closes_the_connection(
    change: dict[str, object], reason: str
) -> None:
    validators = Validators.of(node(1))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        claim = passed_on(node(1))
        for name, value in change.items():
            setattr(claim, name, value)

        peer.send(peer_list(claim))

        assert await peer.ended()
        await eventually(lambda: one.ended[reason] == 1, f"{reason} is not in {one.ended}")
        assert one.network.known_addresses() == 0


async def test_forged_address_of_a_non_validator_is_ignored() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        forged = passed_on(node(1))
        forged.signature = b"\x30\x00"
        peer.send(peer_list(forged), Message(ping={}))

        await peer.receive_kind("pong")
        assert one.network.known_addresses() == 0


async def test_known_addresses_are_not_sent() -> None:
    validators = Validators.of(node(1), node(2))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        now = int(time.time())
        await peer.finish_handshake()
        peer.send(peer_list(passed_on(node(1), 1, now), passed_on(node(2), 2, now)))
        await eventually(lambda: one.network.known_addresses() == 2)
        from network_app.bloom import SaltedBloom

        known = SaltedBloom(128, 0.001, 0.01)
        known.add(gossip_id(node(1).identity.node_id, now))
        entries, salt = known.marshal()

        asked = GetPeerList(known_peers=BloomFilter(filter=entries, salt=salt))
        peer.send(Message(get_peer_list=asked))

        told = (await peer.receive_kind("peer_list")).peer_list.claimed_ip_ports
        assert [claim.ip_port for claim in told] == [2]


async def test_address_list_has_at_most_fifteen_and_is_never_empty() -> None:
    many = [node(number) for number in range(10, 30)]
    async with running(node(0), Validators.of(*many)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.send(Message(get_peer_list=NOBODY_ASKED), Message(ping={}))
        kinds = [await peer.receive() for _ in range(1)]
        assert kinds[0].HasField("pong")

        for claims in (many[:10], many[10:]):
            peer.send(peer_list(*[passed_on(who, 1) for who in claims]))
        await eventually(lambda: one.network.known_addresses() == 20)
        peer.send(Message(get_peer_list=NOBODY_ASKED))

        assert len((await peer.receive_kind("peer_list")).peer_list.claimed_ip_ports) == 15


@pytest.mark.parametrize("wrong", [None, b"", b"\x00\x01", bytes([1]) + bytes(8)])
async def test_malformed_known_peers_filter_closes_the_connection(
    wrong: bytes | None,
) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        known = None if wrong is None else BloomFilter(filter=wrong)

        peer.send(Message(get_peer_list=GetPeerList(known_peers=known)))

        assert await peer.ended()
        await eventually(lambda: one.ended["KnownPeers"] == 1)


async def test_validators_are_asked_for_addresses_periodically() -> None:
    validators = Validators.of(node(99))
    async with running(node(0), validators) as one, stranger(one.address) as peer:
        await peer.finish_handshake()

        asked = await peer.receive_kind("get_peer_list")
        assert asked.get_peer_list.known_peers.filter
        assert not asked.get_peer_list.all_subnets
        await peer.receive_kind("get_peer_list")


async def test_non_validator_is_not_asked_for_addresses() -> None:
    async with running(node(0), ping_interval=0.5) as one, stranger(one.address) as peer:
        await peer.finish_handshake()

        assert (await peer.receive()).HasField("ping")
