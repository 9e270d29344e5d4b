"""eth_getBalance, eth_getTransactionCount, eth_getCode and eth_getStorageAt at every height."""

import json

import pytest

from cchain_app.api import registry
from cchain_app.selectors import state
from cchain_app.store.history import StatePruned
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT, SENDER

GENESIS_BALANCE = 0x295BE96E64066972000000


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_get_balance_of_the_funded_account(rpc, chain):
    assert rpc("eth_getBalance", hexed(SENDER), "latest") == hex(GENESIS_BALANCE)


def test_a_balance_is_known_at_every_height(rpc, chain):
    asked = hexed(RECIPIENT)
    for value in (5, 7):
        chain.do(value=value)
    assert [rpc("eth_getBalance", asked, hex(n)) for n in range(3)] == ["0x0", "0x5", "0xc"]
    assert rpc("eth_getBalance", asked, "earliest") == "0x0"
    assert rpc("eth_getBalance", asked) == "0xc"
    with pytest.raises(JsonRpcError, match="header not found"):
        rpc("eth_getBalance", asked, "0x3")


def test_a_balance_is_known_by_block_hash(rpc, chain):
    _, block = chain.do(value=5)
    chain.do(value=7)
    wanted = {"blockHash": hexed(block.hash), "requireCanonical": True}
    assert rpc("eth_getBalance", hexed(RECIPIENT), wanted) == "0x5"
    assert rpc("eth_getBalance", hexed(RECIPIENT), hexed(block.hash)) == "0x5"


def test_storage_of_several_accounts_is_read_in_one_call(rpc, chain):
    init = bytecode.deploy_code(bytecode.COUNTER)
    chain.do(to=None, value=0, gas=200_000, data=init)
    counter = bytecode.created(SENDER, 0)
    chain.do(to=counter, value=0, gas=200_000)
    zero, one = (f"0x{number:064x}" for number in range(2))
    asked = {hexed(counter): [zero, one, zero], hexed(RECIPIENT).upper().replace("X", "x"): [zero]}

    found = {hexed(counter): [one, zero, one], hexed(RECIPIENT): [zero]}
    assert (
        rpc("eth_getStorageValues", asked, "latest") == rpc("eth_getStorageValues", asked) == found
    )
    assert rpc("eth_getStorageValues", {hexed(counter): [zero]}, "0x1") == {hexed(counter): [zero]}
    assert rpc("eth_getStorageValues", {hexed(counter): [], hexed(SENDER): [one]}) == {
        hexed(counter): [], hexed(SENDER): [zero],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({}, -32602, "empty request"),
        ({hexed(SENDER): []}, -32602, "empty request"),
        ({hexed(SENDER): [f"0x{1:064x}"] * 1025}, -38026, r"too many slots \(max 1024\)"),
        ([], -32602, r"Go value of type map\[common\.Address\]\[\]common\.Hash"),
        ({hexed(SENDER): ["0x1"]}, -32602, "hex string of odd length"),
        ({"0x12": [f"0x{1:064x}"]}, -32602, "hex string has length 2, want 40 for common.Address"),
    ],
)
def test_too_many_slots_are_refused(rpc, chain, asked, code, words):
    with pytest.raises(JsonRpcError, match=words) as refusal:
        rpc("eth_getStorageValues", asked, "latest")
    assert refusal.value.code == code


def test_the_count_of_transactions_is_the_nonce(rpc, chain):
    chain.do()
    assert rpc("eth_getTransactionCount", hexed(SENDER), "latest") == "0x1"
    assert rpc("eth_getTransactionCount", hexed(SENDER), "0x0") == "0x0"


def test_pending_count_stops_at_a_nonce_gap(rpc, chain):
    chain.do()
    chain.send(chain.make(), chain.make())
    assert rpc("eth_getTransactionCount", hexed(SENDER), "pending") == "0x3"
    chain.nonce += 1
    chain.send(chain.make())
    assert rpc("eth_getTransactionCount", hexed(SENDER), "pending") == "0x3"
    assert rpc("eth_getTransactionCount", hexed(SENDER), "latest") == "0x1"


def test_code_and_slots_of_a_contract(rpc, chain):
    address = bytecode.created(SENDER, 0)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    for _ in range(2):
        chain.do(to=address, gas=100_000, value=0)
    assert rpc("eth_getCode", hexed(address), "latest") == hexed(bytecode.COUNTER)
    assert rpc("eth_getCode", hexed(address), "earliest") == "0x"
    slots = [int(rpc("eth_getStorageAt", hexed(address), "0x0", hex(n)), 16) for n in range(4)]
    assert slots == [0, 0, 1, 2]
    assert rpc("eth_getAccountInfo", hexed(address), "latest") == {
        "balance": "0x0", "nonce": "0x1", "code": hexed(bytecode.COUNTER),
    }  # fmt: skip


