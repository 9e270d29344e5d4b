"""Long development calls do not prevent other callers from reading and writing."""

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection, connections

from cchain_app.services import manual_mining
from chaindb import database
from chaindb.locks import Lock
from chaindb.postgresql.session import SESSION
from jsonrpc.errors import JsonRpcError
from nodeproject.web import urls
from primitives.fair_lock import WaitedTooLong
from tests.builders.modules import module_with
from tests.builders.transactions import RECIPIENT
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.node_settings(profile="embedded")

SOMEBODY = "0x" + "5a" * 20
WORD = "0x" + "22" * 32


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def address(number: int) -> str:
    return f"0x{number + 10**9:040x}"


@contextmanager
def writer(chain) -> Iterator[None]:
    """Hold a writer's locks in another thread."""
    has_lock, may_end = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with chain.evm.db.atomic():
                for lock in (Lock.CCHAIN, Lock.CCHAIN_POOL, Lock.VERIFICATION):
                    chain.evm.db.acquire(lock)
                has_lock.set()
                assert may_end.wait(SECONDS)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        assert has_lock.wait(SECONDS)
        try:
            yield
        finally:
            may_end.set()
        writing.result()


def test_a_state_is_dumped_and_loaded(rpc, shared_chain):
    shared_chain.do(value=3)
    rpc("anvil_setStorageAt", SOMEBODY, 1, "0x" + "22" * 32)
    rpc("anvil_setCode", SOMEBODY, "0x6001")
    dump = rpc("anvil_dumpState")
    rpc("anvil_reset")
    assert rpc("eth_getCode", SOMEBODY) == "0x"
    assert rpc("anvil_loadState", dump) is True
    assert rpc("eth_getCode", SOMEBODY) == "0x6001"
    assert rpc("eth_getStorageAt", SOMEBODY, "0x1") == "0x" + "22" * 32
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x3"
    shared_chain.nonce = 1
    shared_chain.do(value=1)
    many = gzip.compress(b'{"accounts":{},"x":[' + b"[]," * 4_000_001 + b"[]]}")
    for dumped, words in (
        (b"[]", "it has no accounts"),
        (b'{"accounts":7}', "it has no accounts"),
        (b"{}", "it has no accounts"),
        (b'{"accounts":{}', "it is neither gzip nor JSON"),
        (b'{"accounts":{"0x5a":{}}}', "account 0x5a cannot be read"),
        (many, "it has more than 4000000 values"),
    ):
        with pytest.raises(JsonRpcError, match=f"Failed to decode state dump: {words}"):
            rpc("anvil_loadState", hexed(dumped))
    with pytest.raises(JsonRpcError, match="Failed to decode state dump: it is neither gzip nor"):
        rpc("anvil_loadState", "0x1234")


def test_a_dump_waits_for_no_writer(rpc, shared_chain):
    shared_chain.do(value=3)
    with writer(shared_chain):
        dump = rpc("anvil_dumpState")
    accounts = json.loads(gzip.decompress(bytes.fromhex(dump[2:])))["accounts"]
    assert accounts[hexed(RECIPIENT)] == {
        "nonce": 0, "balance": "0x3", "code": "0x", "storage": {}
    }  # fmt: skip


