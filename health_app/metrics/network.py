"""Metrics of peers and of each chain's bootstrapping, from the rows that the network process writes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from prometheus_client.core import Metric

from cchain_app.apps import evm_chain
from health_app.metrics.instruments import counter, gauge
from network_app import selectors
from network_app.apps import node_network
from network_app.selectors import is_fresh
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.selectors import subnets
from primitives.ids import ID, PRIMARY_NETWORK_ID

_NANOSECONDS: Final = 1_000_000_000
_MAX_SUBNETS: Final = 64
"""Peers may claim to track any subnet; only the most tracked ones are counted, up to this number."""


def of_network() -> Iterator[Metric]:
    """Yield the latest report of the network process."""
    reported, now = selectors.status(), datetime.now(UTC)
    fresh = reported is not None and is_fresh(reported)
    # On other nodes there is no network process, so an alert on it would be false.
    if settings.NODE.peers.network and evm_chain().fork is None:
        yield gauge("network_process_up", fresh)
    yield gauge("network_peers", reported.connected if reported is not None and fresh else 0)
    if reported is None:
        return
    yield from _traffic(reported, now)
    yield from _dial_failures(reported)
    connected = selectors.peers()
    yield from _peers(connected)
    yield from _stake(connected)


def of_bootstrap() -> Iterator[Metric]:
    """Yield the progress of each chain's bootstrapping."""
    rows = selectors.syncs()
    for chain in node_network().chains:
        yield gauge("chain_bootstrapped", selectors.is_bootstrapped(chain), chain=chain)
        row = rows.get(chain)
        if row is None:
            continue
        yield gauge("bootstrap_start_height", row.start_height, chain=chain)
        yield gauge("bootstrap_height", row.height, chain=chain)
        yield gauge("bootstrap_target_height", row.target_height, chain=chain)
        yield gauge("bootstrap_fetched_blocks", row.fetched, chain=chain)
        yield gauge("bootstrap_blocks_per_second", row.blocks_per_second or 0.0, chain=chain)
        yield gauge("network_blocks_outstanding", row.outstanding, chain=chain)
        if row.seconds_left is not None:
            yield gauge("bootstrap_eta_seconds", row.seconds_left, chain=chain)


def _traffic(reported: selectors.Status, now: datetime) -> Iterator[Metric]:
    yield gauge("network_start_time_seconds", reported.started_at.timestamp())
    yield gauge("network_known_nodes", reported.known)
    yield counter("network_messages", reported.messages_sent, direction="sent")
    yield counter("network_messages", reported.messages_received, direction="received")
    yield counter("network_bytes", reported.bytes_sent, direction="sent")
    yield counter("network_bytes", reported.bytes_received, direction="received")
    yield counter("network_send_failures", reported.send_failures)
    yield gauge("network_send_fail_rate", reported.send_fail_rate)
    yield counter("network_times_connected", reported.times_connected)
    yield counter("network_times_disconnected", reported.times_disconnected)
    sent = _since(reported.last_sent_at or reported.started_at, now)
    yield gauge("network_time_since_last_msg_sent", sent)
    received = _since(reported.last_received_at or reported.started_at, now)
    yield gauge("network_time_since_last_msg_received", received)


def _dial_failures(reported: selectors.Status) -> Iterator[Metric]:
    for failure in selectors.dial_failures(reported):
        address = failure.address
        yield gauge("network_bootstrapper_failing", 1, address=address, reason=failure.reason)
        if failure.clock_offset is not None:
            yield gauge(
                "network_bootstrapper_clock_offset_seconds", failure.clock_offset, address=address
            )


def _peers(connected: Sequence[Any]) -> Iterator[Metric]:
    tracked = Counter(text for peer in connected for text in set(peer.tracked_subnets))
    primary = str(PRIMARY_NETWORK_ID)
    tracked[primary] = len(connected)
    for subnet in (primary, *_existing(tracked, primary)):
        yield gauge("network_peers_subnet", tracked[subnet], subnetID=subnet)
    benched = Counter(alias for peer in connected for alias in set(peer.benched))
    for chain in node_network().chains:
        yield gauge("network_peers_benched", benched[chain], chain=chain)


def _stake(peers: Sequence[Any]) -> Iterator[Metric]:
    """Yield the connected stake and this node's uptime as peers report it; nothing before the P-Chain's genesis."""
    try:
        connected = selectors.connected_stake(peers)
        uptime = selectors.uptime_of_self(peers)
    except NoPlatformGenesis:
        return
    yield gauge("network_connected_stake_ratio", connected.fraction)
    if uptime is not None:
        yield gauge("network_node_uptime_weighted_average", uptime.weighted_average)
        yield gauge("network_node_uptime_rewarding_stake", uptime.rewarding_stake)


def _existing(tracked: Counter[str], primary: str) -> list[str]:
    """Return those of the tracked subnets that exist; only the most tracked ones are considered."""
    subnet_ids = [ID.parse(text) for text, _ in tracked.most_common(_MAX_SUBNETS)]
    known_subnets = [
        str(subnet.subnet_id) for subnet in subnets.subnets(platform_chain(), subnet_ids)
    ]
    return [text for text in known_subnets if text != primary]


def _since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) * _NANOSECONDS
