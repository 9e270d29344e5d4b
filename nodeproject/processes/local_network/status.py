"""The status of a local network: the answers of its nodes, the stake that is present, and whether that is a quorum.

Nodes are queried over HTTP like by any client; a node that does not answer has no status.
"""

import json
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError

TIMEOUT = 3.0
"""Seconds that a node has for each answer."""


class Quorum(NamedTuple):
    """The stake needed to decide a block."""

    alpha: int
    k: int
    sole: str = ""
    """Node ID of the sole block producer; empty if validators vote."""

    @property
    def needed(self) -> float:
        """The share of the stake that a poll needs, 0 to 1."""
        return self.alpha / self.k

    def reached(self, present: int, total: int) -> bool:
        """Return whether the stake that is present can decide, out of the total stake."""
        return present * self.k >= self.alpha * total

    def spare(self, present: Sequence[int], total: int) -> int:
        """Return how many of the present validators may fail, whichever they are.

        Args:
            present: The stake of each present validator; together they can decide.
            total: The stake of all validators.
        """
        left, count = sorted(present), 0
        while left and self.reached(sum(left[:-1]), total):
            left.pop()  # the largest stake first
            count += 1
        return count


class NodeStatus(NamedTuple):
    """A node's information about itself."""

    ready: bool
    p_height: int
    c_height: int | None
    """None for a node without the C-Chain."""
    peers: frozenset[str]
    """Node IDs."""
    stakes: Mapping[str, int]
    """The stakes of the current validators, by node ID."""

    @classmethod
    def of(cls, url: str, node_id: str, headers: Mapping[str, str]) -> Self | None:
        """Query a node, with headers that it needs; None if it does not answer. Blocks for some seconds at most."""
        try:
            return cls(
                ready=is_ready(url, node_id),
                p_height=int(_call(url, "bc/P", "platform.getHeight", headers)["height"]),
                c_height=_c_height(url, headers),
                peers=frozenset(
                    item["nodeID"] for item in _call(url, "info", "info.peers", headers)["peers"]
                ),
                stakes=stakes_of(url, headers),
            )
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            return None

    def connected(self, node_id: str) -> float:
        """Return the share of the stake that is connected to the node, including its own, 0 to 1."""
        heard = sum(self.stakes.get(peer, 0) for peer in {node_id, *self.peers})
        return heard / (sum(self.stakes.values()) or 1)


def is_ready(url: str, node_id: str) -> bool:
    """Return whether the node with this ID answers at the URL, and has all blocks."""
    try:
        with urllib.request.urlopen(f"{url}/ext/health/readiness", timeout=TIMEOUT) as answer:  # noqa: S310  # our own
            return bool(answer.status == 200 and answer.headers["node-id"] == node_id)
    except (OSError, HTTPException):
        return False


def stakes_of(url: str, headers: Mapping[str, str]) -> dict[str, int]:
    """Return the stake of each current validator by its node ID, as reported by a node.

    Raises:
        OSError: The node does not answer.
        ValueError: The answer is unexpected; also `LookupError` and `TypeError`.
    """
    found = _call(url, "bc/P", "platform.getCurrentValidators", headers)["validators"]
    return {item["nodeID"]: int(item["weight"]) for item in found}


def in_words(quorum: Quorum, stakes: Mapping[str, int], present: Collection[str]) -> str:
    """Describe whether the network can decide, and how many more nodes may be missing.

    Args:
        quorum: The stake needed for a decision.
        stakes: The stakes of all validators, by node ID.
        present: Node IDs of the running validators.
    """
    if quorum.sole:
        return _of_sole(runs=quorum.sole in present)
    total = sum(stakes.values())
    there = [weight for node_id, weight in stakes.items() if node_id in present]
    share = 100 * sum(there) / (total or 1)
    validators = f"{len(there)} of {len(stakes)} validators run, with {share:.0f} % of the stake"
    needed = f"{100 * quorum.needed:.0f} % must be there"
    if not quorum.reached(sum(there), total):
        return f"{validators}; {needed}: no block is decided until more of them run."
    spare = quorum.spare(there, total)
    rest = f"{spare} more may be missing" if spare else "no other may be missing"
    return f"{validators}; {needed}: the network decides, and {rest}."


def _of_sole(*, runs: bool) -> str:
    if runs:
        return "One node produces all blocks, and it runs: the network decides."
    return "The node that produces all blocks does not run: no block is produced until it does."


def _c_height(url: str, headers: Mapping[str, str]) -> int | None:
    try:
        return int(_call(url, "bc/C/rpc", "eth_blockNumber", headers), 16)
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise


def _call(url: str, path: str, method: str, headers: Mapping[str, str]) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    request = urllib.request.Request(  # noqa: S310  # our own
        f"{url}/ext/{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  # our own
        return json.load(answer)["result"]
