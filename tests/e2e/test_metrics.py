"""/ext/metrics of running nodes with one or several processes: the counts cover the whole node."""

import re
import time
import urllib.request
from collections import Counter
from http.client import HTTPConnection

import pytest
from eth_account.signers.local import LocalAccount

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.transactions import Sender, wait_for_receipts

STRANGER = "0x000000000000000000000000000000000000dEaD"
SENT = 'svc_api_calls_total{api="C",method="eth_sendRawTransaction"}'
MADE = 'svc_block_processing_duration_seconds_count{chain="C"}'
TICKS = 'svc_celery_tasks_total{outcome="success",task="cchain_app.tick"}'
HEIGHT = 'svc_chain_height{chain="C"}'
MARK = 'svc_api_calls_total{api="C",method="web3_sha3"}'
"""The count of a method that no other test here calls."""
CONNECTIONS = 8
"""So many connections reach both of two web processes, except in one case of a hundred."""
MARKS = 24
"""So many connections reach both of them, except in one of several million runs."""
PATIENCE = 120.0
"""Seconds until a test gives up waiting for a count."""

Page = dict[str, float]

everywhere = pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)


def scrape(node: CheckedNode) -> Page:
    """Return the metrics page as values by name with labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/ext/metrics", timeout=60) as answer:
        text = answer.read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def scrape_until(node: CheckedNode, name: str, least: float) -> Page:
    """Scrape until a count has reached `least`; other processes publish their counts once a second."""
    until = time.monotonic() + PATIENCE
    while (page := scrape(node)).get(name, 0) < least and time.monotonic() < until:
        time.sleep(0.2)
    return page


def settled(node: CheckedNode) -> Page:
    """Scrape after everything that happened before this call has been published, however late that is."""
    marked = scrape(node).get(MARK, 0)
    # A process that has published these calls has published all earlier ones.
    for _ in range(MARKS):
        node.rpc("web3_sha3", "0x")
    scrape_until(node, MARK, marked + MARKS)
    until = time.monotonic() + PATIENCE
    while (page := scrape(node)).get(MADE, 0) < page[HEIGHT] and time.monotonic() < until:
        time.sleep(0.2)
    return page


@everywhere
def test_events_of_all_processes_are_counted_once(node: CheckedNode, account: LocalAccount) -> None:
    before = settled(node)
    sender = Sender(account, CHAIN_ID)
    clients = [node.client() for _ in range(CONNECTIONS)]
    for client in clients:
        sent = client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        wait_for_receipts(client, [sent])
    after = scrape_until(node, SENT, before[SENT] + CONNECTIONS)
    head = int(clients[0].call("eth_blockNumber"), 16)
    for client in clients:
        client.close()

    assert after[SENT] - before[SENT] == CONNECTIONS
    made = scrape_until(node, MADE, before[MADE] + head - before[HEIGHT])
    assert made[MADE] - before[MADE] == made[HEIGHT] - before[HEIGHT] == head - before[HEIGHT]
    ticks = before.get(TICKS, 0)  # a node that has just started may not have counted any yet
    assert scrape_until(node, TICKS, ticks + 1)[TICKS] > ticks


@everywhere
def test_metrics_used_by_alerts_are_exported(node: CheckedNode) -> None:
    page = scrape_until(node, "svc_network_process_up", 1)
    assert page["svc_network_peers"] == 0
    assert page["svc_network_process_up"] == 1
    assert "svc_health_checks_failing" in page


def test_open_connections_are_counted(node: CheckedNode) -> None:
    clients = [node.client() for _ in range(CONNECTIONS)]
    for client in clients:
        client.call("eth_chainId")
    assert scrape(node)["svc_http_connections"] > CONNECTIONS  # these, and the scrape's own
    for client in clients:
        client.close()


@everywhere
def test_all_processes_are_shown(node: CheckedNode) -> None:
    # Celery's worker consists of a parent process and the process that runs the tasks.
    several = {"web": 2, "producer": 1, "worker": 2, "beat": 1, "network": 1}
    shown = roles(node)
    until = time.monotonic() + PATIENCE
    while shown not in ({"node": 1}, several) and time.monotonic() < until:
        time.sleep(0.2)  # the web server answers before all other processes have started
        shown = roles(node)
    assert shown == ({"node": 1} if shown["node"] else several)


def roles(node: CheckedNode) -> Counter[str]:
    """Return the number of processes of each kind on the metrics page."""
    return Counter(
        match[1]
        for name in scrape(node)
        if (match := re.match(r'svc_process_resident_memory_bytes\{.*role="(\w+)"', name))
    )


@everywhere
def test_requests_are_counted_by_outcome(node: CheckedNode) -> None:
    alive = 'svc_http_requests_total{api="health/liveness",method="GET",status="200"}'
    refused = 'svc_http_requests_total{api="C",method="POST",status="415"}'
    unknown = 'svc_http_requests_total{api="other",method="GET",status="404"}'
    before = settled(node)
    for path, kind in (
        ("/ext/health/liveness", None),
        ("/ext/bc/C/rpc", "text/plain"),
        ("/ext/nothing", None),
    ):
        connection = HTTPConnection("127.0.0.1", node.port, timeout=60)
        for _ in range(3):
            headers = {} if kind is None else {"content-type": kind}
            connection.request("GET" if kind is None else "POST", path, kind and "{}", headers)
            connection.getresponse().read()
        connection.close()
    for name in (alive, refused, unknown):
        counted = scrape_until(node, name, before.get(name, 0) + 3)
        assert counted[name] == before.get(name, 0) + 3
