"""Voting metrics have the names and units of avalanchego, for each chain."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from cchain_app.apps import evm_chains
from health_app.metrics import network
from health_app.metrics.instruments import grouped
from network_app.store import consensus as store
from platform_app.apps import platform_chain
from tests.builders import network_rows
from tests.builders.consensus_report import REPORT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("pchain")]


class Scraped:
    """The rows that the metrics read."""

    def collect(self) -> list[Metric]:
        return grouped(network.of_consensus([platform_chain(), *evm_chains()]))


def scrape() -> dict[str, float]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Scraped())  # type: ignore[arg-type]
    lines = generate_latest(registry).decode().splitlines()
    shown = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in shown}


def test_node_without_voting_has_no_voting_metrics() -> None:
    assert scrape() == {}


def test_names_and_units_are_the_references() -> None:
    for alias in "PC":
        store.write(replace(REPORT, alias=alias), network_rows.ago(0))
    found = scrape()
    expected = {
        "max_verified_height": 3,
        "last_accepted_height": 1,
        "bootstrap_finished": 1,
        "blks_processing": 2,
        "blks_accepted_count": 1,
        "blks_accepted_sum": 0.5e9,
        "blks_rejected_count": 0,
        "blks_polls_accepted_count": 1,
        "blks_polls_accepted_sum": 20,
        "blks_accepted_container_size_sum": 300,
        "blks_build_accept_latency": 0.75e9,
        "consensus_latencies_count": 1,
        "consensus_latencies_sum": 0.5e9,
        "polls_successful_total": 40,
        "polls_failed_total": 2,
        "polls": 1,
        "poll_duration_count": 42,
        "poll_duration_sum": 1.25e9,
        "requests": 3,
        "blocked": 4,
        "blockers": 5,
        "non_verified_blks": 6,
        "blks_built_total": 1,
        "blk_builds_failed_total": 0,
        "equivocations_total": 1,
        "block_work_seconds_count": 3,
        "block_work_seconds_sum": 0.125,
        "issuer_stake_count": 6,
        "issuer_stake_sum": 12_000,
        "num_useless_put_bytes_total": 400,
        "num_useless_push_query_bytes_total": 500,
        "num_missing_accepted_blocks_total": 1,
        "num_processing_ancestor_fetches_unneeded_total": 90,
        "num_processing_ancestor_fetches_succeeded_total": 4,
        "num_processing_ancestor_fetches_dropped_total": 3,
        "num_processing_ancestor_fetches_failed_total": 2,
        "selected_vote_index_count": 94,
        "selected_vote_index_sum": 5,
        "blks_built_time_skew": -0.25e9,
    }
    for chain in "PC":
        shown = {name: found[f'svc_snowman_{name}{{chain="{chain}"}}'] for name in expected}
        assert shown == expected
    assert found['svc_snowman_poll_count_total{chain="C",reason="early_fail"}'] == 2
    assert found['svc_snowman_consensus_latencies_bucket{chain="C",le="1e+09"}'] == 1
    assert found['svc_snowman_consensus_latencies_bucket{chain="C",le="+Inf"}'] == 1
    assert found['svc_snowman_last_accepted_timestamp{chain="P"}'] > 0
    assert found['svc_snowman_blks_issued_total{chain="C",source="push_gossip"}'] == 3
    assert found['svc_proposervm_block_building_slot{chain="C"}'] == 2
    assert found['svc_proposervm_accepted_blocks_slot{chain="C"}'] == 1
    outer = 'svc_proposervm_last_accepted_timestamp{block_type="outer",chain="P"}'
    inner = 'svc_proposervm_last_accepted_timestamp{block_type="inner",chain="P"}'
    assert found[outer] == 1_700_000_003
    assert found[inner] == found['svc_snowman_last_accepted_timestamp{chain="P"}']
    assert found['svc_stake_percent_connected{chain="P"}'] == 0.8
    assert found['svc_stake_percent_needed{chain="P"}'] == 0.65
    assert found['svc_stake_total_weight{chain="P"}'] == 10_000
    assert found['svc_stake_num_validators{chain="P"}'] == 5
