"""A node that validates among validators of the reference implementation: they decide together on the P-Chain."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from nodeproject.local_network import make_keys
from platform_app.genesis.built_in import reference_local_network
from platform_app.genesis.config import GenesisConfig, format_genesis_config
from platform_app.txs.base import Tx
from platform_app.txs.components import ProofOfPossession
from primitives.keys import EWOQ_KEY
from primitives.node_identity import IdentityFiles
from tests.e2e.network import NetworkNode, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, new_keys, raw
from tests.e2e.reference_validators import Beginning, ReferenceValidators

FEE = 10_000_000
SLOTS = 300.0
"""Seconds within which each of five owns a slot, but for once in a million runs."""


class Mixed(NamedTuple):
    """The node, and the four that it validates with."""

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
    """Return the genesis of the reference's local network with these nodes for its five validators."""
    config = reference_local_network(int(time.time()))
    stakers = tuple(
        replace(staker, node_id=files.node_id, signer=ProofOfPossession(*files.signer_key))
        for staker, files in zip(config.stakers, map(IdentityFiles.below, homes), strict=True)
    )
    return replace(config, stakers=stakers)


def start(node: NetworkNode) -> None:
    """Start a node without a C-Chain, and wait until it has the P-Chain."""

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
    """Return a transaction that nobody has seen."""
    rich = Wallet(EWOQ_KEY)
    with PlatformClient(node.port) as client:
        rich.look(client)
    return rich.pay([(new_keys(1)[0], 1_000_000)], fee=FEE)


def pay(node: NetworkNode) -> None:
    """Have the node propose a block."""
    tx = payment(node)
    with PlatformClient(node.port) as client:
        client.issue(raw(tx))


def decided(network: Mixed, at: int) -> None:
    """Wait until all have accepted a block at a height, and see that it is the same."""
    node, validators = network
    wait_for(lambda: min(validators.heights) >= at, "the others have accepted it", SLOTS)
    wait_for(lambda: height(node) >= at, "the node has accepted it")
    assert len({one.voting.accepted[at] for one in validators.all}) == 1
    assert validators.wrong == []


def test_what_it_proposes_is_decided_by_their_votes(network: Mixed) -> None:
    """The first block belongs to nobody, the next one is made and signed in the node's own slot."""
    node, validators = network
    for at in (1, 2):
        pay(node)
        decided(network, at)
    heard = [one.heard[node.node_id] for one in validators.all]
    assert all(one["push_query"] and one["pull_query"] and one["chits"] for one in heard)


def test_it_votes_for_what_they_propose(network: Mixed) -> None:
    node, validators = network
    before = height(node)
    proposed = validators.propose(1, payment(node))
    decided(network, before + 1)
    assert {one.voting.accepted[before + 1] for one in validators.all} == {proposed}
    assert any(proposed in one.voted_for[node.node_id] for one in validators.all)


def test_it_comes_back_to_what_they_have_decided_without_it(network: Mixed) -> None:
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
