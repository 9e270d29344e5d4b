"""Metrics of peers, of each chain's bootstrapping, and of the voting on blocks.

They come from the rows that the network process writes. Metrics of the voting have the names and units of the
reference (snowman.md 11). Names of counters end in `_total`, as the format requires. docs/network.md lists the
reference's metrics that are missing here, with the reasons.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from prometheus_client.core import Metric

from cchain_app.chain import EvmChain
from cchain_app.selectors import figures as evm_figures
from chaindb.chains import NodeChain, is_left_out
from health_app.metrics.instruments import counter, gauge, histogram, summary
from network_app import selectors
from network_app.consensus.report import LATENCIES, WORK, ConsensusReport, Outcomes
from network_app.selectors import is_fresh
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.selectors import subnets
from primitives.ids import ID, PRIMARY_NETWORK_ID
from xchain_app.chain import AvmChain

_NANOSECONDS: Final = 1_000_000_000
_MAX_SUBNETS: Final = 64
"""Peers may claim to track any subnet; only the most tracked ones are counted, up to this number."""


def of_network(platform: PlatformChain, evms: Sequence[EvmChain]) -> Iterator[Metric]:
    """Yield the latest report of the network process; the C-Chain comes first."""
    reported, now = selectors.status(), datetime.now(UTC)
    fresh = reported is not None and is_fresh(reported)
    # On other nodes there is no network process, so an alert on it would be false.
    if settings.NODE.peers.network and evms[0].fork is None:
        yield gauge("network_process_up", fresh)
    yield gauge("network_peers", reported.connected if reported is not None and fresh else 0)
    if reported is None:
        return
    yield from _traffic(reported, now)
    yield from _dial_failures(reported)
    connected = selectors.peers()
    yield from _peers(connected, platform)
    yield from _benched(connected, (platform, *evms))
    yield from _node_stake(connected, platform)


def of_bootstrap(chains: Iterable[NodeChain]) -> Iterator[Metric]:
    """Yield the progress of each chain's bootstrapping."""
    rows = selectors.syncs()
    for chain in _taking_part(chains):
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


def _taking_part(chains: Iterable[NodeChain]) -> list[str]:
    """Return the names of the chains that this node runs."""
    return [chain.name for chain in chains if not is_left_out(chain.name)]


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


def _peers(connected: Sequence[Any], platform: PlatformChain) -> Iterator[Metric]:
    tracked = Counter(text for peer in connected for text in set(peer.tracked_subnets))
    primary = str(PRIMARY_NETWORK_ID)
    tracked[primary] = len(connected)
    for subnet in (primary, *_existing(tracked, primary, platform)):
        yield gauge("network_peers_subnet", tracked[subnet], subnet_id=subnet)


def _benched(connected: Sequence[Any], chains: Iterable[NodeChain]) -> Iterator[Metric]:
    benched = Counter(alias for peer in connected for alias in set(peer.benched))
    for chain in _taking_part(chains):
        yield gauge("network_peers_benched", benched[chain], chain=chain)


def _node_stake(peers: Sequence[Any], platform: PlatformChain) -> Iterator[Metric]:
    """Yield the connected stake and this node's uptime as peers report it; nothing before the P-Chain's genesis."""
    try:
        connected = selectors.connected_stake(platform, peers)
        uptime = selectors.uptime_of_self(platform, peers)
    except NoPlatformGenesis:
        return
    yield gauge("network_connected_stake_ratio", connected.fraction)
    if uptime is not None:
        yield gauge("network_node_uptime_weighted_average", uptime.weighted_average)
        yield gauge("network_node_uptime_rewarding_stake", uptime.rewarding_stake)


def _existing(tracked: Counter[str], primary: str, platform: PlatformChain) -> list[str]:
    """Return those of the tracked subnets that exist; only the most tracked ones are considered."""
    subnet_ids = [ID.parse(text) for text, _ in tracked.most_common(_MAX_SUBNETS)]
    known_subnets = [str(subnet.subnet_id) for subnet in subnets.subnets(platform, subnet_ids)]
    return [text for text in known_subnets if text != primary]


def _since(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) * _NANOSECONDS


def of_consensus(chains: Iterable[NodeChain]) -> Iterator[Metric]:
    """Yield the latest report of the network process on the voting of each chain; nothing if there is no voting."""
    by_name = {chain.name: chain for chain in chains}
    for chain, report in selectors.consensus().items():
        time = _head_time(by_name.get(chain))
        yield from _heights(chain, report, time)
        yield from _decisions(chain, report)
        yield from _polls(chain, report)
        yield from _tables(chain, report)
        yield from _issues(chain, report)
        yield from _proposals(chain, report, time)
        yield from _stake(chain, report)


def _heights(chain: str, report: ConsensusReport, time: int | None) -> Iterator[Metric]:
    yield gauge("snowman_bootstrap_finished", report.is_running, chain=chain)
    yield gauge("snowman_max_verified_height", report.max_verified_height, chain=chain)
    yield gauge("snowman_last_accepted_height", report.last_height, chain=chain)
    if time is not None:
        yield gauge("snowman_last_accepted_timestamp", time, chain=chain)


def _head_time(chain: NodeChain | None) -> int | None:
    """Return the time of the last accepted block in Unix seconds."""
    if isinstance(chain, PlatformChain | AvmChain):
        return chain.tip().timestamp
    head = evm_figures.head(chain) if isinstance(chain, EvmChain) else None
    return None if head is None else head.timestamp


