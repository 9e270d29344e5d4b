"""Metrics of the voting on blocks, under the names and in the units of the reference (snowman.md 11).

Names of counters end in `_total`, as the format requires. docs/network.md lists the reference's metrics that are
missing here, with the reasons.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from cchain_app.apps import find_evm_chain
from cchain_app.selectors import figures as cchain
from chaindb.chains import P_CHAIN
from health_app.metrics.instruments import counter, gauge, histogram, summary
from network_app import selectors
from network_app.consensus.report import LATENCIES, WORK, ConsensusReport, Outcomes
from platform_app.apps import platform_chain

_NANOSECONDS: Final = 1_000_000_000


def of_consensus() -> Iterator[Metric]:
    """Yield the latest report of the network process; nothing if there is no voting."""
    for chain, report in selectors.consensus().items():
        time = _head_time(chain)
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


def _head_time(chain: str) -> int | None:
    """Return the time of the last accepted block in Unix seconds."""
    if chain == P_CHAIN:
        return platform_chain().tip().timestamp
    evm = find_evm_chain(chain)
    head = None if evm is None else cchain.head(evm)
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
