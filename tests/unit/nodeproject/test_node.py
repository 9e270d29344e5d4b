"""A node is an object: two in one process share nothing, and changed settings need a new one."""

from typing import Any

import pytest
from django.conf import settings as given

from cchain_app.apps import evm_chain
from nodeproject.apps import this_node
from nodeproject.node import Node
from platform_app.apps import platform_chain
from tests.builders.node_settings import updated

PARTS = (
    "evm_chain", "platform_chain", "turn", "evm_rpc", "platform_rpc", "observation", "endpoints", "plain",
)  # fmt: skip


def test_two_nodes_share_nothing() -> None:
    one, another = Node(given.NODE), Node(updated(given.NODE, network_id=5, batch_limit=7))

    for name in ("processes", *PARTS):
        assert getattr(one, name) is not getattr(another, name)
    for name in ("gate_config", "workers", "interpreter", "memory", "connections", "cchain"):
        assert getattr(one.endpoints, name) is not getattr(another.endpoints, name)
    assert one.platform_chain.config.network_id == given.NODE.common.network_id
    assert another.platform_chain.config.network_id == 5


def test_parts_of_a_node_belong_to_it() -> None:
    node = Node(given.NODE)

    for name in PARTS:
        assert getattr(node, name) is getattr(node, name)
    assert node.evm_rpc.chain is node.evm_chain
    assert node.platform_rpc.chain is node.platform_chain
    assert node.observation.metrics is node.processes.process


@pytest.mark.parametrize(("network_id", "renews"), [(12345, True), (1337, False), (5, False)])
def test_validator_renews_on_the_local_network_only(network_id: int, *, renews: bool) -> None:
    node = Node(updated(given.NODE, network_id=network_id))

    assert (node.platform_runtime.vm.own is not None) is renews


def test_a_changed_setting_makes_another_node(settings: Any) -> None:
    before = this_node()

    settings.NODE = updated(settings.NODE, batch_limit=3)

    assert this_node() is not before
    assert this_node().settings is settings.NODE
    assert (evm_chain(), platform_chain()) == (this_node().evm_chain, this_node().platform_chain)
    assert this_node().processes is before.processes
