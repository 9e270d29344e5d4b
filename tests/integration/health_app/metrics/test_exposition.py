"""GET /ext/metrics: values required by the specification, values from rows, and values without rows."""

import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.core import Metric

from cchain_app.apps import evm_chain, evm_chains
from cchain_app.services.genesis import load_genesis
from health_app.metrics import chains
from health_app.metrics.exposition import MetricsCollector as MetricsPage
from health_app.metrics.exposition import RowCounts, parts
from jsonrpc.dispatch.calls import NOT_EXECUTED
from nodeproject.apps import this_node
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from platform_app.store.l1_validators import owner_bytes
from platform_app.txs.l1 import PChainOwner
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import network_rows, platform
from tests.integration.conftest import Chain
from tests.integration.health_app.metrics.conftest import Page, names, parse, scrape
from tests.integration.platform_app.conftest import PChain

STATEMENTS = 30
"""The most statements that a scrape may take, however long the chains are."""


def test_promtool_objects_to_avalanchegos_names_only(text: str) -> None:
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    complaints = [line for line in (checked.stdout + checked.stderr).splitlines() if line]
    sums = [f"svc_snowman_blks_{what}_container_size_sum" for what in ("accepted", "rejected")]
    assert complaints == [
        f'{metric} non-histogram and non-summary metrics should not have "_sum" suffix'
        for metric in sums
    ]


def test_the_two_figures_of_the_specification_have_no_labels(page: Page) -> None:
    assert page["svc_network_peers"] == 1
    assert page["svc_health_checks_failing"] == 6  # none has run yet
    for name in ("svc_network_peers", "svc_health_checks_failing"):
        assert [line for line in page if line.startswith(name + "{")] == []


def test_calls_are_counted_by_interface(page: Page) -> None:
    for interface in ("C", "P", "X", "keystore", "info", "health"):
        assert page[f'svc_api_calls_total{{api="{interface}",method="unknown"}}'] >= 1
    code = 'svc_api_errors_total{api="C",code="-32601",method="unknown"}'
    assert page[code] >= 1


def test_label_for_unknown_methods_is_no_method_name() -> None:
    methods = {
        method.name
        for endpoint in this_node().endpoints.all()
        for method in endpoint.dispatcher.registry
    }
    assert not methods & NOT_EXECUTED


def test_chain_metrics_equal_the_rows(page: Page) -> None:
    assert page['svc_chain_height{chain="C"}'] == 2
    for chain, alias, chain_id in (
        ("C", "C", evm_chain().blockchain_id),
        ("C", "evm", platform_chain().network().c_chain_id),
        ("P", "platform", PRIMARY_NETWORK_ID),
    ):
        labels = f'alias="{alias}",blockchain_id="{chain_id}",chain="{chain}"'
        assert page[f"svc_chain_info{{{labels}}}"] == 1
    assert page['svc_chain_height{chain="P"}'] == 0
    assert page['svc_mempool_transactions{chain="C",state="pending"}'] == 1
    assert page['svc_mempool_transactions{chain="C",state="queued"}'] == 0
    assert page['svc_mempool_transactions{chain="C",state="atomic"}'] == 0
    assert page['svc_mempool_bytes{chain="C"}'] > 100
    assert page['svc_mempool_transactions{chain="P",state="pending"}'] == 1
    assert page['svc_mempool_bytes{chain="P"}'] > 100
    assert page["svc_cchain_gas_used"] == 21_000
    assert page["svc_cchain_base_fee_wei"] >= 10**9
    assert page['svc_block_processing_duration_seconds_count{chain="C"}'] >= 2


def test_queued_and_pending_transactions_are_counted_separately(
    chain: Chain, observed: None
) -> None:
    chain.nonce = 1
    chain.send(chain.make(), chain.make())
    before = scrape()
    chain.nonce = 0
    chain.send(chain.make())
    after = scrape()
    states = [
        [page[f'svc_mempool_transactions{{chain="C",state="{state}"}}'] for page in (before, after)]
        for state in ("pending", "queued")
    ]
    assert states == [[0, 3], [2, 0]]


