"""debug_trace*: a real chain's transactions, blocks and calls in the format of go-ethereum's tracers."""

from dataclasses import replace

import pytest

from cchain_app.blocks.accepted import encode_block
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.tracing import output
from jsonrpc.errors import JsonRpcError
from primitives.evm import Hash
from primitives.hexadecimal import checksum_address
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER, signed
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, hexed, traced_chain

pytestmark = pytest.mark.sqlite_only

NOWHERE = "0x" + "12" * 32
CALLS = {"tracer": "callTracer"}
COUNT = {"from": hexed(SENDER), "to": hexed(ADDRESSES["counter"])}


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


def test_a_transaction_is_reported_by_its_calls(rpc, made):
    found = rpc("debug_traceTransaction", made.hash("pay_and_destroy"), CALLS)
    receipt = rpc("eth_getTransactionReceipt", made.hash("pay_and_destroy"))

    assert (found["gas"], found["gasUsed"]) == (hex(200_000), receipt["gasUsed"])
    (called,) = found["calls"]
    assert (called["to"], called["value"]) == (hexed(CREATED), "0x3")
    assert [item["type"] for item in called["calls"]] == ["SELFDESTRUCT"]


def test_a_transaction_is_reported_by_its_steps(rpc, made):
    found = rpc("debug_traceTransaction", made.hash("count"))

    assert (found["failed"], found["returnValue"]) == (False, hexed(words(1)))
    assert [step["op"] for step in found["structLogs"]][:3] == ["PUSH1", "SLOAD", "PUSH1"]


def test_reverted_transaction_has_a_trace(rpc, made):
    found = rpc("debug_traceTransaction", made.hash("revert"), CALLS)

    assert (found["error"], found["revertReason"]) == ("execution reverted", "no")


def test_logs_have_their_places_in_the_block(rpc, made):
    options = {**CALLS, "tracerConfig": {"withLog": True}}
    (inner,) = rpc("debug_traceTransaction", made.hash("logs"), options)["calls"]
    receipt = rpc("eth_getTransactionReceipt", made.hash("logs"))

    assert [item["index"] for item in inner["logs"]] == [
        entry["logIndex"] for entry in receipt["logs"]
    ]
    first, later = (made.chain.make(to=ADDRESSES["logger"], gas=100_000, value=0) for _ in range(2))
    made.chain.send(first, later)
    made.chain.mine()
    found = rpc("debug_traceTransaction", hexed(later.hash), options)
    assert [other["index"] for other in found["logs"]] == ["0x2", "0x3"]


def test_block_is_traced_by_number_hash_or_bytes_in_one_execution(rpc, made, engine):
    found = rpc("debug_traceBlockByNumber", "0x2", CALLS)
    raw = encode_block(
        made.block.header, [transaction.raw for transaction in made.block.transactions]
    )

    assert [item["txHash"] for item in found] == [made.hash(name) for name in made.sent]
    assert rpc("debug_traceBlockByHash", hexed(made.block.hash), CALLS) == found
    assert rpc("debug_traceBlock", hexed(raw), CALLS) == found
    assert engine.blocks == [(2, len(made.sent), 0)]
    for name, one in zip(made.sent, found, strict=True):
        assert rpc("debug_traceTransaction", made.hash(name), CALLS) == one["result"]


