"""Validators by subnet: for connections and votes the current ones, for outer blocks those of a P-Chain height."""

from dataclasses import replace

import pytest
from django.conf import settings

from cchain_app.apps import evm_runtime
from network_app.chains.validators import ValidatorDirectory
from network_app.node import NodeNetwork
from platform_app.apps import platform_chain, platform_runtime
from platform_app.state.l1_validators import L1Validator
from platform_app.state.stakers import Priority
from platform_app.txs.l1 import PChainOwner
from primitives.hashing import sha256
from primitives.ids import EMPTY_NODE_ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_rows import accept, adding, begin

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.node_settings(consensus="snowman"),
    pytest.mark.usefixtures("node_settings"),
]

NODE, OTHER = platform.NODE_ID, NodeID(sha256(b"other")[:20])
SUBNET = platform.SUBNET_ID
PERMISSIONED = Priority.PERMISSIONED_VALIDATOR_CURRENT


def begin_with_subnet() -> None:
    """Begin with a validator of the Primary Network and a subnet, which has another one from height 1 on."""
    begin(adding()[1], adding(PERMISSIONED, weight=5)[1])
    accept(adding(PERMISSIONED, node_id=OTHER, weight=6)[1])


def test_the_directory_has_the_validators_of_each_subnet_of_the_node() -> None:
    begin_with_subnet()
    directory = ValidatorDirectory(platform_chain(), [SUBNET])
    assert directory.validators(SUBNET) == {}

    directory.read()

    weights = {one: facts.weight for one, facts in directory.validators(SUBNET).items()}
    assert weights == {NODE: 5, OTHER: 6}
    assert set(directory.validators()) == set(directory.validators(PRIMARY_NETWORK_ID)) == {NODE}
    assert directory.validators(platform.some_id("no subnet")) == {}


def test_the_directory_has_the_validators_of_an_l1() -> None:
    owner = PChainOwner(1, (platform.ADDRESSES[0],))
    key = platform.proof_of_possession().public_key
    paid = L1Validator(
        platform.some_id("paid"), SUBNET, OTHER, key, owner, owner, platform.NOW, 7, 0, 10**9
    )
    unpaid = replace(
        paid,
        validation_id=platform.some_id("unpaid"),
        node_id=NODE,
        weight=3,
        end_accumulated_fee=0,
    )
    begin_with_subnet()
    accept(lambda diff: diff.l1_validators.put(paid))
    accept(lambda diff: diff.l1_validators.put(unpaid))
    directory = ValidatorDirectory(platform_chain(), [SUBNET])

    directory.read()

    found = directory.validators(SUBNET)
    assert {one: facts.weight for one, facts in found.items()} == {
        NODE: 5,
        OTHER: 13,
        EMPTY_NODE_ID: 3,
    }
    assert found[OTHER].public_key == key


def test_the_proposers_of_a_height_are_those_of_the_chains_subnet() -> None:
    begin_with_subnet()
    network = NodeNetwork(
        settings.NODE.common, settings.NODE.peers, platform_runtime(), [evm_runtime()]
    )

    assert [network.validators(SUBNET).proposers(height) for height in (0, 1)] == [
        {NODE: 5}, {NODE: 5, OTHER: 6},
    ]  # fmt: skip
    assert set(network.validators().proposers(1)) == {NODE}
    assert network.validators() is network.validators(PRIMARY_NETWORK_ID)
    assert network.validators() is not network.validators(SUBNET)
