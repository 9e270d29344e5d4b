"""A node in the embedded profile with a reader process beside the writer process acts as one node.

All tests share the node; a process that a test kills is started again.
"""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from eth_account import Account
from websockets.sync.client import connect

from tests.e2e.conftest import CHAIN_ID, RICH_KEY
from tests.e2e.network import wait_for
from tests.e2e.test_metrics import scrape
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.client import RpcClient
from tests.servers.node import RunningNode
from tests.servers.ports import has_ipv6
from tests.servers.sockets import has_connection, listeners

STRANGER = "0x000000000000000000000000000000000000dEaD"
MOST = 200
"""Most connections until each of two processes has received one, however the kernel distributes them."""


class TwoProcesses:
    """A node with a writer and a reader process, and connections to each."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node

    def wait(self) -> None:
        """Wait until both processes listen."""
        wait_for(lambda: listeners(self.node.port) == 2, "both processes listen")

    @property
    def reader(self) -> int | None:
        """ID of the reader process, or None while it is being restarted."""
        told = subprocess.run(
            ["pgrep", "-f", "-P", str(self.node.pid), "runreader"],
            capture_output=True,
            text=True,
            check=False,
        )
        return int(told.stdout) if told.stdout else None

    def is_readers(self, client: RpcClient) -> bool:
        """Return whether the reader process holds the connection."""
        reader = self.reader
        return reader is not None and has_connection(reader, self.node.port, client.local_port)

    def connection(self, *, to_reader: bool) -> RpcClient:
        """Return a connection that is held by the reader, or by the writer."""
        with ExitStack() as others:
            for _ in range(MOST):
                client = self.node.client()
                client.call("eth_chainId")
                if self.is_readers(client) is to_reader:
                    return client
                others.enter_context(client)
        raise AssertionError("the kernel spreads no connections")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoProcesses]:
    """The node of all tests in this module."""
    with RunningNode(
        tmp_path_factory.mktemp("two"), env={"NODE_WEB_WORKERS": "2", "NODE_HTTP_HOST": "::"}
    ) as node:
        node.start()
        found = TwoProcesses(node)
        found.wait()
        yield found
        reader = found.reader
        node.stop()
        assert not _is_alive(reader)
        assert listeners(node.port) == 0


@pytest.fixture
def reading(two: TwoProcesses) -> Iterator[RpcClient]:
    """A connection to the reader."""
    with two.connection(to_reader=True) as client:
        yield client


@pytest.fixture
def writing(two: TwoProcesses) -> Iterator[RpcClient]:
    """A connection to the writer."""
    with two.connection(to_reader=False) as client:
        yield client


def rich(client: RpcClient) -> Sender:
    """Return a funded account at its next nonce."""
    sender = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
    sender.nonce = int(client.call("eth_getTransactionCount", sender.address, "pending"), 16)
    return sender


def test_reads_stay_with_the_reader_and_are_counted_with_the_writers(
    two: TwoProcesses, reading: RpcClient, writing: RpcClient
) -> None:
    def counted() -> float:
        name = 'svc_api_calls_total{api="C",method="eth_getStorageAt"}'
        return scrape(two.node).get(name, 0.0)

    before = counted()
    for _ in range(5):
        for client in (reading, writing):
            client.call("eth_getStorageAt", STRANGER, "0x0", "latest")
            assert client.call("eth_getLogs", {"fromBlock": "0x0"}) is not None
            assert client.call("eth_getBlockByNumber", "0x0", True)["number"] == "0x0"
    assert two.is_readers(reading)
    assert not two.is_readers(writing)
    wait_for(lambda: counted() == before + 10, "the reader's calls are counted, too")


def test_both_processes_listen_on_both_families(two: TwoProcesses) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    wait_for(lambda: listeners(two.node.port, "tcp6") == 2, "both processes listen on IPv6")


def test_a_transaction_by_the_readers_port_is_known_to_both(
    two: TwoProcesses, reading: RpcClient, writing: RpcClient
) -> None:
    with two.connection(to_reader=True) as sending:
        sender = rich(sending)
        assert two.is_readers(sending)
        sent = sending.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        assert not two.is_readers(sending)  # the connection moved to the writer and stays open
        assert sending.call("eth_getTransactionByHash", sent)["hash"] == sent
        sending.call("evm_setAutomine", False)
        for count in range(1, 6):
            sent = sending.call("eth_sendRawTransaction", sender.transfer(STRANGER))
            for client in (reading, writing):
                block = client.call("eth_getBlockByNumber", "pending", False)
                assert (len(block["transactions"]), block["transactions"][-1]) == (count, sent)
                assert client.call("eth_getTransactionByHash", sent)["blockHash"] is None
                pending = client.call("eth_getTransactionCount", sender.address, "pending")
                assert int(pending, 16) == sender.nonce
        sending.call("evm_setAutomine", True)
        sending.call("hardhat_mine", "0x1")
    (receipt,) = wait_for_receipts(writing, [sent])
    assert reading.call("eth_getTransactionReceipt", sent) == receipt
    assert two.is_readers(reading)


def test_heads_never_go_back_whichever_process_tells_of_them(two: TwoProcesses) -> None:
    ended = threading.Event()

    def send() -> None:
        with two.node.client() as client:
            sender = rich(client)
            for _ in range(150):
                client.call("eth_sendRawTransaction", sender.transfer(STRANGER))
        ended.set()

    with two.connection(to_reader=True) as reading, two.connection(to_reader=False) as writing:
        clients = [reading, writing]
        first = highest = int(reading.call("eth_blockNumber"), 16)
        stream = threading.Thread(target=send)
        stream.start()
        asked = 0
        while not ended.is_set():
            client = clients[asked % 2]
            asked += 1
            height = int(client.call("eth_blockNumber"), 16)
            assert height >= highest
            highest = height
            # The other process can already read the block and the state of the reported height.
            other = clients[asked % 2]
            assert other.call("eth_getBlockByNumber", hex(highest), False) is not None
        stream.join()
        assert highest > first
        assert two.is_readers(reading)
        balances = {client.call("eth_getBalance", STRANGER, hex(highest)) for client in clients}
        assert len(balances) == 1


def test_what_is_changed_by_hand_both_see_at_once(
    two: TwoProcesses, reading: RpcClient, writing: RpcClient
) -> None:
    for number in range(1, 20):
        balance = hex(number * 10**18)
        writing.call("anvil_setBalance", STRANGER, balance)
        assert reading.call("eth_getBalance", STRANGER, "latest") == balance
        assert reading.call("eth_getBalance", STRANGER, "pending") == balance
    writing.call("anvil_setNextBlockBaseFeePerGas", hex(7 * 10**9))
    pending = reading.call("eth_getBlockByNumber", "pending", False)
    assert int(pending["baseFeePerGas"], 16) == 7 * 10**9
    assert reading.call("eth_gasPrice") == writing.call("eth_gasPrice")
    assert two.is_readers(reading)


def test_going_back_and_time_travel_both_see_at_once(
    two: TwoProcesses, reading: RpcClient, writing: RpcClient
) -> None:
    for _ in range(5):
        snapshot = writing.call("evm_snapshot")
        before = reading.call("eth_blockNumber")
        writing.call("anvil_setBalance", STRANGER, "0x1234")
        writing.call("evm_increaseTime", 3600)
        writing.call("hardhat_mine", "0x3")
        latest = reading.call("eth_getBlockByNumber", "latest", False)
        assert int(latest["number"], 16) == int(before, 16) + 3
        assert latest == writing.call("eth_getBlockByNumber", "latest", False)
        assert writing.call("evm_revert", snapshot) is True
        assert reading.call("eth_blockNumber") == before
        assert reading.call("eth_getBlockByNumber", latest["number"], False) is None
        assert reading.call("eth_getBalance", STRANGER, "latest") != "0x1234"
        assert reading.call("eth_getBalance", STRANGER, "pending") != "0x1234"
        pending = reading.call("eth_getBlockByNumber", "pending", False)
        assert int(pending["number"], 16) == int(before, 16) + 1
    assert two.is_readers(reading)


def test_the_log_of_what_is_written_is_begun_anew_while_it_is_short(
    two: TwoProcesses, reading: RpcClient, writing: RpcClient
) -> None:
    """Without `chaindb/checkpoints.py`, SQLite would let writers checkpoint the WAL only at 16,000 pages."""
    log = two.node.directory / "data" / "node.sqlite3-wal"

    def salts() -> bytes:
        with log.open("rb") as file:
            return file.read(24)[16:]

    def is_begun_anew() -> bool:
        writing.call("hardhat_mine", "0x200")
        assert reading.call("eth_blockNumber") == writing.call("eth_blockNumber")
        return salts() != before

    before = salts()
    wait_for(is_begun_anew, "the log was copied as a whole")
    assert log.stat().st_size < 12_000 * 4_096


def test_whatever_else_comes_to_the_readers_port_is_answered(two: TwoProcesses) -> None:
    asked = {
        "a filter": lambda one: (
            one.call("eth_getFilterChanges", one.call("eth_newBlockFilter")) == []
        ),
        "a batch of both": lambda one: len(one.batch([("eth_chainId",), ("txpool_status",)])) == 2,
        "no JSON": lambda one: json.loads(one.post(b"{").body)["error"]["code"] == -32700,
        "no method": lambda one: json.loads(one.post(b'{"id": 1}').body)["error"]["code"] == -32600,
    }
    for name, is_answered in asked.items():
        with two.connection(to_reader=True) as client:
            assert is_answered(client), name
            assert client.call("eth_chainId") == hex(CHAIN_ID), name


def test_requests_behind_one_another_are_answered_in_their_order(two: TwoProcesses) -> None:
    def request(number: int, method: str, *params: object) -> bytes:
        call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        body = json.dumps(call).encode()
        head = "POST /ext/bc/C/rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
        return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    asked = [
        request(0, "eth_getLogs", {"fromBlock": "0x0"}),
        request(1, "eth_chainId"),
        request(2, "txpool_status"),
        request(3, "eth_blockNumber"),
    ]
    with two.connection(to_reader=True) as client:
        # First all requests in one piece, then a single one in several pieces, on a connection of the reader.
        sock = client.socket
        sock.sendall(b"".join(asked))
        answers = _answers(sock, 4)
        for piece in (asked[3][:20], asked[3][20:90], asked[3][90:]):
            sock.sendall(piece)
        answers += _answers(sock, 1)
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 3]
    assert all("result" in item for item in answers)


def _answers(sock: socket.socket, count: int) -> list[dict[str, object]]:
    """Return the bodies of `count` JSON responses."""
    found: list[dict[str, object]] = []
    with sock.makefile("rb") as stream:
        while len(found) < count:
            length = 0
            while (line := stream.readline()) != b"\r\n":
                assert line, "the connection was closed"
                name, _, value = line.lower().partition(b":")
                length = int(value) if name == b"content-length" else length
            found.append(json.loads(stream.read(length)))
    return found


def test_a_websocket_by_either_port_hears_of_heads(two: TwoProcesses, writing: RpcClient) -> None:
    with ExitStack() as all_sockets:
        # With eight connections the reader gets at least one, except in one case of a hundred.
        sockets = [all_sockets.enter_context(connect(two.node.ws_url)) for _ in range(8)]
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
        for item in sockets:
            item.send(json.dumps(subscribe))
            assert "result" in json.loads(item.recv(timeout=60))
        writing.call("hardhat_mine", "0x1")
        height = writing.call("eth_blockNumber")
        for other in sockets:
            heard = json.loads(other.recv(timeout=60))
            assert heard["params"]["result"]["number"] == height


def test_a_reader_that_is_killed_is_started_again(two: TwoProcesses, writing: RpcClient) -> None:
    height = int(writing.call("eth_blockNumber"), 16)
    killed = two.reader
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    # Clients that connect in the meantime wait for the next reader; no connection is refused.
    clients = [two.node.client() for _ in range(8)]
    assert all(int(item.call("eth_blockNumber"), 16) >= height for item in clients)
    for other in clients:
        other.close()
    wait_for(lambda: two.reader not in {None, killed}, "another reader is there")
    with two.connection(to_reader=True) as client:
        writing.call("hardhat_mine", "0x1")
        assert int(client.call("eth_blockNumber"), 16) == height + 1


def test_a_reader_ends_with_a_writer_that_is_killed_and_the_port_is_free(two: TwoProcesses) -> None:
    node, reader = two.node, two.reader
    assert reader is not None
    with two.connection(to_reader=True) as client:
        client.call("hardhat_mine", "0x2")
        height = client.call("eth_blockNumber")
    os.kill(node.pid, signal.SIGKILL)
    wait_for(lambda: not _is_alive(reader), "the reader has ended")
    assert listeners(node.port) == 0
    node.kill()
    node.start()
    assert node.rpc("eth_blockNumber") == height
    two.wait()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