def test_erc7562_tracer_shows_opcodes_and_slots_of_transactions_blocks_and_calls(rpc, made):
    options = {
        "tracer": "erc7562Tracer",
        "tracerConfig": {"ignoredOpcodes": [], "withLog": True, "stackTopItemsSize": 3},
    }
    slot, zero, one = (hexed(words(number)) for number in (0, 0, 1))
    found = rpc("debug_traceTransaction", made.hash("count"), options)
    steps = rpc("debug_traceTransaction", made.hash("count"))["structLogs"]

    assert found["accessedSlots"] == {
        "reads": {slot: [zero]}, "writes": {slot: 1}, "transientReads": {}, "transientWrites": {},
    }  # fmt: skip
    assert sum(found["usedOpcodes"].values()) == len(steps)
    assert found["outOfGas"] is False
    block = rpc("debug_traceBlockByNumber", "0x2", options)
    raw = encode_block(made.block.header, [tx.raw for tx in made.block.transactions])
    assert block[list(made.sent).index("count")]["result"] == found
    assert rpc("debug_traceBlockByHash", hexed(made.block.hash), options) == block
    assert rpc("debug_traceBlock", hexed(raw), options) == block
    state = {COUNT["to"]: {"stateDiff": {slot: one}}}
    called = rpc("debug_traceCall", COUNT, "latest", {**options, "stateOverrides": state})
    assert called["accessedSlots"]["reads"] == {slot: [one]}
    default = rpc("debug_traceCall", COUNT, "latest", {"tracer": "erc7562Tracer"})
    assert set(default["usedOpcodes"]) < set(called["usedOpcodes"])


def test_a_block_that_is_not_of_the_chain_is_reported_too(rpc, made):
    other = signed(nonce=made.sent["transfer"].nonce, to=ADDRESSES["counter"], gas=100_000, value=0)
    header = replace(made.block.header, extra_data=b"another")
    raw = encode_block(header, [other.raw, made.sent["count"].raw])

    found = rpc("debug_traceBlock", hexed(raw), CALLS)
    assert [item["txHash"] for item in found] == [hexed(other.hash), made.hash("count")]
    assert [entry["result"]["output"] for entry in found] == [hexed(words(1)), hexed(words(2))]


@pytest.mark.parametrize("tag", ["latest", "safe", "finalized", "pending"])
def test_tags_name_blocks(rpc, made, tag):
    assert rpc("debug_traceBlockByNumber", tag, CALLS) == []


def test_missing_objects_have_geths_messages(rpc, made):
    for asked, message in (
        (("debug_traceTransaction", NOWHERE), "transaction not found"),
        (("debug_traceBlockByNumber", "0xffffff"), "block #16777215 not found"),
        (("debug_traceBlockByHash", NOWHERE), f"block {NOWHERE} not found"),
        (("debug_traceBlockByNumber", "0x0"), "genesis is not traceable"),
        (("debug_traceBlockByNumber", "earliest"), "genesis is not traceable"),
        (("debug_traceBlockByHash", hexed(made.chain.genesis.hash)), "genesis is not traceable"),
        (("debug_traceCall", COUNT, "0xffffff"), "block #16777215 not found"),
        (("debug_traceCall", COUNT, NOWHERE), f"block {NOWHERE} not found"),
        (("debug_traceCall", COUNT, "pending"), "tracing on top of pending is not supported"),
    ):
        assert refusal(rpc, *asked, CALLS) == (-32000, message)


def test_a_waiting_transaction_was_not_executed(rpc, made):
    (waiting,) = made.chain.send(made.chain.make())

    assert refusal(rpc, "debug_traceTransaction", hexed(waiting), CALLS) == (
        -32000, "transaction not found",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"timeout": "abc"}, -32000, 'time: invalid duration "abc"'),
        ({"tracer": "nosuch"}, -32000, "tracer not found: nosuch"),
        ({"tracer": ""}, -32000, "tracer not found: "),
        (
            {**CALLS, "tracerConfig": {"onlyTopCall": "yes"}},
            -32000,
            "json: cannot unmarshal string into Go struct field callTracerConfig.onlyTopCall of type bool",
        ),
        (
            {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True, "includeEmpty": True}},
            -32000,
            "cannot use diffMode with includeEmpty",
        ),
        ({"enableMemory": 1}, -32602, "invalid argument 1: json: cannot unmarshal number into"),
        ([], -32602, "invalid argument 1: json: cannot unmarshal array into"),
    ],
)
def test_options_that_mean_nothing_are_refused(rpc, made, options, code, message):
    found = refusal(rpc, "debug_traceTransaction", made.hash("count"), options)

    assert found[0] == code
    assert found[1].startswith(message)


