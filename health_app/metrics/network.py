"""The peer network and the way of each chain to its frontier, from the rows of the network's process."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings

from chaindb.chains import present
from health_app.metrics.figures import Family, Figure, Kind
from network_app import selectors
from network_app.selectors.network import is_fresh
from platform_app.apps import platform_chain
from platform_app.chain import NoGenesis
from platform_app.selectors import subnets
from primitives.ids import ID, PRIMARY_NETWORK_ID

_NANOSECONDS: Final = 1_000_000_000
_MOST_SUBNETS: Final = 64
"""Peers may say that they track whatever they like; of so many subnets they are counted."""

_DIRECTION: Final = ("direction",)
_CHAIN: Final = ("chain",)

_PEERS: Final = Family("network_peers", "Connected peers.")
_PEERS_OF_SUBNET: Final = Family(
    "network_peers_subnet", "Connected peers that track a subnet.", labels=("subnetID",)
)
_BENCHED: Final = Family(
    "network_peers_benched", "Connected peers that are not asked on a chain.", labels=_CHAIN
)
_KNOWN: Final = Family(
    "network_known_nodes",
    "Validators and bootstrappers whose signed address is kept; no other peers, and not this node.",
)
_REPORTS: Final = Family(
    "network_process_up", "Whether the process that talks to peers reported lately."
)
_STARTED: Final = Family(
    "network_start_time_seconds", "When the process that talks to peers began."
)
_MESSAGES: Final = Family(
    "network_messages", "Messages to and from peers.", Kind.COUNTER, _DIRECTION
)
_BYTES: Final = Family("network_bytes", "Bytes to and from peers.", Kind.COUNTER, _DIRECTION)
_FAILURES: Final = Family("network_send_failures", "Messages that could not be sent.", Kind.COUNTER)
_FAIL_RATE: Final = Family(
    "network_send_fail_rate", "Part of the latest messages that could not be sent."
)
_CONNECTED: Final = Family("network_times_connected", "Peers that came.", Kind.COUNTER)
_DISCONNECTED: Final = Family("network_times_disconnected", "Peers that went.", Kind.COUNTER)
_SINCE_SENT: Final = Family(
    "network_time_since_last_msg_sent",
    "Nanoseconds since the last message to a peer, before the first one since the start.",
)
_SINCE_RECEIVED: Final = Family(
    "network_time_since_last_msg_received",
    "Nanoseconds since the last message from a peer, before the first one since the start.",
)
_STAKE: Final = Family(
    "network_connected_stake_ratio", "Part of the stake that is connected, with this node's own."
)
_AVERAGE: Final = Family(
    "network_node_uptime_weighted_average",
    "This node's uptime as its peers see it, in percent, weighted by stake.",
)
_REWARDING: Final = Family(
    "network_node_uptime_rewarding_stake",
    "Percent of the stake that saw this node online long enough for a reward.",
)

_BOOTSTRAPPED: Final = Family(
    "chain_bootstrapped", "Whether a chain has reached the network's frontier.", labels=_CHAIN
)
_START: Final = Family(
    "bootstrap_start_height", "Height at which the way to the frontier began.", labels=_CHAIN
)
_HEIGHT: Final = Family("bootstrap_height", "Height that was reached.", labels=_CHAIN)
_TARGET: Final = Family(
    "bootstrap_target_height", "Height of the frontier, as far as it is known.", labels=_CHAIN
)
_FETCHED: Final = Family(
    "bootstrap_fetched_blocks", "Blocks that were fetched and not executed yet.", labels=_CHAIN
)
_RATE: Final = Family("bootstrap_blocks_per_second", "Blocks executed in a second.", labels=_CHAIN)
_LEFT: Final = Family(
    "bootstrap_eta_seconds", "Time until the frontier, at that rate.", labels=_CHAIN
)
_UNDECIDED: Final = Family(
    "network_blocks_outstanding", "Blocks of peers that are not decided yet.", labels=_CHAIN
)


def of_network() -> Iterator[Figure]:
    """Walk what the network's process reported last."""
    reported, now = selectors.status(), datetime.now(UTC)
    fresh = reported is not None and is_fresh(reported)
    if settings.NODE.network:  # else there is no such process, and nobody should miss it
        yield _REPORTS.of(fresh)
    yield _PEERS.of(reported.connected if reported is not None and fresh else 0)
    if reported is None:
        return
    yield from _traffic(reported, now)
    yield from _peers(selectors.peers())
    yield from _stake()


def of_bootstrap() -> Iterator[Figure]:
    """Walk how far the chains are."""
    rows = selectors.syncs()
    for chain in present():
        yield _BOOTSTRAPPED.of(selectors.is_bootstrapped(chain), chain)
        row = rows.get(chain)
        if row is None:
            continue
        yield _START.of(row.start_height, chain)
        yield _HEIGHT.of(row.height, chain)
        yield _TARGET.of(row.target_height, chain)
        yield _FETCHED.of(row.fetched, chain)
        yield _RATE.of(row.blocks_per_second or 0.0, chain)
        yield _UNDECIDED.of(row.outstanding, chain)
        if row.seconds_left is not None:
            yield _LEFT.of(row.seconds_left, chain)


def _traffic(reported: selectors.Status, now: datetime) -> Iterator[Figure]:
    yield _STARTED.of(reported.started_at.timestamp())
    yield _KNOWN.of(reported.known)
    yield _MESSAGES.of(reported.messages_sent, "sent")
    yield _MESSAGES.of(reported.messages_received, "received")
    yield _BYTES.of(reported.bytes_sent, "sent")
    yield _BYTES.of(reported.bytes_received, "received")
    yield _FAILURES.of(reported.send_failures)
    yield _FAIL_RATE.of(reported.send_fail_rate)
    yield _CONNECTED.of(reported.times_connected)
    yield _DISCONNECTED.of(reported.times_disconnected)
    yield _SINCE_SENT.of(_since(reported.last_sent_at or reported.started_at, now))
    yield _SINCE_RECEIVED.of(_since(reported.last_received_at or reported.started_at, now))


def _peers(connected: Sequence[Any]) -> Iterator[Figure]:
    tracked = Counter(text for peer in connected for text in set(peer.tracked_subnets))
    primary = str(PRIMARY_NETWORK_ID)
    tracked[primary] = len(connected)
    for subnet in (primary, *_existing(tracked, primary)):
        yield _PEERS_OF_SUBNET.of(tracked[subnet], subnet)
    benched = Counter(alias for peer in connected for alias in set(peer.benched))
    for chain in present():
        yield _BENCHED.of(benched[chain], chain)


def _stake() -> Iterator[Figure]:
    """Walk what peers mean for stake and rewards; nothing before the P-Chain's genesis."""
    try:
        connected, uptime = selectors.connected_stake(), selectors.uptime_of_self()
    except NoGenesis:
        return
    yield _STAKE.of(connected.fraction)
    if uptime is not None:
        yield _AVERAGE.of(uptime.weighted_average)
        yield _REWARDING.of(uptime.rewarding_stake)


def _existing(tracked: Counter[str], primary: str) -> list[str]:
    """Return those of the subnets that there are, the most tracked ones first."""
    wanted = [ID.parse(text) for text, _ in tracked.most_common(_MOST_SUBNETS)]
    found = [str(one.subnet_id) for one in subnets.subnets(platform_chain(), wanted)]
    return [text for text in found if text != primary]


def _since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) * _NANOSECONDS
