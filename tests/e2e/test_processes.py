"""Several processes form one node: a transaction accepted by one is known to all, and nothing is counted twice."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from websockets.sync.client import connect

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY, MakeNode
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.e2e.visitor import Visitor
from tests.servers.client import Reply, RpcClient, RpcFault

STRANGER = "0x000000000000000000000000000000000000dEaD"
PAUSE, RESUME = "/admin/production/pause/", "/admin/production/resume/"
CONNECTIONS = 8
"""So many connections reach both of two processes, except in one case of a hundred."""

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a rate limit error."""

on_production = pytest.mark.parametrize("node", ["production"], indirect=True)


@pytest.fixture
def connections(node: CheckedNode) -> Iterator[list[RpcClient]]:
    """Open connections, which the kernel distributes over the web processes."""
    clients = [node.client() for _ in range(CONNECTIONS)]
    yield clients
    for client in clients:
        client.close()


def in_turns(connections: list[RpcClient]) -> Iterator[list[RpcClient]]:
    """Yield all connections, rotated so that each of them comes first, three times."""
    for number in range(3 * CONNECTIONS):
        at = number % CONNECTIONS
        yield connections[at:] + connections[:at]


@on_production
def test_transaction_of_one_process_is_pending_in_all(
    connections: list[RpcClient], account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    for number, (first, *others) in enumerate(in_turns(connections)):
        sent = first.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        for client in others:
            assert client.call("eth_getTransactionByHash", sent)["hash"] == sent
            count = client.call("eth_getTransactionCount", account.address, "pending")
            assert int(count, 16) == number + 1


@on_production
def test_receipt_and_block_are_visible_in_all_processes(
    connections: list[RpcClient], account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    for _ in range(10):
        sent = connections[0].call("eth_sendRawTransaction", sender.transfer(STRANGER))
        (receipt,) = wait_for_receipts(connections[0], [sent])
        for client in connections:
            assert client.call("eth_getTransactionReceipt", sent) == receipt
            assert int(client.call("eth_blockNumber"), 16) >= int(receipt["blockNumber"], 16)


@on_production
def test_head_reported_by_one_process_is_known_to_all(
    connections: list[RpcClient], account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    for first, *others in in_turns(connections):
        sent = first.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        (receipt,) = wait_for_receipts(first, [sent])
        latest = [client.call("eth_blockNumber") for client in others]
        assert latest == [receipt["blockNumber"]] * len(others)


@on_production
def test_no_process_builds_blocks_while_paused(
    node: CheckedNode, connections: list[RpcClient], account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    password = (node.directory / "data" / "admin_password").read_text().strip()
    operator = Visitor(f"http://127.0.0.1:{node.port}")
    operator.log_in(password)
    assert "Paused the C-Chain" in operator.send(PAUSE).text
    try:
        sent = []
        for connection in connections:
            sent.append(connection.call("eth_sendRawTransaction", sender.transfer(STRANGER)))
            counts = {
                client.call("eth_getTransactionCount", account.address, "pending")
                for client in connections
            }
            assert counts == {hex(len(sent))}
        pages = [operator.get("/admin/").text for _ in range(CONNECTIONS)]
        assert all(RESUME in page for page in pages)
        waiting = [connections[0].call("eth_getTransactionByHash", item) for item in sent]
        assert [pending["blockHash"] for pending in waiting] == [None] * len(sent)
    finally:
        resumed = operator.send(RESUME).text
    assert "Resumed the C-Chain" in resumed
    wait_for_receipts(connections[0], sent)


@on_production
def test_development_methods_name_the_embedded_profile(
    node: CheckedNode, connections: list[RpcClient]
) -> None:
    words = (
        "the method {} does not exist/is not available: development methods need the embedded profile"
        " (NODE_PROFILE=embedded)"
    )
    for method in ("evm_mine", "anvil_setBalance", "hardhat_reset", "eth_sendTransaction"):
        for client in connections:
            with pytest.raises(RpcFault) as refused:
                client.call(method)
            assert (refused.value.code, refused.value.message) == (-32601, words.format(method))
    with connect(node.ws_url, compression=None, open_timeout=PATIENCE) as socket:
        socket.send('{"jsonrpc":"2.0","id":1,"method":"evm_snapshot"}')
        error = json.loads(socket.recv(PATIENCE))["error"]
    assert error == {"code": -32601, "message": words.format("evm_snapshot")}
    assert connections[0].call("eth_accounts") == []


@on_production
def test_faucet_pays_with_the_configured_key(node: CheckedNode) -> None:
    address = Account.create().address
    body = json.dumps({"address": address}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{node.port}/faucet", body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        given = json.load(reply)
    with node.client() as client:
        wait_for_receipts(client, [given["transaction"]])
        assert int(client.call("eth_getBalance", address, "latest"), 16) > 0


@on_production
def test_filters_are_shared_by_all_processes(
    connections: list[RpcClient], account: LocalAccount
) -> None:
    sender = Sender(account, CHAIN_ID)
    made = connections[0].call("eth_newPendingTransactionFilter")
    sent = [
        connection.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        for connection in connections
    ]
    heard = [other for client in connections for other in client.call("eth_getFilterChanges", made)]
    assert [item for item in heard if item in sent] == sent


@on_production
def test_beat_ends_at_a_signal_during_a_transaction(node: CheckedNode) -> None:
    node.kill_process("beat")
    with psycopg.connect(node.database_url) as others:
        others.execute("SELECT 1 FROM django_celery_beat_periodictask FOR UPDATE")
        beat = node.one_more("beat")
        with psycopg.connect(node.database_url, autocommit=True) as asking:
            beat.wait_until(lambda: _somebody_waits_for_tasks(asking))
        beat.ask_to_end()
        beat.wait_for_end()
    node.restart_process("beat")


def _somebody_waits_for_tasks(asking: psycopg.Connection[tuple[int]]) -> bool:
    """Return whether a statement on the beat's task table waits for a lock held by a transaction."""
    waiting = asking.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND query LIKE '%periodictask%'"
    )
    return waiting.fetchone() is not None


@on_production
def test_transactions_to_all_processes_are_mined(node: CheckedNode) -> None:
    each, count = 40, 6
    senders = [
        Sender(Account.from_key((2000 + number).to_bytes(32, "big")), CHAIN_ID)
        for number in range(count)
    ]
    with node.client() as client:
        rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
        rich.nonce = int(client.call("eth_getTransactionCount", rich.address, "pending"), 16)
        raws = [rich.transfer(item.address, 10**20) for item in senders]
        funded = client.batch([("eth_sendRawTransaction", raw) for raw in raws])
        wait_for_receipts(client, funded)
    hashes: list[str] = []
    faults: list[RpcFault] = []

    def send(sender: Sender) -> None:
        for _ in range(each):
            with node.client() as client:
                try:
                    raw = sender.transfer(STRANGER)
                    hashes.append(client.call("eth_sendRawTransaction", raw))
                except RpcFault as fault:
                    faults.append(fault)

    threads = [threading.Thread(target=send, args=[other]) for other in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(set(hashes)) == each * count
    with node.client() as client:
        receipts = wait_for_receipts(client, hashes)
        assert all(receipt["status"] == "0x1" for receipt in receipts)
        for sender in senders:
            assert int(client.call("eth_getTransactionCount", sender.address, "latest"), 16) == each


def test_the_rate_limit_counts_over_all_processes(make_node: MakeNode) -> None:
    # The default limit on network 5: 40 tokens, refilled by 40 each second.
    env = {"NODE_NETWORK_ID": "5", "NODE_WEB_WORKERS": "2"}
    node = make_node("production", env=env)
    node.start()
    time.sleep(1.1)  # by then the calls of the start no longer count
    clients = [node.client() for _ in range(CONNECTIONS)]
    body = b'{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":[]}'
    started = time.monotonic()
    replies: list[Reply] = []
    while all(reply.status == 200 for reply in replies) and time.monotonic() - started < PATIENCE:
        replies += in_parallel(clients, body, 50)
    seconds = time.monotonic() - started
    for client in clients:
        client.close()
    answered = sum(reply.status == 200 for reply in replies)
    refused = next(reply for reply in replies if reply.status != 200)
    assert 40 <= answered <= 40 + 40 * seconds + 2
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert json.loads(refused.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32005, "message": "rate limit exceeded"},
    }


def in_parallel(clients: Sequence[RpcClient], body: bytes, each: int) -> list[Reply]:
    """Send a body over all connections in parallel, `each` times over each; return the replies.

    If the requests were sent one after the other, a slow machine might not exceed the limit.
    """

    def send(client: RpcClient) -> list[Reply]:
        return [client.post(body) for _ in range(each)]

    with ThreadPoolExecutor(len(clients)) as pool:
        return [reply for replies in pool.map(send, clients) for reply in replies]