def test_trace_options_ignore_case_and_unknown_members(rpc, made):
    options = {"TRACER": "callTracer", "tracerconfig": {"OnlyTopCall": True}, "fullStorage": 1}

    assert "calls" not in rpc("debug_traceTransaction", made.hash("count_again"), options)
    assert rpc("debug_traceTransaction", made.hash("transfer"), None)["structLogs"] == []


def test_a_trace_that_takes_too_long_ends(rpc, made):
    options = {**CALLS, "timeout": "1ms"}
    call = {"to": hexed(ADDRESSES["loop"]), "gas": hex(40_000_000)}

    assert refusal(rpc, "debug_traceCall", call, "latest", options) == (-32000, "execution timeout")


@pytest.mark.node_settings(trace_timeout=0.01)
def test_trace_timeout_is_limited_by_the_node(rpc, made):
    options = {**CALLS, "timeout": "1000h"}
    call = {"to": hexed(ADDRESSES["loop"]), "gas": hex(40_000_000)}

    assert refusal(rpc, "debug_traceCall", call, "latest", options) == (-32000, "execution timeout")


@pytest.mark.node_settings(trace_bytes=5_000)
def test_an_answer_has_its_bounds(rpc, made):
    assert refusal(rpc, "debug_traceTransaction", made.hash("out_of_gas")) == (
        -32003, "response too large",
    )  # fmt: skip
    assert refusal(rpc, "debug_traceBlockByNumber", "0x2", CALLS)[0] == -32003
    assert rpc("debug_traceTransaction", made.hash("out_of_gas"), CALLS)["error"] == "out of gas"


def test_trace_cache_ignores_the_timeout_option(rpc, made, engine):
    first = rpc("debug_traceTransaction", made.hash("count"), CALLS)
    again = rpc("debug_traceTransaction", made.hash("count"), {**CALLS, "timeout": "2s"})
    assert again == first
    assert len(engine.blocks) == 1
    rpc("debug_traceTransaction", made.hash("count"))
    rpc("debug_traceTransaction", made.hash("count"), {**CALLS, "tracerConfig": {"withLog": True}})
    assert len(engine.blocks) == 3


def test_second_trace_of_a_block_records_the_rest_at_once(rpc, made, engine):
    found = [rpc("debug_traceTransaction", made.hash(name), CALLS) for name in made.sent]
    assert sum(count for _, count, _ in engine.blocks) == 1 + len(made.sent)
    whole = rpc("debug_traceBlockByNumber", "0x2", CALLS)
    assert found == [item["result"] for item in whole]
    assert engine.blocks[-1] == (2, len(made.sent), 0)


def test_backward_traces_record_each_transaction_once(rpc, made, engine):
    names = list(made.sent)
    for name in reversed(names):
        rpc("debug_traceTransaction", made.hash(name), CALLS)

    before = sum(range(len(names)))
    assert sum(count for _, count, _ in engine.blocks) == before + len(names)


class SlowEngine(CountingEngine):
    """An engine that exceeds the time limit for transactions with given hashes."""

    def __init__(self, engine, slow):
        super().__init__(engine)
        self.slow = slow

    def trace_block(self, env, transactions, state, recording, *, first=0, time_limit=None):
        self.blocks.append((env.number, len(transactions), first))
        if recording.frames and any(
            transaction.hash in self.slow for transaction in transactions[first:]
        ):
            raise TraceTimedOut
        return self._engine.trace_block(
            env, transactions, state, recording, first=first, time_limit=time_limit
        )


def test_repeated_slow_trace_executes_nothing_else(rpc, made, monkeypatch):
    engine = SlowEngine(made.chain.evm.engine, {made.sent["count"].hash})
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", engine)

    for _ in range(3):
        assert refusal(rpc, "debug_traceTransaction", made.hash("count"), CALLS) == (
            -32000, "execution timeout",
        )  # fmt: skip
    assert engine.blocks == [(2, 2, 1)] * 3


