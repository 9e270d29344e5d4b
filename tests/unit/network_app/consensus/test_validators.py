"""The sampled validators, those that count as connected, and the limit of benched ones."""

from random import Random

from network_app.consensus.validators import REFRESH, CurrentValidators
from network_app.peers.bench import Bench
from network_app.ports import ValidatorInfo
from network_app.snowman.parameters import SnowParameters
from primitives.ids import NodeID
from tests.builders.memory_network import node_id
from tests.builders.voting import CONFIG, OWN, PEERS, Peers


class Case:
    """The validators of a directory, with a clock that the test advances."""

    def __init__(self, peers: Peers | None = None) -> None:
        self.peers, self.bench, self.now = peers or Peers(), Bench(CONFIG), 0.0
        self.validators = CurrentValidators(
            self.peers,
            self.bench,
            SnowParameters(),
            own=OWN,
            alias="P",
            random=Random(1),
            clock=lambda: self.now,
        )

    def silent(self, node_id: NodeID, alias: str = "P") -> None:
        """Let a node fail to answer until it could be benched."""
        for _ in range(9):
            self.bench.failed(node_id, alias, self.now)
        self.now += REFRESH


def test_own_node_counts_as_connected() -> None:
    case = Case()
    assert case.validators.connected_share() == 0.2
    for peer in PEERS[:2]:
        case.validators.connected(peer)
    assert case.validators.connected_share() == 0.6
    case.validators.disconnected(PEERS[0])
    assert case.validators.connected_share() == 0.4
    assert case.validators.stake().absent == dict.fromkeys((PEERS[0], *PEERS[2:]), 1000)


def test_non_validator_has_no_stake() -> None:
    case = Case(Peers(PEERS))
    case.validators.connected(node_id("stranger"))
    assert case.validators.connected_share() == 0.0  # this node does not count either
    assert not case.validators.is_validator(OWN)
    assert case.validators.random_connected() is None


def test_no_validators_give_no_sample() -> None:
    case = Case(Peers(()))
    assert case.validators.connected_share() == 0.0
    assert case.validators.sample(20) is None


def test_all_are_drawn_by_stake_wherever_they_are() -> None:
    case = Case()
    case.peers.facts[OWN] = ValidatorInfo(6000, None)
    drawn = [case.validators.sample(20) for _ in range(200)]
    shares = {peer: sum((d or {})[peer] for d in drawn) / 4000 for peer in (OWN, *PEERS)}
    assert set(shares) == {OWN, *PEERS}
    assert abs(shares[OWN] - 0.6) < 0.05


def test_frontier_is_requested_from_a_connected_validator() -> None:
    case = Case()
    assert case.validators.random_connected() is None
    for peer in PEERS[:2]:
        case.validators.connected(peer)
    assert {case.validators.random_connected() for _ in range(50)} == set(PEERS[:2])


def test_benched_validator_counts_as_disconnected() -> None:
    peers = Peers()
    peers.facts |= dict.fromkeys((OWN, *PEERS[1:]), ValidatorInfo(5000, None))
    case = Case(peers)
    for peer in PEERS:
        case.validators.connected(peer)
    case.silent(PEERS[0])
    assert case.validators.is_benched(PEERS[0])
    assert case.validators.stake().absent == {PEERS[0]: 1000}
    case.silent(PEERS[1], alias="C")
    assert not case.validators.is_benched(PEERS[1])
    case.now += CONFIG.bench_time
    assert not case.validators.is_benched(PEERS[0])


def test_benched_stake_is_limited() -> None:
    case = Case()
    for peer in PEERS:
        case.validators.connected(peer)
        case.silent(peer)
    assert not any(map(case.validators.is_benched, PEERS))  # a fifth exceeds a twelfth
    assert case.validators.connected_share() == 1.0


def test_benched_peers_are_read_at_intervals() -> None:
    stranger = node_id("stranger")
    case = Case()
    assert not case.validators.is_benched(stranger)
    for _ in range(9):
        case.bench.failed(stranger, "P", case.now)
    assert not case.validators.is_benched(stranger)
    case.now += REFRESH
    assert case.validators.is_benched(stranger)