def test_stake_is_shown_as_the_reference_does(page: Page) -> None:
    assert page["svc_platform_local_staked"] == page["svc_platform_total_staked"] > 0
    days = page["svc_platform_time_until_unstake"] / 1e9 / 86_400
    assert 1 < days < 400
    assert page['svc_platform_validators{state="current"}'] == 1
    assert page['svc_platform_validators{state="pending"}'] == 0
    assert page['svc_platform_validator_uptime_ratio{of="own"}'] == 1
    assert page["svc_platform_gas_price"] == 1
    assert page["svc_platform_l1_validators"] == 0
    assert page["svc_platform_l1_fee"] == 1


def test_network_metrics_equal_the_report_of_its_process(page: Page) -> None:
    assert page["svc_network_process_up"] == 1
    assert page["svc_network_known_nodes"] == 3
    assert page['svc_network_messages_total{direction="sent"}'] == 5
    assert page['svc_network_bytes_total{direction="received"}'] == 700
    assert page['svc_network_peers_benched{chain="C"}'] == 1
    subnet = "11111111111111111111111111111111LpoYY"
    assert page[f'svc_network_peers_subnet{{subnet_id="{subnet}"}}'] == 1
    assert 1e9 <= page["svc_network_time_since_last_msg_sent"] < 1e11
    assert page["svc_network_node_uptime_weighted_average"] == 100
    assert page['svc_bootstrap_target_height{chain="C"}'] == 40
    assert page['svc_bootstrap_height{chain="C"}'] == 10


def test_help_texts_name_unit_and_event(text: str) -> None:
    for said in (
        "svc_network_known_nodes Validators and bootstrappers, other than this node, whose signed "
        "address is known.",
        "svc_platform_gas_capacity Gas capacity of the P-Chain after the last block "
        "(platform.getFeeState); it grows with time.",
    ):
        assert f"# HELP {said}" in text.splitlines()


def test_a_silent_network_has_no_peers(db: None, observed: None) -> None:
    network_rows.report(connected=7, heartbeat_at=network_rows.ago(60))
    page = scrape()
    assert (page["svc_network_peers"], page["svc_network_process_up"]) == (0, 0)


def test_peers_create_no_series_for_unknown_subnets(pchain: PChain, observed: None) -> None:
    network_rows.report(connected=1)
    network_rows.peer(pchain.node_id, tracked_subnets=[str(pchain.asset_id)], benched=[])
    page = scrape()
    assert [line for line in page if line.startswith("svc_network_peers_subnet")] == [
        'svc_network_peers_subnet{subnet_id="11111111111111111111111111111111LpoYY"}'
    ]


def test_a_database_without_chains_is_no_failure(db: None, observed: None) -> None:
    page = scrape()
    assert page["svc_database_up"] == 1
    assert {value for line, value in page.items() if line.startswith("svc_scrape_success")} == {1}
    assert "svc_chain_height" not in names(page)
    assert page["svc_network_peers"] == 0


def test_database_state_is_exported(page: Page) -> None:
    assert page["svc_database_up"] == 1
    sizes = [page[line] for line in page if line.startswith("svc_database_size_bytes")]
    assert sum(sizes) > 100_000
    assert page["svc_database_migrations_unapplied"] == 0
    assert page['svc_database_statement_duration_seconds_count{statement="select"}'] > 10


