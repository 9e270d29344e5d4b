"""trace_*: a real chain's transactions and calls in Parity's form."""

import pytest

from cchain_app.tracing import output
from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, hexed, traced_chain

pytestmark = pytest.mark.sqlite_only

NOWHERE = "0x" + "12" * 32


@pytest.fixture
def made(chain):
    return traced_chain(chain)


@pytest.fixture
def engine(made, monkeypatch):
    counting = CountingEngine(made.chain.evm.engine)
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", counting)
    return counting


def refusal(rpc, *asked):
    with pytest.raises(JsonRpcError) as refused:
        rpc(*asked)
    return refused.value.code, refused.value.message


def kinds(entries):
    return [(entry["type"], entry["traceAddress"], entry["subtraces"]) for entry in entries]


def test_a_transfer_used_no_gas_of_its_own(rpc, made):
    assert rpc("trace_transaction", made.hash("transfer")) == [
        {
            "action": {
                "from": hexed(SENDER), "callType": "call", "gas": hex(200_000 - 21_000),
                "input": "0x", "to": hexed(RECIPIENT), "value": "0x5",
            },
            "blockHash": hexed(made.block.hash),
            "blockNumber": 2,
            "result": {"gasUsed": "0x0", "output": "0x"},
            "subtraces": 0,
            "traceAddress": [],
            "transactionHash": made.hash("transfer"),
            "transactionPosition": 0,
            "type": "call",
        }
    ]  # fmt: skip


def test_creations_and_selfdestructs_have_forms_of_their_own(rpc, made):
    _, creation = rpc("trace_transaction", made.hash("create"))
    _, _, destruction = rpc("trace_transaction", made.hash("pay_and_destroy"))

    assert creation["type"] == "create"
    assert creation["action"]["creationMethod"] == "create2"
    assert creation["action"]["value"] == "0x9"
    assert creation["result"]["address"] == hexed(CREATED)
    assert creation["result"]["code"] == hexed(bytecode.DESTROYER)
    assert destruction["action"] == {
        "address": hexed(CREATED), "balance": hex(9 + 3), "refundAddress": hexed(RECIPIENT),
    }  # fmt: skip
    assert (destruction["result"], destruction["traceAddress"]) == (None, [0, 0])


def test_failures_have_paritys_messages(rpc, made):
    (top,) = rpc("trace_transaction", made.hash("revert"))
    outer, inner = rpc("trace_transaction", made.hash("inner_revert"))
    (empty,) = rpc("trace_transaction", made.hash("out_of_gas"))

    assert top["error"] == inner["error"] == "Reverted"
    assert top["result"]["output"].startswith("0x08c379a0")
    assert "error" not in outer
    assert (empty["error"], empty["result"]) == ("Out of gas", None)


def test_calls_of_precompiles_without_value_have_no_entry(rpc, made):
    assert kinds(rpc("trace_transaction", made.hash("precompile"))) == [("call", [], 0)]


def test_an_unknown_transaction_has_no_traces(rpc, made):
    assert rpc("trace_transaction", NOWHERE) is None
    assert rpc("trace_get", NOWHERE, ["0x0"]) is None
    assert refusal(rpc, "trace_replayTransaction", NOWHERE, []) == (-32000, "transaction not found")


def test_a_waiting_transaction_has_no_traces(rpc, made):
    (waiting,) = made.chain.send(made.chain.make())

    assert rpc("trace_transaction", hexed(waiting)) is None


def test_a_block_has_the_entries_of_all_its_transactions(rpc, made, engine):
    listed = rpc("trace_block", "0x2")

    assert len(engine.blocks) == 1
    assert listed == [
        item for name in made.sent for item in rpc("trace_transaction", made.hash(name))
    ]
    assert rpc("trace_block", hexed(made.block.hash)) == listed


def test_a_block_where_nothing_happened_has_no_entries(rpc, made):
    assert rpc("trace_block", "latest") == []
    assert rpc("trace_block", "earliest") == []
    assert rpc("trace_replayBlockTransactions", "0x0", ["trace"]) == []


def test_an_unknown_block_is_an_error(rpc, made):
    for method, others in (("trace_block", []), ("trace_replayBlockTransactions", [[]])):
        assert refusal(rpc, method, "0xffff", *others) == (-32000, "header not found")