def _decisions(chain: str, report: ConsensusReport) -> Iterator[Metric]:
    totals = report.totals
    yield gauge("snowman_blks_processing", report.tables.processing, chain=chain)
    yield from _outcomes("accepted", totals.accepted, chain)
    yield from _outcomes("rejected", totals.rejected, chain)
    yield gauge("snowman_blks_build_accept_latency", totals.lag * _NANOSECONDS, chain=chain)
    bounds = [bound * _NANOSECONDS for bound in LATENCIES]
    seconds = totals.accepted.seconds
    yield histogram(
        "snowman_consensus_latencies", bounds, totals.latencies, seconds * _NANOSECONDS, chain=chain
    )
    work = totals.work
    yield histogram("snowman_block_work_seconds", WORK, work.counts, work.seconds, chain=chain)
    yield counter("snowman_equivocations", totals.equivocations, chain=chain)


def _outcomes(what: str, sums: Outcomes, chain: str) -> Iterator[Metric]:
    nanoseconds = sums.seconds * _NANOSECONDS
    yield summary(f"snowman_blks_{what}", sums.blocks, nanoseconds, chain=chain)
    yield summary(f"snowman_blks_polls_{what}", sums.blocks, sums.polls, chain=chain)
    yield gauge(f"snowman_blks_{what}_container_size_sum", sums.size, chain=chain)


def _polls(chain: str, report: ConsensusReport) -> Iterator[Metric]:
    totals, durations = report.totals, report.totals.poll_seconds
    yield counter("snowman_polls_successful", totals.successful_polls, chain=chain)
    yield counter("snowman_polls_failed", totals.failed_polls, chain=chain)
    yield gauge("snowman_polls", report.tables.polls, chain=chain)
    finished, seconds = sum(totals.finished_polls.values()), sum(durations.values())
    yield summary("snowman_poll_duration", finished, seconds * _NANOSECONDS, chain=chain)
    for reason, number in totals.finished_polls.items():
        yield counter("snowman_poll_count", number, chain=chain, reason=reason.value)
        nanoseconds = durations.get(reason, 0.0) * _NANOSECONDS
        yield gauge(
            "snowman_poll_duration_by_reason", nanoseconds, chain=chain, reason=reason.value
        )


def _tables(chain: str, report: ConsensusReport) -> Iterator[Metric]:
    tables, totals = report.tables, report.totals
    yield gauge("snowman_requests", tables.requests, chain=chain)
    yield gauge("snowman_blocked", tables.pending, chain=chain)
    yield gauge("snowman_blockers", tables.blockers, chain=chain)
    yield gauge("snowman_non_verified_blks", tables.unverified, chain=chain)
    yield gauge("snowman_waiting", tables.waiting, chain=chain)
    yield counter("snowman_blks_built", totals.built, chain=chain)
    yield counter("snowman_blk_builds_failed", totals.failed_builds, chain=chain)
    yield counter("snowman_restarts", totals.restarts, chain=chain)


def _issues(chain: str, report: ConsensusReport) -> Iterator[Metric]:
    """Yield the sources of blocks, the blocks received in vain, and how votes were mapped to the blocks they count for."""
    issues = report.totals.issues
    issued = sum(issues.sources.values())
    for source, blocks in issues.sources.items():
        yield counter("snowman_blks_issued", blocks, chain=chain, source=source)
    yield summary("snowman_issuer_stake", issued, issues.issuer_stake, chain=chain)
    yield counter("snowman_num_useless_put_bytes", issues.useless_put_bytes, chain=chain)
    yield counter(
        "snowman_num_useless_push_query_bytes", issues.useless_push_query_bytes, chain=chain
    )
    yield counter("snowman_num_missing_accepted_blocks", issues.missing_accepted, chain=chain)
    for outcome, votes in issues.ancestor_fetches.items():
        yield counter(f"snowman_num_processing_ancestor_fetches_{outcome}", votes, chain=chain)
    yield summary("snowman_selected_vote_index", issues.votes, issues.vote_index, chain=chain)


def _proposals(chain: str, report: ConsensusReport, head_time: int | None) -> Iterator[Metric]:
    """Yield slots and times of outer blocks; none for events that have not occurred since the process started."""
    proposals = report.totals.proposals
    yield gauge("snowman_blks_built_time_skew", proposals.skew * _NANOSECONDS, chain=chain)
    if proposals.built_slot is not None:
        yield gauge("proposervm_block_building_slot", proposals.built_slot, chain=chain)
    if proposals.accepted_slot is not None:
        yield gauge("proposervm_accepted_blocks_slot", proposals.accepted_slot, chain=chain)
    times = {"outer": proposals.accepted_time, "inner": head_time}
    for kind, time in times.items():
        if time is not None:
            yield gauge("proposervm_last_accepted_timestamp", time, chain=chain, block_type=kind)


def _stake(chain: str, report: ConsensusReport) -> Iterator[Metric]:
    stake, needed = report.stake, report.parameters.min_connected_to_poll
    yield gauge("stake_percent_connected", stake.connected, chain=chain)
    yield gauge("stake_percent_needed", needed, chain=chain)
    yield gauge("stake_total_weight", stake.total, chain=chain)
    yield gauge("stake_num_validators", stake.validators, chain=chain)