def test_a_rest_that_takes_too_long_is_tried_once(rpc, made, monkeypatch):
    slow = made.index("create")
    engine = SlowEngine(made.chain.evm.engine, {made.sent["create"].hash})
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", engine)
    for name in ("transfer", "count"):
        rpc("debug_traceTransaction", made.hash(name), CALLS)
    tried = sum(count for _, count, _ in engine.blocks)
    assert tried == 1 + slow + 1

    rpc("debug_traceTransaction", made.hash("count_again"), CALLS)
    assert sum(count for _, count, _ in engine.blocks) == tried
    later = made.index("revert")
    rpc("debug_traceTransaction", made.hash("revert"), CALLS)
    assert engine.blocks[-1] == (2, later + 1, later)
    rpc("debug_traceTransaction", made.hash("inner_revert"), CALLS)
    assert engine.blocks[-1] == (2, later + 2, later + 1)


def test_remaining_transactions_share_one_time_limit(rpc, made, engine, monkeypatch):
    now = [0.0]

    class Clock:
        @staticmethod
        def monotonic():
            now[0] += 2.0
            return now[0]

    monkeypatch.setattr(output, "time", Clock)
    for name in ("transfer", "count"):
        rpc("debug_traceTransaction", made.hash(name), CALLS)

    # Each reading of the clock takes two of the five seconds.
    assert engine.blocks == [(2, 1, 0), *[(2, 1, 0)] * 4]


@pytest.mark.node_settings(trace_bytes=5_000)
def test_oversized_trace_in_a_block_does_not_affect_others(rpc, made):
    for name in ("transfer", "count", "count_again", "create"):
        found = rpc("debug_traceTransaction", made.hash(name), {"limit": 2_000})
        assert found["failed"] is False
    assert refusal(rpc, "debug_traceTransaction", made.hash("out_of_gas"))[0] == -32003


@pytest.mark.node_settings(trace_cache=20_000)
def test_trace_cache_is_bounded(rpc, made):
    for name in made.sent:
        rpc("debug_traceTransaction", made.hash(name))
        rpc("debug_traceTransaction", made.hash(name), CALLS)

    assert 0 < made.chain.evm.traces.weight <= 20_000
    assert len(made.chain.evm.traces) < 2 * len(made.sent)


def test_a_call_is_reported_on_a_blocks_state_in_its_environment(rpc, made):
    found = rpc("debug_traceCall", COUNT, "0x1", CALLS)
    assert found["output"] == hexed(words(1))
    assert found["gas"] == hex(50_000_000)
    for place in ({"blockHash": hexed(made.block.hash)}, hexed(made.block.hash), "0x2", None):
        assert rpc("debug_traceCall", COUNT, place, CALLS)["output"] == hexed(words(3))
    assert rpc("debug_traceCall", COUNT)["returnValue"] == hexed(words(3))


def test_a_call_sees_its_blocks_number_and_no_base_fee_without_a_price(rpc, made):
    look = bytecode.assemble("NUMBER 0 MSTORE BASEFEE 32 MSTORE 64 0 RETURN")
    options = {**CALLS, "stateOverrides": {hexed(RECIPIENT): {"code": hexed(look)}}}
    block = rpc("eth_getBlockByNumber", "0x2", False)
    base_fee = int(block["baseFeePerGas"], 16)
    free = {"from": hexed(SENDER), "to": hexed(RECIPIENT)}

    assert rpc("debug_traceCall", free, "0x2", options)["output"] == hexed(words(2, 0))
    paid = {**free, "gas": "0x100000", "gasPrice": hex(2 * base_fee)}
    assert rpc("debug_traceCall", paid, "0x2", options)["output"] == hexed(words(2, base_fee))