def test_trace_get_returns_the_entry_at_an_index(rpc, made):
    listed = rpc("trace_transaction", made.hash("pay_and_destroy"))

    assert [rpc("trace_get", made.hash("pay_and_destroy"), [hex(n)]) for n in range(3)] == listed
    for indexes in (["0x3"], [], ["0x0", "0x0"]):
        assert rpc("trace_get", made.hash("pay_and_destroy"), indexes) is None


def test_unrequested_trace_types_are_empty(rpc, made):
    result = rpc("trace_replayTransaction", made.hash("count"), [])

    assert result == {
        "output": hexed(words(1)), "stateDiff": None, "trace": [], "vmTrace": None,
    }  # fmt: skip


def test_a_replay_has_traces_that_name_no_place(rpc, made):
    result = rpc("trace_replayTransaction", made.hash("count_again"), ["trace"])

    assert kinds(result["trace"]) == [("call", [], 1), ("call", [0], 0)]
    assert not {"blockHash", "transactionHash"} & set(result["trace"][0])


def test_a_state_diff_has_fees_slots_and_new_accounts(rpc, made):
    diff = rpc("trace_replayTransaction", made.hash("create"), ["stateDiff"])["stateDiff"]

    assert diff[hexed(CREATED)] == {
        "balance": {"+": "0x9"},
        "code": {"+": hexed(bytecode.DESTROYER)},
        "nonce": {"+": "0x1"},
        "storage": {},
    }
    assert diff[hexed(SENDER)]["nonce"] == {
        "*": {"from": hex(made.sent["create"].nonce), "to": hex(made.sent["create"].nonce + 1)}
    }
    factory = diff[hexed(ADDRESSES["factory"])]
    assert (factory["balance"], factory["code"]) == ("=", "=")
    assert factory["storage"] == {
        hexed(words(0)): {"*": {"from": hexed(words(0)), "to": hexed(words(CREATED))}}
    }


def test_a_vm_trace_has_the_code_that_ran(rpc, made):
    traced = rpc("trace_replayTransaction", made.hash("count"), ["vmTrace"])["vmTrace"]

    assert traced["code"] == hexed(bytecode.COUNTER)
    assert traced["ops"][0]["pc"] == 0


def test_a_block_is_replayed_in_one_execution(rpc, made, engine):
    types = ["trace", "stateDiff"]
    listed = rpc("trace_replayBlockTransactions", "0x2", types)

    assert len(engine.blocks) == 1
    assert [item["transactionHash"] for item in listed] == [made.hash(name) for name in made.sent]
    for name, one in zip(made.sent, listed, strict=True):
        del one["transactionHash"]
        assert rpc("trace_replayTransaction", made.hash(name), types) == one


def test_a_call_is_traced_on_a_blocks_state(rpc, made):
    call = {"from": hexed(SENDER), "to": hexed(ADDRESSES["counter"])}

    assert rpc("trace_call", call, [])["output"] == hexed(words(3))
    assert rpc("trace_call", call, [], "0x1")["output"] == hexed(words(1))
    assert rpc("trace_call", call, ["trace"], "latest")["trace"][0]["type"] == "call"


def test_a_call_is_traced_with_another_state(rpc, made):
    call = {"to": hexed(RECIPIENT)}
    number = bytecode.assemble("NUMBER 0 MSTORE 32 0 RETURN")
    change = {hexed(RECIPIENT): {"code": hexed(number)}}

    assert rpc("trace_call", call, [], "latest", change)["output"] == hexed(words(3))
    assert rpc("trace_call", call, [], "latest", change, {"number": "0x99"})["output"] == hexed(
        words(0x99)
    )


def test_invalid_call_is_an_error(rpc, made):
    call = {"to": hexed(RECIPIENT), "gas": "0x5207"}

    code, words_ = refusal(rpc, "trace_call", call, ["trace"])
    assert code == -32000
    assert "intrinsic gas too low: have 20999, want 21000" in words_


def test_call_many_executes_on_previous_results(rpc, made):
    count = {"from": hexed(SENDER), "to": hexed(ADDRESSES["counter"])}
    pay = {"from": hexed(SENDER), "to": hexed(RECIPIENT), "value": "0x7"}
    first, paid, second = rpc(
        "trace_callMany", [[count, ["trace"]], [pay, ["stateDiff"]], [count, []]]
    )

    assert [first["output"], second["output"]] == [hexed(words(3)), hexed(words(4))]
    assert first["stateDiff"] is None
    assert hexed(RECIPIENT) in paid["stateDiff"]
    assert rpc("trace_callMany", []) == []


