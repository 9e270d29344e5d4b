"""A node that validates together with reference validators: they decide on the P-Chain's blocks together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chaindb.chains import MISSING_VOTES
from network_app.wire import p2p_pb2 as p2p
from nodeproject.processes.local_network import make_keys
from platform_app.genesis.building import reference_local_network
from platform_app.genesis.config import GenesisConfig, format_genesis_config
from platform_app.txs.base import ProofOfPossession, Tx
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from primitives.node_identity import IdentityFiles
from primitives.product import NAME, VERSION
from tests.e2e.network import NetworkNode, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, new_keys, raw
from tests.e2e.reference_validators import Beginning, ReferenceValidators

FEE = 10_000_000
SLOTS = 300.0
"""Seconds within which each of five validators owns a slot, except once in a million runs."""


class Mixed(NamedTuple):
    """The node, and the four reference validators."""

    node: NetworkNode
    validators: ReferenceValidators


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    directory = tmp_path_factory.mktemp("reference")
    homes = [directory / f"node{place}" / "data" for place in range(5)]
    make_keys(homes, now=int(time.time()))
    own, *others = (IdentityFiles.below(home).keys for home in homes)
    genesis = directory / "platform.json"
    genesis.write_text(format_genesis_config(validated_by(homes)))
    validators = ReferenceValidators(Beginning.of(genesis), own, others)
    with validators.running():
        env = {
            "NODE_PARAMETERS": "avalanchego",
            "NODE_CHAINS": "P",
            "NODE_CONSENSUS": "snowman",
            "NODE_PLATFORM_GENESIS": str(genesis),
            "NODE_BOOTSTRAP": ",".join(f"{host}:{port}" for host, port in validators.addresses),
            "NODE_HEALTH_INTERVAL": "1",
        }
        with NetworkNode(homes[0].parent, ip="127.0.0.1", node_id=own.node_id, env=env) as node:
            start(node)
            yield Mixed(node, validators)


def validated_by(homes: Sequence[Path]) -> GenesisConfig:
    """Return the genesis of the reference's local network, with these nodes as its five validators."""
    config = reference_local_network(int(time.time()))
    stakers = tuple(
        replace(staker, node_id=files.node_id, signer=ProofOfPossession(*files.signer_key))
        for staker, files in zip(config.stakers, map(IdentityFiles.below, homes), strict=True)
    )
    return replace(config, stakers=stakers)


def start(node: NetworkNode) -> None:
    """Start a node without a C-Chain, and wait until its P-Chain is bootstrapped."""

    def is_ready() -> bool:
        try:
            return node.get("/ext/health/readiness")[0] == 200
        except OSError:
            return False

    node.start(wait=False)
    wait_for(is_ready, "it is ready")


def height(node: NetworkNode) -> int:
    return int(node.ask("platform.getHeight")["height"])


def payment(node: NetworkNode) -> Tx:
    """Return a new transaction."""
    rich = Wallet(EWOQ_KEY)
    with PlatformClient(node.port) as client:
        rich.look(client)
    return rich.pay([(new_keys(1)[0], 1_000_000)], fee=FEE)


def pay(node: NetworkNode) -> None:
    """Make the node propose a block."""
    tx = payment(node)
    with PlatformClient(node.port) as client:
        client.issue(raw(tx))


def decided(network: Mixed, at: int) -> None:
    """Wait until all nodes have accepted a block at a height, and check that it is the same block."""
    node, validators = network
    wait_for(lambda: min(validators.heights) >= at, "the others have accepted it", SLOTS)
    wait_for(lambda: height(node) >= at, "the node has accepted it")
    assert len({item.voting.accepted[at] for item in validators.all}) == 1
    assert validators.wrong == []


def test_own_block_is_decided_by_votes_of_the_reference(network: Mixed) -> None:
    """The first block is unsigned; the following ones are built and signed in the node's own slots."""
    node, validators = network
    before = height(node)
    for at in (before + 1, before + 2):
        pay(node)
        decided(network, at)
    heard = [item.heard[node.node_id] for item in validators.all]
    assert all(other["push_query"] and other["pull_query"] and other["chits"] for other in heard)


def test_node_votes_for_blocks_of_the_reference(network: Mixed) -> None:
    node, validators = network
    before = height(node)
    proposed = validators.propose(1, payment(node))
    decided(network, before + 1)
    assert {item.voting.accepted[before + 1] for item in validators.all} == {proposed}
    assert any(proposed in other.voted_for[node.node_id] for other in validators.all)


def test_node_catches_up_with_decisions_of_the_reference(network: Mixed) -> None:
    node, validators = network
    before = height(node)
    tx = payment(node)
    node.kill()
    validators.propose(2, tx)
    wait_for(lambda: min(validators.heights) > before, "four of five have decided", SLOTS)
    start(node)
    decided(network, before + 1)
    pay(node)
    decided(network, before + 2)


def test_node_serves_decided_blocks_to_the_reference(network: Mixed) -> None:
    node, validators = network
    before = height(node)
    pay(node)
    decided(network, before + 1)
    voting = validators.all[3].voting
    accepted = [bytes(item) for item in voting.accepted]

    def asked(request: Any) -> Any:
        return validators.question(3, node.node_id, request)

    assert asked(p2p.GetAcceptedFrontier()).container_id == accepted[-1]
    known = asked(p2p.GetAccepted(container_ids=[bytes(32), *accepted]))
    assert list(known.container_ids) == accepted
    line = [voting.blocks[other].raw for other in reversed(voting.accepted[1:])]
    ancestors = asked(p2p.GetAncestors(container_id=accepted[-1]))
    assert list(ancestors.containers)[: len(line)] == line
    assert asked(p2p.Get(container_id=accepted[1])).container == line[-1]
    chits = asked(p2p.PullQuery(container_id=accepted[-1], requested_height=1))
    assert chits.preferred_id_at_height == accepted[1]
    assert (chits.preferred_id, chits.accepted_id) == (accepted[-1], accepted[-1])
    assert chits.accepted_height == before + 1


def test_node_requests_an_unknown_block_from_its_voter(network: Mixed) -> None:
    node, validators = network
    unknown = ID(sha256(b"nobody has this"))
    query = p2p.PullQuery(container_id=bytes(unknown))
    chits = validators.question(0, node.node_id, query)
    assert len(chits.preferred_id) == ID.SIZE
    first, *others = validators.all
    wait_for(lambda: unknown in first.asked_for.get(node.node_id, ()), "it asks for the block")
    assert [other for other in others if unknown in other.asked_for.get(node.node_id, ())] == []
    assert validators.wrong == []


def test_node_warns_about_missing_votes_on_other_chains(network: Mixed) -> None:
    node, _ = network
    assert node.checks()["C"]["message"]["warning"] == MISSING_VOTES
    starts = node.log().split(f"{NAME} {VERSION} ")[1:]  # another test restarts it
    assert [log.count(MISSING_VOTES) for log in starts] == [1] * len(starts)
    assert starts
