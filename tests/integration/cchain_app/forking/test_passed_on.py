"""Requests passed unchanged to the remote node: blocks and transactions up to the fork block, and earlier state."""

import json

import pytest

from cchain_app.api.eth import forked as passing
from nodeproject.apps import this_node
from primitives.evm import Address
from tests.builders.node_settings import updated
from tests.integration.cchain_app.forking.conftest import COUNTER, PIN, RICH
from tests.servers.upstream import error, hash_of, transaction_hash

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def ask(forked):
    """Send a request to the dispatcher without schema validation: the responses are another node's."""

    def ask(method, *params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(this_node().endpoints.cchain.dispatcher.answer(json.dumps(body).encode()))

    return ask


def test_blocks_up_to_the_fork_block_are_forwarded_unchanged(ask, forked, remote):
    forked.mine()
    for number in (0, 3, PIN):
        told = remote.chain.block(number)
        assert ask("eth_getBlockByNumber", hex(number), True)["result"] == told
        assert ask("eth_getBlockByHash", hash_of(number), True)["result"] == told
    assert ask("eth_getBlockByNumber", "earliest", True)["result"] == remote.chain.block(0)
    assert ask("eth_getBlockByNumber", "latest", True)["result"]["number"] == hex(PIN + 1)


def test_latest_is_the_fork_block_before_the_first_own_block(ask, remote):
    remote.chain.head += 1
    assert ask("eth_getBlockByNumber", "latest", True)["result"] == remote.chain.block(PIN)


def test_the_pin_without_transactions_is_known_here(ask, forked, remote):
    forked.asks_nothing()
    assert ask("eth_getBlockByNumber", hex(PIN), False)["result"] == remote.chain.block(PIN)
    assert ask("eth_getBlockByHash", hash_of(PIN), False)["result"] == remote.chain.block(PIN)
    assert remote.asked == []


def test_remote_blocks_above_the_fork_block_are_not_visible(ask, remote):
    assert ask("eth_getBlockByHash", hash_of(PIN + 1), False)["result"] is None
    assert ask("eth_getTransactionByHash", transaction_hash(PIN + 1))["result"] is None
    assert ask("eth_getTransactionReceipt", transaction_hash(PIN + 1))["result"] is None
    assert ask("eth_getBlockByNumber", hex(PIN + 1), False)["result"] is None
    by_hash = {"blockHash": hash_of(PIN + 1)}
    assert ask("eth_getBalance", RICH, by_hash)["error"]["message"] == "header for hash not found"
    assert ask("eth_getLogs", by_hash)["error"]["message"] == "unknown block"


def test_transactions_up_to_the_fork_block_are_forwarded_unchanged(ask):
    for method in ("eth_getTransactionByHash", "eth_getTransactionReceipt"):
        told = {"hash": transaction_hash(3), "blockNumber": "0x3"}
        assert ask(method, transaction_hash(3))["result"] == told


def test_own_and_pending_transactions_are_not_requested_remotely(ask, forked, remote):
    sent = forked.make()
    ask("eth_sendRawTransaction", "0x" + sent.raw.hex())
    forked.asks_nothing()
    assert ask("eth_getTransactionReceipt", "0x" + sent.hash.hex())["result"] is None
    forked.mine()
    assert ask("eth_getTransactionReceipt", "0x" + sent.hash.hex())["result"]["status"] == "0x1"
    assert "eth_getTransactionReceipt" not in remote.counts


def test_state_before_the_fork_block_is_not_cached(ask, forked, remote):
    for _ in range(2):
        assert ask("eth_getBalance", RICH, hex(PIN - 1))["result"] == hex(10**20)
    assert remote.asked[-2:] == [("eth_getBalance", [RICH, hex(PIN - 1)])] * 2
    assert ask("eth_getCode", COUNTER, "earliest")["result"].startswith("0x36")
    assert remote.asked[-1] == ("eth_getCode", [COUNTER, "0x0"])
    ask("eth_getBalance", RICH, {"blockHash": hash_of(4)})
    assert remote.asked[-1] == ("eth_getBalance", [RICH, {"blockHash": hash_of(4)}])


def test_a_batch_is_answered_call_by_call(forked, remote):
    calls = [(1, RICH, hex(PIN - 1)), (2, RICH, "latest"), (3, COUNTER, hex(PIN - 1))]
    body = [
        {"jsonrpc": "2.0", "id": number, "method": "eth_getBalance", "params": [who, at]}
        for number, who, at in calls
    ]
    answers = json.loads(this_node().endpoints.cchain.dispatcher.answer(json.dumps(body).encode()))
    assert [answer["result"] for answer in answers] == [hex(10**20), hex(10**20), "0x3"]


def test_a_call_that_reverts_upstream_is_reported_as_here(ask, remote):
    remote.fails = lambda method: (
        (200, {}, error(3, "execution reverted: no", "0x08c379a0"))
        if method == "eth_call"
        else None
    )
    answer = ask("eth_call", {"to": COUNTER}, "0x1")["error"]
    assert answer == {"code": 3, "message": "execution reverted: no", "data": "0x08c379a0"}


@pytest.mark.parametrize("first", [0, PIN - 2, PIN])
def test_logs_are_upstreams_up_to_the_pin_and_ours_from_there(ask, forked, remote, first):
    # LOG0 with empty data
    ask("anvil_setCode", RICH, "0x5f5fa0")
    forked.mine(forked.make(to=Address(bytes.fromhex(RICH[2:])), gas=50_000))
    wanted = {"fromBlock": hex(first), "toBlock": "latest", "topics": []}
    found = ask("eth_getLogs", wanted)["result"]
    assert [item["blockNumber"] for item in found] == [hex(PIN), hex(PIN + 1)]
    asked = [params for method, params in remote.asked if method == "eth_getLogs"]
    assert asked == [[{"fromBlock": hex(first), "toBlock": hex(PIN)}]]


def test_logs_of_both_are_counted_against_the_limit(ask, forked, settings):
    # LOG0 with empty data, twice
    ask("anvil_setCode", RICH, "0x5f5fa05f5fa0")
    forked.mine(forked.make(to=Address(bytes.fromhex(RICH[2:])), gas=50_000))
    wanted = {"fromBlock": hex(PIN), "toBlock": "latest", "topics": []}
    assert len(ask("eth_getLogs", wanted)["result"]) == 3
    settings.NODE = updated(settings.NODE, logs_results=2)
    words = ask("eth_getLogs", wanted)["error"]["message"]
    assert words == "query returned more than 2 results"


def test_own_logs_do_not_ask_upstream(ask, forked, remote):
    forked.mine()
    forked.asks_nothing()
    assert ask("eth_getLogs", {"fromBlock": hex(PIN + 1)})["result"] == []
    assert remote.asked == []


def test_proofs_on_own_blocks_are_refused(ask, forked):
    forked.mine()
    answer = ask("eth_getProof", RICH, [], "latest")["error"]
    assert (answer["code"], "belongs to a fork" in answer["message"]) == (-32603, True)


def test_absent_upstream_is_reported(ask, remote):
    remote.stop()
    for method, *params in (
        ("eth_getBlockByNumber", "0x1", False),
        ("eth_getTransactionByHash", transaction_hash(3)),
        ("eth_getBalance", RICH, "0x1"),
        ("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x2"}),
        ("debug_traceTransaction", transaction_hash(3)),
    ):
        answer = ask(method, *params)["error"]
        assert (answer["code"], "does not answer" in answer["message"]) == (-32603, True), method


def test_each_method_that_is_passed_on_exists_and_names_a_block_there(forked):
    methods = this_node().endpoints.cchain.dispatcher.registry.methods
    for name, place in (*passing.BODIES.items(), *passing.STATES.items()):
        assert methods[name].params[place].name in {"block", "hash", "newest"}, name
    for name in passing.TRANSACTIONS:
        assert methods[name].params[0].name == "hash"


def test_upstream_error_keeps_its_message(ask, remote):
    remote.fails = lambda _: (200, {}, error(-32000, "unfinalized data cannot be queried"))
    answer = ask("eth_getBlockByNumber", "0x1", False)["error"]
    assert answer == {"code": -32603, "message": "unfinalized data cannot be queried"}
