"""Which validators a node connects to, and whose addresses it passes on."""

from collections.abc import Mapping

from network_app.bloom import EMPTY
from network_app.config import NetworkConfig
from network_app.handshake.claims import NodeClaim, claimed_ip_port
from network_app.handshake.handshake import MAX_SUBNETS
from network_app.peers.introductions import Introductions
from network_app.peers.members import Asker, NetworkMembers
from network_app.ports import ValidatorInfo
from network_app.wire.p2p_pb2 import PeerList
from primitives.identity import node_id_of
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders.nodes import NOW, node

OWN, PRIMARY, OF_L1, OF_OTHER = (node(number).identity.node_id for number in range(4))
L1, OTHER = ID(bytes([1]) * 32), ID(bytes([2]) * 32)


class Directory:
    """The Primary Network has two validators, and each of two subnets has one."""

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        members = {PRIMARY_NETWORK_ID: (OWN, PRIMARY), L1: (OF_L1,), OTHER: (OF_OTHER,)}
        return dict.fromkeys(members[subnet_id], ValidatorInfo(1, None))

    def uptime_of(self, node_id: NodeID) -> int:
        del node_id
        return 100


def introductions(*joined: ID, subnets: tuple[ID, ...] = ()) -> Introductions:
    """Return those of a node that has joined subnets and knows the addresses of all nodes."""
    own = node(0)
    made = Introductions(
        NodeClaim(own.identity.node_id, own.identity.certificate_der, own.claim()),
        NetworkConfig(12345, dials_private=True),
        Directory(),
        is_tracked=lambda _: False,
        news=lambda: None,
        subnets=lambda: subnets or joined,
        joined=lambda: joined,
        wall=lambda: NOW,
    )
    claims = [
        claimed_ip_port(node(number).identity.certificate_der, node(number).claim())
        for number in range(1, 4)
    ]
    made.learn(PeerList(claimed_ip_ports=claims))
    return made


def shown(made: Introductions, asker: Asker) -> set[NodeID]:
    claims = made.peer_list(EMPTY, asker).peer_list.claimed_ip_ports
    return {node_id_of(claim.x509_certificate) for claim in claims}


def test_validators_of_joined_subnets_are_dialled() -> None:
    assert set(introductions().addresses()) == {PRIMARY}
    assert set(introductions(L1).addresses()) == {PRIMARY, OF_L1}
    assert set(introductions(L1, OTHER).addresses()) == {PRIMARY, OF_L1, OF_OTHER}


def test_members_are_the_primary_networks_and_the_joined_subnets_validators() -> None:
    members = NetworkMembers(Directory(), lambda: (L1,))
    assert set(members) == {OWN, PRIMARY, OF_L1}
    assert OF_L1 in members
    assert OF_OTHER not in members
    assert not members.is_primary(OF_L1)


def test_addresses_of_a_subnets_validators_are_for_nodes_that_track_it() -> None:
    made, stranger = introductions(L1, OTHER), node(5).identity.node_id
    assert shown(made, Asker(stranger)) == {PRIMARY}
    assert shown(made, Asker(stranger, (L1,))) == {PRIMARY, OF_L1}
    assert shown(made, Asker(stranger, (L1,), all_subnets=True)) == {PRIMARY, OF_L1}
    assert shown(made, Asker(PRIMARY, (), all_subnets=True)) == {OF_L1, OF_OTHER}


def test_a_handshake_names_the_joined_subnets_first() -> None:
    many = tuple(ID(bytes([0, number]) * 16) for number in range(20))
    tracked = introductions(L1, subnets=(*many, L1)).handshake().tracked_subnets
    assert len(tracked) == MAX_SUBNETS
    assert tracked[0] == bytes(L1)