@pytest.mark.parametrize(("index", "seen"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_a_call_sees_the_transactions_before_an_index(rpc, made, engine, index, seen):
    found = rpc("debug_traceCall", COUNT, "0x2", {**CALLS, "txIndex": hex(index)})

    assert found["output"] == hexed(words(seen))
    assert engine.blocks == [(2, index, 0)]


def test_an_index_beyond_the_block_is_refused(rpc, made):
    index = len(made.sent)

    assert refusal(rpc, "debug_traceCall", COUNT, "0x2", {"txIndex": hex(index)}) == (
        -32000,
        f"transaction index {index} out of range for block {hexed(made.block.hash)}",
    )


def test_a_calls_surroundings_are_overridden(rpc, made):
    look = bytecode.assemble("NUMBER 0 MSTORE 1 NUMBER SUB BLOCKHASH 32 MSTORE 64 0 RETURN")
    options = {
        **CALLS,
        "stateoverrides": {hexed(RECIPIENT): {"code": hexed(look)}},
        "BlockOverrides": {"number": "0x3"},
    }
    found = rpc("debug_traceCall", {"to": hexed(RECIPIENT)}, "0x2", options)

    assert found["output"] == hexed(words(3, made.block.hash))


@pytest.mark.parametrize("member", ["beaconRoot", "withdrawals"])
def test_overrides_without_meaning_for_a_call_are_refused(rpc, made, member):
    options = {"blockOverrides": {member: NOWHERE}}

    assert refusal(rpc, "debug_traceCall", COUNT, "latest", options) == (
        -32000, f'block override "{member}" is not supported for this RPC method',
    )  # fmt: skip


def test_overrides_that_contradict_each_other_are_refused(rpc, made):
    account = {"state": {}, "stateDiff": {}}
    options = {"stateOverrides": {hexed(RECIPIENT): account}}

    assert refusal(rpc, "debug_traceCall", COUNT, "latest", options) == (
        -32000, f"account {checksum_address(RECIPIENT)} has both 'state' and 'stateDiff'",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"gas": "0x5207"}, "tracing failed: intrinsic gas too low: have 20999, want 21000"),
        (
            {"value": hex(10**40)},
            "tracing failed: insufficient funds for gas * price + value: address ",
        ),
        ({"maxFeePerGas": "0x1"}, "tracing failed: max fee per gas less than block base fee: "),
    ],
)
def test_invalid_call_is_refused(rpc, made, call, message):
    code, words_ = refusal(rpc, "debug_traceCall", {**COUNT, **call}, "latest", CALLS)

    assert code == -32000
    assert words_.startswith(message)


def test_an_invalid_block_is_refused(rpc, made):
    code, message = refusal(rpc, "debug_traceBlock", "0x00", CALLS)
    assert code == -32000
    assert message.startswith("could not decode block: rlp: expected input list")


def test_block_whose_header_cannot_be_executed_is_refused(rpc, made):
    header = made.block.header
    for changes, message in (
        ({"parent_hash": Hash(bytes.fromhex(NOWHERE[2:]))}, f"parent {NOWHERE} not found"),
        ({"number": 7}, "block number 7 does not follow its parent's 1"),
        ({"gas_limit": 10**9}, "gas limit of block too high: 1000000000, at most "),
        ({"base_fee": 1 << 64}, "block base fee higher than 2^64-1"),
        (
            {"excess_blob_gas": (1 << 64) - 1},
            f"excess blob gas too high: {(1 << 64) - 1}, at most ",
        ),
    ):
        raw = encode_block(replace(header, **changes), [])
        code, words_ = refusal(rpc, "debug_traceBlock", hexed(raw), CALLS)
        assert code == -32000
        assert words_.startswith(message)


def test_a_block_cannot_use_more_gas_than_its_limit(rpc, made):
    nonce = made.sent["transfer"].nonce
    loops = [signed(nonce=nonce + place, to=ADDRESSES["loop"], gas=9_000_000) for place in range(2)]
    header = replace(made.block.header, gas_limit=10_000_000)
    raw = encode_block(header, [loop.raw for loop in loops])

    assert refusal(rpc, "debug_traceBlock", hexed(raw), CALLS)[0] == -32000


def test_a_block_with_a_transaction_that_cannot_be_in_it_is_refused(rpc, made):
    header = replace(made.block.header, extra_data=b"\x01")
    late = signed(nonce=10_000)
    code, message = refusal(rpc, "debug_traceBlock", hexed(encode_block(header, [late.raw])), CALLS)

    assert code == -32000
    assert message.startswith("tracing failed: ")
