"""A running local network: watches its nodes, shows their status, and fulfils the requests of a second terminal.

The network survives the end of a node, and reports the consequences. It ends when it is interrupted, or when
every node has ended unexpectedly.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from nodeproject.processes.local_network import status
from nodeproject.processes.local_network.control import Control
from nodeproject.processes.local_network.directories import LocalNode
from nodeproject.processes.local_network.processes import NetworkNodeProcess, RequestRefused, State
from nodeproject.processes.local_network.status import NodeStatus, Quorum
from primitives.product import as_typed


def address_table(nodes: Sequence[LocalNode]) -> Table:
    """Return the table of the nodes' addresses; each node has the paths that the README lists."""
    table = Table(title="Local network", box=box.SIMPLE)
    for column in ("Node", "C-Chain RPC", "P-Chain RPC", "Admin", "Peers", "Node ID"):
        table.add_column(column, overflow="fold")
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


def status_table(
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
        table.add_column(column, overflow="fold")
    total = sum(stakes.values()) or 1
    for place, (node, answer) in enumerate(zip(nodes, answers, strict=True), 1):
        table.add_row(
            str(place),
            escape(_state(node, answer)),
            node["node_id"],
            f"{100 * stakes.get(node['node_id'], 0) / total:.0f} %",
            *(
                ("", "", "", "")
                if answer is None
                else (
                    str(answer.p_height),
                    "" if answer.c_height is None else str(answer.c_height),
                    str(len(answer.peers)),
                    f"{100 * answer.connected(node['node_id']):.0f} %",
                )
            ),
        )
    return table


def _state(node: Mapping[str, str], answer: NodeStatus | None) -> str:
    if node["state"] == State.RUNNING:
        return "does not answer" if answer is None else "ready" if answer.ready else "running"
    return ": ".join(filter(None, (node["state"], node["ending"])))


PATIENCE = 180.0
"""Seconds within which all nodes must be ready."""
_TURN = 0.3
"""Seconds between two checks of the nodes."""


class NetworkFailed(Exception):
    """The network did not start, or has ended; the message says why."""


class LocalNetworkRun:
    """The nodes and their processes.

    Args:
        nodes: The nodes.
        processes: The process of each node, in the same order; not started.
        quorum: The stake needed for a decision.
        say: Prints a message in this terminal.
        headers: Headers that the nodes' RPC interfaces need.
    """

    def __init__(
        self,
        nodes: Sequence[LocalNode],
        processes: Sequence[NetworkNodeProcess],
        quorum: Quorum,
        say: Callable[[str], None],
        headers: Mapping[str, str],
    ) -> None:
        self._headers = headers
        self._nodes = nodes
        self._processes = processes
        self._quorum = quorum
        self._say = say
        self._stakes = {str(node.node_id): 1 for node in nodes}
        self._is_up = False

    def start(self, control: Control) -> None:
        """Start all nodes, and return when they are ready, except those stopped or paused in the meantime.

        Raises:
            NetworkFailed: A node has ended, or the start takes too long.
        """
        for process in self._processes:
            process.start()
        until = time.monotonic() + PATIENCE
        waiting = list(range(len(self._nodes)))
        while waiting:
            self._turn(control)
            if time.monotonic() > until:
                raise NetworkFailed(f"not all nodes were ready within {PATIENCE:.0f} s")
            place = waiting.pop(0)
            node, process = self._nodes[place], self._processes[place]
            if process.state is State.RUNNING and not status.is_ready(node.url, str(node.node_id)):
                waiting.append(place)
        self._is_up = True

    def watch(self, control: Control) -> None:
        """Watch the nodes until an exception.

        Raises:
            NetworkFailed: Every node has ended unexpectedly.
        """
        while True:
            self._turn(control)
            if all(process.state is State.ENDED for process in self._processes):
                raise NetworkFailed("all nodes have ended")

    def _turn(self, control: Control) -> None:
        control.serve(_TURN, self._answer)
        for place, process in enumerate(self._processes, 1):
            if process.check():
                self._tell_end(place, process)

    def _tell_end(self, place: int, process: NetworkNodeProcess) -> None:
        """Report which node has ended, why, and the consequences."""
        last = process.last_line() or "nothing"
        why = f"{process.name} has ended: {process.ending}. The last line of its log: {last}"
        if not self._is_up:
            raise NetworkFailed(f"{why} (see {process.log})")
        self._say(why)
        self._say(f"The whole log is {process.log}.")
        self._say(self._status())
        self._say(
            f"`{as_typed(f'local_network start {place}')}` in a second terminal starts it again."
        )

    def _status(self) -> str:
        """Describe whether the running nodes can decide; asks one of them for the current validators."""
        present = {
            str(node.node_id): node
            for node, process in zip(self._nodes, self._processes, strict=True)
            if process.state is State.RUNNING
        }
        for node in list(present.values())[:1]:
            try:
                self._stakes = status.stakes_of(node.url, self._headers)
            except (OSError, HTTPException, ValueError, LookupError, TypeError):
                continue  # keep the known stakes
        return status.in_words(self._quorum, self._stakes, present)

    def _answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Fulfil a request and return the state of all nodes.

        Raises:
            RequestRefused: The request cannot be fulfilled.
        """
        action = request.get("action")
        if action in {"stop", "start", "pause"}:
            self._change(str(action), request.get("node"))
        elif action != "status":
            raise RequestRefused(f"unknown request: {action!r}")
        return {
            "quorum": self._quorum._asdict(),
            "nodes": [
                {
                    "url": node.url,
                    "node_id": str(node.node_id),
                    "state": process.state.value,
                    "ending": process.ending,
                }
                for node, process in zip(self._nodes, self._processes, strict=True)
            ],
        }

    def _change(self, action: str, number: Any) -> None:
        """Start, stop or pause a node.

        Raises:
            RequestRefused: There is no such node, or its state does not allow the action.
        """
        count = len(self._processes)
        if not isinstance(number, int) or not 1 <= number <= count:
            raise RequestRefused(f"there is no node {number}: this network has nodes 1 to {count}")
        process = self._processes[number - 1]
        if process.check():  # a process may have ended since the last check
            self._tell_end(number, process)
        paused = process.state is State.PAUSED
        getattr(process, action)()
        done = {"stop": "is being stopped", "pause": "is paused"}.get(
            action, "is resumed" if paused else "is started"
        )
        self._say(f"{process.name} {done}, as requested in a second terminal. {self._status()}")
