"""Rules of health: from measured values to the specification's messages and the texts of failures. Pure.

Shapes of messages: specification 2. Limits and texts: pchain.md 8.6. Durations are in seconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from health_app.result import Finding, Json
from info_app.go_texts import seconds_text
from primitives.ids import PRIMARY_NETWORK_ID

MAX_BLOCKS: Final = 256
LONGEST_BLOCK: Final = 30.0
MIN_CONNECTED_STAKE: Final = 0.8
MIN_PEERS: Final = 1
LONGEST_SILENCE: Final = 60.0
"""Time since the last message, in either direction."""
MAX_FAILED_SENDS: Final = 0.9
"""Share of messages that could not be sent."""
MAX_REQUESTS: Final = 1024
LONGEST_REQUEST: Final = 300.0


LONGEST_STANDSTILL: Final = 20.0
"""Unspecified: time in which other nodes may leave a due block unmade. Together with the interval of the checks,
every node reports the standstill within half a minute."""


@dataclass(frozen=True, slots=True)
class Outstanding:
    """Work in progress: blocks or requests that have started and not ended."""

    count: int = 0
    longest: float = 0.0
    """How long the oldest has been in progress."""


class ConsensusLimits(NamedTuple):
    """Upper limits for the number and age of undecided blocks, and the least share of stake that must be connected."""

    blocks: int = MAX_BLOCKS
    seconds: float = LONGEST_BLOCK
    stake: float = MIN_CONNECTED_STAKE
    """The share of stake that must be connected, 0 to 1."""


class Standstill(NamedTuple):
    """A block that other nodes should have made."""

    transactions: int
    """Number of transactions that wait for the block; 0 if it is due because a staker starts or ends."""
    seconds: float
    maker: str
    """The node that makes all blocks; empty if the validators vote."""
    connected: bool
    """Whether this node is connected to the maker."""


class NetworkTraffic(NamedTuple):
    """The values that the network process reports."""

    connected: int
    send_fail_rate: float
    since_sent: float
    """Time since the last message was sent; before the first one, since the network started."""
    since_received: float
    has_sent: bool
    has_received: bool
    silent: float | None
    """Time since the last report, if that is too long; None if reports arrive or none are expected."""
    failures: tuple[str, ...] = ()
    """Why bootstrappers are not connected, one text per bootstrapper."""


def evm_chain(
    blocks: Outstanding,
    refusal: str = "",
    obstacle: str = "",
    standstill: Standstill | None = None,
    *,
    limits: ConsensusLimits = ConsensusLimits(),  # noqa: B008  # a constant
) -> Finding:
    """Judge an EVM chain: no block may be stuck.

    Unspecified: the chain is also unhealthy if the database rejects writes (`refusal`), if the network accepted a
    block that this node rejects (`obstacle`), or if the nodes that should make blocks have stalled (`standstill`).
    """
    message = {"consensus": _consensus(blocks), "vm": None}
    faults = _block_faults(blocks, limits, refusal, obstacle) + _standstill_faults(standstill)
    return Finding(message, _error_text("consensus is not healthy", faults))


def absent(text: str, warning: str = "") -> Finding:
    """Return the finding for a chain that this node does not take part in: the check passes.

    Unspecified: the reference has no check for such a chain; here all six always exist. For a validator with
    partial sync the reference has a check that fails (`validation`); here the message contains a warning.
    """
    message = {"consensus": text, "vm": None}
    return Finding({**message, "warning": warning} if warning else message)


def p_chain(
    blocks: Outstanding,
    connected_stake: float,
    refusal: str = "",
    obstacle: str = "",
    standstill: Standstill | None = None,
    *,
    in_network: bool,
    limits: ConsensusLimits = ConsensusLimits(),  # noqa: B008  # a constant
) -> Finding:
    """Judge the P-Chain: no block may be stuck, and enough stake (0 to 1) must be connected.

    Unspecified: a network of one node has no peers, so the stake is then part of the message but not judged.
    """
    message = {"consensus": _consensus(blocks), "vm": {"percentConnected": connected_stake}}
    faults = _block_faults(blocks, limits, refusal, obstacle) + _standstill_faults(standstill)
    if in_network and connected_stake < limits.stake:
        faults.append(f"connected to {connected_stake:.2%} of the stake < {limits.stake:.2%}")
    return Finding(message, _error_text("consensus is not healthy", faults))


def x_chain(
    blocks: Outstanding,
    transactions: int,
    refusal: str = "",
    obstacle: str = "",
    standstill: Standstill | None = None,
    *,
    limits: ConsensusLimits = ConsensusLimits(),  # noqa: B008  # a constant
) -> Finding:
    """Judge the X-Chain: no block may be stuck.

    Unspecified: the specification's message is that of a graph of vertices. The chain is linear, so its vertices are
    blocks; `transactions` are those that wait for an outstanding block. The members of the other chains' messages stand
    beside them, and the rules are those of the other chains.
    """
    consensus = {
        "outstandingVertices": blocks.count,
        "snowstorm": {"outstandingTransactions": transactions},
        **_consensus(blocks),
    }
    faults = _block_faults(blocks, limits, refusal, obstacle) + _standstill_faults(standstill)
    message = {"consensus": consensus, "vm": None}
    return Finding(message, _error_text("consensus is not healthy", faults))


def bootstrapped(chains: Mapping[str, bool], waiting: str = "") -> Finding:
    """Judge the initial sync by the state of each chain of the Primary Network.

    Unspecified: if a sync has not begun, the error says why.
    """
    if all(chains.values()):
        return Finding([], "")
    error = "subnets not bootstrapped"
    return Finding([str(PRIMARY_NETWORK_ID)], f"{error}: {waiting}" if waiting else error)


def network(traffic: NetworkTraffic, *, in_network: bool) -> Finding:
    """Judge the connections to peers.

    Unspecified: before the first message the times of messages count from the network's start, because the
    specification always shows them. A network of one node needs no peers.
    """
    message = {
        "connectedPeers": traffic.connected,
        "sendFailRate": traffic.send_fail_rate,
        "timeSinceLastMsgSent": seconds_text(traffic.since_sent),
        "timeSinceLastMsgReceived": seconds_text(traffic.since_received),
    }
    faults = []
    if traffic.silent is not None:
        faults.append(f"the network's process has not reported for {seconds_text(traffic.silent)}")
    if in_network:
        faults += _connection_faults(traffic)
    return Finding(message, _error_text("network layer is unhealthy", faults))


def router(requests: Outstanding) -> Finding:
    """Judge the requests in progress."""
    longest = seconds_text(requests.longest)
    message = {"longestRunningRequest": longest, "outstandingRequests": requests.count}
    faults = []
    if requests.count > MAX_REQUESTS:
        faults.append(f"number of outstanding requests {requests.count} > {MAX_REQUESTS}")
    if requests.longest > LONGEST_REQUEST:
        limit = seconds_text(LONGEST_REQUEST)
        faults.append(f"time for longest request {longest} > {limit}")
    return Finding(message, _error_text("the router is not healthy", faults))


def _consensus(blocks: Outstanding) -> Json:
    return {
        "longestRunningBlock": seconds_text(blocks.longest),
        "outstandingBlocks": blocks.count,
    }


def _block_faults(
    blocks: Outstanding, limits: ConsensusLimits, refusal: str, obstacle: str
) -> list[str]:
    faults = [f"the database takes no writes: {refusal}"] if refusal else []
    if obstacle:
        faults.append(obstacle)
    if blocks.count > limits.blocks:
        faults.append(f"number of outstanding blocks {blocks.count} > {limits.blocks}")
    if blocks.longest > limits.seconds:
        running, limit = seconds_text(blocks.longest), seconds_text(limits.seconds)
        faults.append(f"time for longest running block {running} > {limit}")
    return faults


def _standstill_faults(standstill: Standstill | None) -> list[str]:
    if standstill is None or standstill.seconds <= LONGEST_STANDSTILL:
        return []
    since = seconds_text(standstill.seconds)
    plural = "" if standstill.transactions == 1 else "s"
    due = f"{standstill.transactions} transaction{plural} pending for {since}"
    if not standstill.transactions:
        due = f"a staker change is overdue by {since}"
    if not standstill.maker:
        reason = "the validators accept no blocks"
    elif standstill.connected:
        reason = f"{standstill.maker} builds no blocks"
    else:
        reason = f"{standstill.maker}, which builds all blocks, is not connected"
    return [f"{due}, but {reason}"]


def _connection_faults(traffic: NetworkTraffic) -> list[str]:
    faults = []
    if traffic.connected < MIN_PEERS:
        faults.append(f"not connected to a minimum of {MIN_PEERS} peer(s) only {traffic.connected}")
        faults += traffic.failures
    faults += _silence_faults("received from", traffic.since_received, ever=traffic.has_received)
    faults += _silence_faults("sent to", traffic.since_sent, ever=traffic.has_sent)
    if traffic.send_fail_rate > MAX_FAILED_SENDS:
        faults.append(f"rate of failed sends {traffic.send_fail_rate:g} > {MAX_FAILED_SENDS:g}")
    return faults


def _silence_faults(direction: str, seconds: float, *, ever: bool) -> list[str]:
    error = f"no messages {direction} network"
    if not ever:
        return [error]
    if seconds <= LONGEST_SILENCE:
        return []
    return [f"{error} in {seconds_text(seconds)} > {seconds_text(LONGEST_SILENCE)}"]


def _error_text(what: str, faults: Iterable[str]) -> str:
    reasons = ", ".join(faults)
    return f"{what} reason: {reasons}" if reasons else ""