@pytest.mark.parametrize("count", [3, 100], ids=["few", "many"])
def test_loaded_dump_can_be_reverted(rpc, shared_chain, count):
    shared_chain.do(value=1)
    rpc("anvil_setBalance", address(0), "0x7")
    rpc("anvil_setStorageAt", address(1), 1, WORD)
    rpc("anvil_setStorageAt", address(2), 1, WORD)
    before = rpc("anvil_dumpState")
    snapshot = rpc("evm_snapshot")
    members = {
        address(number): {"nonce": 0, "balance": hex(number % 3), "code": "0x", "storage": {}}
        for number in range(count)
    }
    members[address(1)] |= {"storage": {hex(1): hex(0), hex(2): hex(5)}}
    members[address(2)] = {"storage": {hex(1): "0x0"}}
    members[hexed(RECIPIENT)] = {"nonce": 1, "code": "0x6001"}

    assert rpc("anvil_loadState", hexed(json.dumps({"accounts": members}).encode())) is True

    assert rpc("eth_getBalance", address(0)) == "0x0"
    assert rpc("eth_getBalance", address(1)) == "0x1"
    assert rpc("eth_getStorageAt", address(1), "0x1") == "0x" + "00" * 32
    assert int(rpc("eth_getStorageAt", address(1), "0x2"), 16) == 5
    assert rpc("eth_getTransactionCount", address(2)) == "0x0"
    assert rpc("eth_getCode", hexed(RECIPIENT)) == "0x6001"
    known = json.loads(gzip.decompress(bytes.fromhex(rpc("anvil_dumpState")[2:])))["accounts"]
    assert address(0) not in known
    assert address(2) not in known
    assert rpc("evm_revert", snapshot) is True
    assert rpc("anvil_dumpState") == before


def test_other_writers_have_their_turn_while_many_blocks_are_mined(rpc, shared_chain, monkeypatch):
    evm = shared_chain.evm
    monkeypatch.setattr(manual_mining, "AT_ONCE", 2)
    lock, mine_part, heights = evm.vm_lock, manual_mining._mine_part, []

    def write() -> None:
        with lock.held(SECONDS):
            heights.append(evm.memory.blocks.head.number)

    with ThreadPoolExecutor(1) as thread:

        def mine_beside_a_writer(*arguments):
            if not heights and not lock._waiting:
                thread.submit(write)
                while not lock._waiting:  # the only sign that it waits
                    pass
            return mine_part(*arguments)

        monkeypatch.setattr(manual_mining, "_mine_part", mine_beside_a_writer)
        rpc("anvil_mine", 6)

    assert heights == [2]
    assert rpc("eth_blockNumber") == "0x6"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the lock timeout so that no lock is waited for."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    if connection.vendor != "postgresql":
        yield
        return
    connection.ensure_connection()
    of_pool = connection.connection
    of_pool.execute("SET lock_timeout = 1")
    yield
    # For the next user of the connection. RESET would remove the limit: the server has none.
    of_pool.execute(f"SET lock_timeout = {SESSION['lock_timeout']}")


def test_a_busy_database_is_reported_to_each_caller(rpc, shared_chain, impatient, client):
    rpc("anvil_setCode", SOMEBODY, "0x6001")
    form = {"module": "contract", "action": "supplyabi", "address": SOMEBODY, "abi": "[]"}
    calls = [
        ("anvil_setBalance", SOMEBODY, "0x1"),
        ("eth_sendRawTransaction", hexed(shared_chain.make(value=1).raw)),
        ("evm_mine",),
        ("evm_snapshot",),
        ("anvil_loadState", hexed(b'{"accounts":{"%b":{}}}' % SOMEBODY.encode())),
    ]
    with writer(shared_chain):
        for call in calls:
            with pytest.raises(JsonRpcError, match="the database is busy") as refused:
                rpc(*call)
            assert refused.value.code == -32000, call
        page = client.post("/api", form)
    assert (page.status_code, page["Retry-After"]) == (503, "1")
    assert page.json()["result"] == "The chain cannot be read at the moment: the database is busy"
    assert rpc("anvil_setBalance", SOMEBODY, "0x1") is None
    assert client.post("/api", form).status_code == 200


def test_a_page_that_finds_the_database_busy_is_a_503(rf, monkeypatch):
    error = OperationalError("database is locked")
    error.__cause__ = WaitedTooLong()
    failed = module_with(sys, exc_info=lambda: (type(error), error, None))
    monkeypatch.setattr(urls, "sys", failed)
    answer = urls.server_error(rf.get("/admin/"))
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert answer.content == b"the database is busy\n"