def test_time_to_the_end_of_own_l1_balances_is_exported(
    pchain: PChain, observed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = owner_bytes(PChainOwner(1, (platform.ADDRESSES[0],)))
    models.Chain.objects.update(l1_active=1, l1_accrued_fees=5_000)
    labels = []
    for name, end in (("paid", 95_000), ("unpaid", 0), ("of a stranger", 0)):
        found = {"subnet_id": platform.some_id(name), "validation_id": platform.some_id(name[1:])}
        labels.append(",".join(f'{key}="{value}"' for key, value in found.items()))
        models.L1Validator.objects.create(
            **found,
            node_id=platform_chain().node_id,
            node=str(platform_chain().node_id),
            public_key=bytes(48),
            remaining_balance_owner=owner,
            deactivation_owner=owner,
            start_time=0,
            weight=1,
            min_nonce=0,
            end_accumulated_fee=end,
            is_active=bool(end),
            added_height=0,
        )
    tracked = {platform.some_id("paid"), platform.some_id("unpaid")}
    monkeypatch.setattr(this_node().network, "subnets", lambda: tracked)
    page = scrape()
    assert page["svc_platform_l1_validators"] == 1
    assert 80_000 < page[f"svc_platform_l1_balance_seconds{{{labels[0]}}}"] <= 90_000
    assert page[f"svc_platform_l1_balance_seconds{{{labels[1]}}}"] == 0
    assert f"svc_platform_l1_balance_seconds{{{labels[2]}}}" not in page
    monkeypatch.setattr(chains, "MAX_L1S", 1)
    series = [line for line in scrape() if line.startswith("svc_platform_l1_balance_seconds{")]
    assert len(series) == 1


def test_unapplied_migrations_are_counted(db: None, observed: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'health_app'")
        gone = cursor.rowcount
    assert gone >= 1
    assert scrape()["svc_database_migrations_unapplied"] == gone


def test_scrape_takes_few_statements(busy: None) -> None:
    reader = RowCounts(parts(platform_chain(), evm_chains()))
    reader.read()
    with CaptureQueriesContext(connection) as asked:
        reader.read()
    assert len(asked) <= STATEMENTS, [query["sql"] for query in asked.captured_queries]


def test_page_without_database_has_the_other_metrics(busy: None) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("connection to 10.1.2.3 refused")

    with pytest.MonkeyPatch.context() as patched:
        for name in ("cursor", "chunked_cursor", "ensure_connection", "connect"):
            patched.setattr(BaseDatabaseWrapper, name, away)
        page = scrape()
    assert page["svc_database_up"] == 0
    assert page["svc_health_checks_failing"] == 6
    assert page['svc_api_calls_total{api="C",method="unknown"}'] >= 1
    assert {"svc_build_info", "svc_process_resident_memory_bytes"} <= names(page)
    assert not {"svc_chain_height", "svc_network_peers"} & names(page)


def test_hanging_database_does_not_delay_the_page(observed: None) -> None:
    go_on = threading.Event()

    def hang() -> Iterator[Metric]:
        go_on.wait(60)
        return iter(())

    hanging = RowCounts([("hanging", hang)], seconds=0.05)
    page = MetricsPage(
        this_node().processes, hanging, this_node().observation.check_results, this_node().evm_chain
    )
    assert parse(page.text()[1].decode())["svc_database_up"] == 0
    go_on.set()


def test_rows_are_read_in_a_separate_thread(transactional_db: None, observed: None) -> None:
    load_genesis(evm_chain())
    found = {
        metric.name: metric.samples[0].value
        for metric in RowCounts(parts(platform_chain(), evm_chains())).metrics()
    }
    assert found["svc_database_up"] == 1
    assert found["svc_chain_height"] == 0


def test_cache_entries_are_counted(chain: Chain, pchain: PChain, observed: None) -> None:
    chain.do()
    for _ in range(3):
        stakers.current_validators(platform_chain())
    before = scrape()
    stakers.current_validators(platform_chain())
    after = scrape()
    assert after['svc_cache_entries{cache="cchain_blocks"}'] == 2
    assert after['svc_cache_entries{cache="cchain_accounts"}'] >= 2
    assert after['svc_cache_entries{cache="platform_current"}'] == 1
    hits = 'svc_cache_hits_total{cache="platform_current"}'
    assert after[hits] > before[hits]
    assert after[hits.replace("hits", "misses")] >= 1
    every = {line.partition("{")[2] for line in after if line.startswith("svc_cache_entries")}
    for figure in ("svc_cache_hits_total", "svc_cache_misses_total"):
        assert {line.partition("{")[2] for line in after if line.startswith(figure)} >= every


def test_the_page_is_served_as_plain_text(busy: None) -> None:
    response = Client(headers={"host": "localhost"}).get("/ext/metrics")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "svc_health_checks_failing" in names(parse(response.content.decode()))


def test_unknown_methods_create_no_series(db: None, observed: None) -> None:
    Client(headers={"host": "localhost"}).generic("BREW", "/admin/login/")
    page = scrape()
    django = [line for line in page if line.startswith("svc_django") and 'method="' in line]
    assert django
    assert not [line for line in django if "BREW" in line]
