"""How a local network stands: what its nodes answer, whose stake is there, and whether that decides.

Nodes are asked over HTTP as any client asks them; one that does not answer says nothing.
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
    """What it takes for a block to be decided."""

    alpha: int
    k: int
    sole: str = ""
    """Node ID of the one that makes all blocks, where nobody votes."""

    @property
    def needed(self) -> float:
        """The share of the stake that a poll needs, 0 to 1."""
        return self.alpha / self.k

    def reached(self, present: int, total: int) -> bool:
        """Say whether so much stake of all can decide."""
        return present * self.k >= self.alpha * total

    def spare(self, present: Sequence[int], total: int) -> int:
        """Return how many of those that are present may go, whichever they are.

        Args:
            present: The stake of each; together they decide.
            total: The stake of all.
        """
        left, count = sorted(present), 0
        while left and self.reached(sum(left[:-1]), total):
            left.pop()  # the heaviest first
            count += 1
        return count


class Answers(NamedTuple):
    """What a node says of itself."""

    ready: bool
    p_height: int
    c_height: int | None
    """None of a node that leaves the C-Chain out."""
    peers: frozenset[str]
    """Node IDs."""
    stakes: Mapping[str, int]
    """Of the current validators, by node ID."""

    @classmethod
    def of(cls, url: str, node_id: str) -> Self | None:
        """Ask a node; None when it does not answer. Blocking for some seconds at most."""
        try:
            return cls(
                ready=is_ready(url, node_id),
                p_height=int(_call(url, "bc/P", "platform.getHeight")["height"]),
                c_height=_c_height(url),
                peers=frozenset(one["nodeID"] for one in _call(url, "info", "info.peers")["peers"]),
                stakes=stakes_of(url),
            )
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            return None

    def connected(self, node_id: str) -> float:
        """Return which share of the stake the node hears, with its own, 0 to 1."""
        heard = sum(self.stakes.get(one, 0) for one in {node_id, *self.peers})
        return heard / (sum(self.stakes.values()) or 1)


def is_ready(url: str, node_id: str) -> bool:
    """Say whether a node answers, and is this very node, and has all blocks."""
    try:
        with urllib.request.urlopen(f"{url}/ext/health/readiness", timeout=TIMEOUT) as answer:  # noqa: S310  # our own
            return bool(answer.status == 200 and answer.headers["node-id"] == node_id)
    except (OSError, HTTPException):
        return False


def stakes_of(url: str) -> dict[str, int]:
    """Return the stake of each current validator by its node ID, as a node has them.

    Raises:
        OSError: It does not answer.
        ValueError: It answers something else, as with `LookupError` and `TypeError`.
    """
    found = _call(url, "bc/P", "platform.getCurrentValidators")["validators"]
    return {one["nodeID"]: int(one["weight"]) for one in found}


def in_words(quorum: Quorum, stakes: Mapping[str, int], present: Collection[str]) -> str:
    """Say whether the network decides, and how many more nodes may be missing.

    Args:
        quorum: What is needed.
        stakes: Of all validators, by node ID.
        present: Node IDs of those that run.
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
        return "One node makes all blocks, and it runs: the network decides."
    return "The node that makes all blocks does not run: no block is made until it does."


def _c_height(url: str) -> int | None:
    try:
        return int(_call(url, "bc/C/rpc", "eth_blockNumber"), 16)
    except HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise


def _call(url: str, path: str, method: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    request = urllib.request.Request(  # noqa: S310  # our own
        f"{url}/ext/{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  # our own
        return json.load(answer)["result"]
