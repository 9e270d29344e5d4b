"""The `info.*` methods, served at `/ext/info` (specification 4.2; pchain.md 8.5).

As in the reference, no parameter is required and unknown ones are ignored: one SDK asks for its node's address by
calling info.getBlockchainID without params and expects the reference's error, another passes a chain to info.peers
and expects all peers.
"""

from collections.abc import Callable

from info_app.api import node, upgrades
from info_app.api import peers as connected
from info_app.api.node import BOOTSTRAPPED_SECONDS, REPORTED_SECONDS, to_error_object
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api import params
from platform_app.api.answers import CachedAnswers
from primitives.ids import EMPTY_NODE_ID


def methods(own: node.OwnNode, answers: CachedAnswers) -> MethodRegistry:
    """Return the `info.*` methods of a node.

    Args:
        own: The node.
        answers: The cache of its P-Chain's answers.
    """
    table = MethodRegistry(to_error_object)
    _node(table, own, answers)
    _chains(table, answers)
    _network(table)
    return table


def _node(methods: MethodRegistry, own: node.OwnNode, answers: CachedAnswers) -> None:
    def add_reported(name: str, handler: Callable[..., object]) -> None:
        methods.add(name, answers.kept(name, handler, REPORTED_SECONDS), hot=True)

    methods.add("info.getNodeID", own.get_node_id, hot=True)
    add_reported("info.getNodeVersion", own.get_node_version)
    add_reported("info.getNodeIP", node.get_node_ip)
    methods.add("info.getNetworkID", node.get_network_id, hot=True)
    methods.add("info.getNetworkName", node.get_network_name, hot=True)
    methods.add("info.getTxFee", node.get_tx_fee, hot=True)
    methods.add("info.getVMs", node.get_vms, hot=True)


def _chains(methods: MethodRegistry, answers: CachedAnswers) -> None:
    methods.add(
        "info.getBlockchainID",
        answers.kept("info.getBlockchainID", node.get_blockchain_id),
        params=[Param("alias", params.text, "")],
        hot=True,
    )
    methods.add(
        "info.isBootstrapped",
        answers.kept("info.isBootstrapped", node.is_bootstrapped, BOOTSTRAPPED_SECONDS),
        params=[Param("chain", params.text, "")],
        hot=True,
    )


def _network(methods: MethodRegistry) -> None:
    nodes = params.few_of("node IDs", params.node_id, EMPTY_NODE_ID)
    methods.add("info.peers", connected.peers, params=[Param("nodeIDs", nodes, ())])
    methods.add("info.uptime", connected.uptime)
    methods.add("info.upgrades", upgrades.upgrades, hot=True)
    methods.add("info.acps", upgrades.acps)