def test_a_signed_transaction_is_traced_and_not_sent(rpc, made):
    sent = made.chain.make(to=ADDRESSES["counter"], gas=100_000, value=0)
    result = rpc("trace_rawTransaction", hexed(sent.raw), ["trace", "stateDiff"])

    assert result["output"] == hexed(words(3))
    assert hexed(SENDER) in result["stateDiff"]
    assert rpc("eth_getTransactionByHash", hexed(sent.hash)) is None


def test_an_invalid_transaction_is_refused(rpc, made):
    assert refusal(rpc, "trace_rawTransaction", "0x02", [])[0] == -32000


@pytest.mark.parametrize(
    ("types", "words_"),
    [
        (["trace", "gas"], "invalid argument 1: unrecognized trace type: gas"),
        (
            "trace",
            "invalid argument 1: json: cannot unmarshal string into Go value of type []string",
        ),
    ],
)
def test_unknown_types_are_refused(rpc, made, types, words_):
    assert refusal(rpc, "trace_replayTransaction", NOWHERE, types) == (-32602, words_)


def test_traces_are_cached(rpc, made, engine):
    for _ in range(2):
        rpc("trace_transaction", made.hash("count"))
        rpc("trace_get", made.hash("count"), ["0x0"])
        rpc("trace_replayTransaction", made.hash("count"), ["trace"])
        rpc("trace_block", "0x2")

    assert len(engine.blocks) == 3


@pytest.mark.node_settings(trace_cache=0)
def test_cache_of_size_zero_keeps_nothing(rpc, made, engine):
    for _ in range(2):
        rpc("trace_transaction", made.hash("count"))

    assert len(engine.blocks) == 2


@pytest.mark.node_settings(trace_bytes=2_000)
def test_an_answer_has_its_bounds(rpc, made):
    assert refusal(rpc, "trace_block", "0x2") == (-32003, "response too large")
    assert rpc("trace_transaction", made.hash("transfer"))


@pytest.mark.node_settings(trace_bytes=3_000)
def test_trace_result_size_is_limited(rpc, made):
    too_large = (-32003, "response too large")
    echo = {"to": ADDRESSES["reverter"], "value": 0, "data": bytes(2_000), "gas": 200_000}
    sent, _ = made.chain.do(**echo)
    call = {"to": hexed(echo["to"]), "data": hexed(echo["data"])}

    assert refusal(rpc, "trace_replayTransaction", hexed(sent.hash), []) == too_large
    assert refusal(rpc, "trace_replayBlockTransactions", "latest", []) == too_large
    assert refusal(rpc, "trace_call", call, []) == too_large
    assert refusal(rpc, "trace_callMany", [[call, []]]) == too_large
    assert refusal(rpc, "ots_getTransactionError", hexed(sent.hash)) == too_large
    waiting = made.chain.make(**echo)
    assert refusal(rpc, "trace_rawTransaction", hexed(waiting.raw), []) == too_large

    short = {**call, "data": hexed(bytes(500))}
    assert rpc("trace_call", short, [])["output"] == short["data"]


@pytest.mark.node_settings(trace_timeout=3.5)
def test_trace_call_many_shares_one_time_limit(rpc, made, engine, monkeypatch):
    class Clock:
        now, limits = 0.0, []

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(output, "time", clock)
    trace_call = engine.trace_call

    def ticking(*arguments, time_limit, **options):
        clock.now += 1
        clock.limits.append(time_limit)
        return trace_call(*arguments, time_limit=time_limit, **options)

    monkeypatch.setattr(engine, "trace_call", ticking)
    count = [{"to": hexed(ADDRESSES["counter"])}, []]

    assert len(rpc("trace_callMany", [count] * 4)) == 4
    assert clock.limits == [3.5, 2.5, 1.5, 0.5]
    assert refusal(rpc, "trace_callMany", [count] * 5) == (-32000, "execution timeout")
    assert clock.limits[4:] == [3.5, 2.5, 1.5, 0.5]
