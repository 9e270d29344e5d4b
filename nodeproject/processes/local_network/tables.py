"""Tables of a local network's nodes for the terminal: their addresses, and their status."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from nodeproject.processes.local_network.directories import LocalNode
from nodeproject.processes.local_network.processes import State
from nodeproject.processes.local_network.standing import NodeStatus


def place_table(nodes: Sequence[LocalNode]) -> Table:
    """Return the table of the nodes' addresses; each node has the paths that the README lists."""
    table = Table(title="Local network", box=box.SIMPLE)
    for column in ("Node", "C-Chain RPC", "P-Chain RPC", "Admin", "Peers", "Node ID"):
        table.add_column(column, no_wrap=True)
    for place, node in enumerate(nodes, 1):
        table.add_row(
            str(place),
            f"{node.url}/ext/bc/C/rpc",
            f"{node.url}/ext/bc/P",
            f"{node.url}/admin/",
            f"127.0.0.1:{node.staking_port}",
            str(node.node_id),
        )
    return table


def standing_table(
    nodes: Sequence[Mapping[str, str]],
    answers: Sequence[NodeStatus | None],
    stakes: Mapping[str, int],
) -> Table:
    """Return the table of the nodes' status; heights are those of their last accepted blocks.

    Args:
        nodes: The answer of the command that runs the nodes.
        answers: Each node's information about itself; None for a node that does not answer.
        stakes: The stakes of the validators, by node ID.
    """
    table = Table(title="Local network", box=box.SIMPLE)
    for column in (
        "Node", "State", "Node ID", "Stake", "P-Chain", "C-Chain", "Peers", "Connected stake",
    ):  # fmt: skip
        table.add_column(column, no_wrap=True)
    total = sum(stakes.values()) or 1
    for place, (node, one) in enumerate(zip(nodes, answers, strict=True), 1):
        table.add_row(
            str(place),
            escape(_state(node, one)),
            node["node_id"],
            f"{100 * stakes.get(node['node_id'], 0) / total:.0f} %",
            *(
                ("", "", "", "")
                if one is None
                else (
                    str(one.p_height),
                    "" if one.c_height is None else str(one.c_height),
                    str(len(one.peers)),
                    f"{100 * one.connected(node['node_id']):.0f} %",
                )
            ),
        )
    return table


def _state(node: Mapping[str, str], one: NodeStatus | None) -> str:
    if node["state"] == State.RUNNING:
        return "does not answer" if one is None else "ready" if one.ready else "running"
    return ": ".join(filter(None, (node["state"], node["ending"])))