def test_code_is_found_by_its_hash(rpc, chain):
    code_hash = hexed(keccak256(bytecode.COUNTER))
    assert rpc("debug_codeByHash", code_hash) == "0x"
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)

    assert rpc("debug_codeByHash", code_hash) == hexed(bytecode.COUNTER)
    chain.forget()
    assert rpc("debug_codeByHash", code_hash, "earliest") == hexed(bytecode.COUNTER)
    assert rpc("debug_codeByHash", hexed(EMPTY_HASH)) == "0x"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getWork", []),
        ("eth_submitWork", ["0x0000000000000001", "0x" + "11" * 32, "0x" + "22" * 32]),
        ("eth_submitHashrate", ["0x1", "0x" + "11" * 32]),
    ],
)
def test_methods_of_proof_of_work_are_refused_as_by_anvil(rpc, chain, method, params):
    with pytest.raises(JsonRpcError) as refused:
        rpc(method, *params)
    assert (refused.value.code, refused.value.message) == (-32603, "Not implemented")


def test_a_batch_of_balances_reads_accounts_together(chain, django_assert_max_num_queries):
    chain.do()
    chain.forget()
    body = [
        {"jsonrpc": "2.0", "id": n, "method": "eth_getBalance",
         "params": ["0x" + n.to_bytes(20, "big").hex(), "latest"]}
        for n in range(1, 101)
    ]  # fmt: skip
    with django_assert_max_num_queries(12):
        answers = json.loads(
            Dispatcher(registry(this_node().evm_rpc)).answer(json.dumps(body).encode())
        )
    assert [answer["id"] for answer in answers] == list(range(1, 101))
    assert {item["result"] for item in answers} == {"0x0"}


def _counts(*asked: tuple[str, str]) -> list[dict[str, object]]:
    return [
        {"jsonrpc": "2.0", "id": n, "method": "eth_getTransactionCount", "params": list(params)}
        for n, params in enumerate(asked)
    ]


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_a_batch_of_pending_counts_is_read_together(
    chain, settings, django_assert_max_num_queries, profile
):
    chain.do()
    chain.send(chain.make(), chain.make())
    settings.NODE = updated(settings.NODE, profile=profile)
    dispatcher = Dispatcher(registry(this_node().evm_rpc))
    others = ["0x" + n.to_bytes(20, "big").hex() for n in range(100)]
    pending = _counts(*((other, "pending") for other in (*others, hexed(SENDER), hexed(SENDER))))
    dispatcher.answer(json.dumps(_counts((hexed(SENDER), "latest"))).encode())  # caches the head
    with django_assert_max_num_queries(10):
        answers = json.loads(dispatcher.answer(json.dumps(pending).encode()) or b"")
    assert [answer["result"] for answer in answers] == ["0x0"] * 100 + ["0x3"] * 2


def test_each_count_of_a_batch_has_its_own_outcome(chain):
    chain.do()
    chain.send(chain.make())
    asked = _counts(*((hexed(SENDER), at) for at in ("pending", "latest", "0x0", "0x99", "soon")))
    dispatcher = Dispatcher(registry(this_node().evm_rpc))
    answers = json.loads(dispatcher.answer(json.dumps(asked).encode()) or b"")
    singles = [json.loads(dispatcher.answer(json.dumps(item).encode()) or b"") for item in asked]
    assert answers == singles
    assert [answer.get("result") for answer in answers] == ["0x2", "0x1", "0x0", None, None]


@pytest.mark.parametrize("method", ["eth_getTransactionCount", "eth_getBalance"])
def test_pruned_height_fails_only_its_own_calls(chain, monkeypatch, method):
    chain.do()
    stored = state.state_at

    def state_at(of, number):
        if number == 0:
            raise StatePruned(number, bytes(32))
        return stored(of, number)

    monkeypatch.setattr(state, "state_at", state_at)
    asked = [
        {**count, "method": method}
        for count in _counts(
            (hexed(SENDER), "0x1"), (hexed(SENDER), "0x0"), (hexed(SENDER), "latest")
        )
    ]
    answers = json.loads(
        Dispatcher(registry(this_node().evm_rpc)).answer(json.dumps(asked).encode()) or b""
    )
    assert ["result" in answer for answer in answers] == [True, False, True]
    assert answers[1]["error"]["message"].startswith("missing trie node")


@pytest.mark.parametrize(
    ("profile", "method"), [("embedded", None), ("production", "eth_getTransactionCount")]
)
def test_pending_counts_are_gathered_if_rows_are_read(chain, settings, profile, method):
    settings.NODE = updated(settings.NODE, profile=profile)
    dispatcher = Dispatcher(registry(this_node().evm_rpc))
    pending, latest = _counts((hexed(SENDER), "pending"), (hexed(SENDER), "latest"))
    assert dispatcher.gathered_as(json.dumps(pending).encode()) == method
    assert dispatcher.gathered_as(json.dumps(latest).encode()) is None
