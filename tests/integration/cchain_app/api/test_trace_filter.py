"""trace_filter: the matches are the same with and without indexed calls."""

import pytest

from cchain_app.api.trace import trace_filter
from cchain_app.selectors import calls as found
from cchain_app.services.calls import index_calls
from cchain_app.tracing import output
from chaindb import indexing
from jsonrpc.errors import JsonRpcError
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, hexed, traced_chain

ADDRESS = {name: hexed(address) for name, address in ADDRESSES.items()}


@pytest.fixture(params=["rows", "execution", "both"])
def made(chain, request):
    made = traced_chain(chain)
    if request.param == "rows":
        index_calls(chain.evm, seconds=60)
    elif request.param == "both":
        index_calls(chain.evm, seconds=0)
        assert found.indexed_height(chain.evm) == 1
    return made


@pytest.fixture
def indexed(chain):
    made = traced_chain(chain)
    index_calls(chain.evm, seconds=60)
    return made


def whole(rpc):
    return rpc("trace_block", "0x1") + rpc("trace_block", "0x2")


def refusal(rpc, asked):
    with pytest.raises(JsonRpcError) as refused:
        rpc("trace_filter", asked)
    return refused.value.code, refused.value.message


def test_without_a_filter_all_of_the_chain_matches(rpc, made):
    assert rpc("trace_filter", {}) == whole(rpc)


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        (
            {"fromAddress": [ADDRESS["proxy"]]},
            lambda action, result: action.get("from") == ADDRESS["proxy"],
        ),
        (
            {"toAddress": [ADDRESS["counter"]]},
            lambda action, result: (
                ADDRESS["counter"] in {action.get("to"), (result or {}).get("address")}
            ),
        ),
        (
            {
                "fromAddress": [ADDRESS["proxy"]],
                "toAddress": [ADDRESS["counter"]],
                "fromBlock": "0x2",
            },
            lambda action, result: (
                action.get("from") == ADDRESS["proxy"] or action.get("to") == ADDRESS["counter"]
            ),
        ),
        (
            {
                "fromAddress": [ADDRESS["proxy"], hexed(SENDER)],
                "toAddress": [ADDRESS["counter"]],
                "mode": "intersection",
                "fromBlock": 2,
            },
            lambda action, result: (
                action.get("from") in {ADDRESS["proxy"], hexed(SENDER)}
                and action.get("to") == ADDRESS["counter"]
            ),
        ),
        ({"toAddress": ["0x" + "77" * 20]}, lambda action, result: False),
    ],
    ids=["sender", "recipient", "union", "intersection", "nobody"],
)
def test_entries_match_by_caller_and_callee(rpc, made, asked, matches):
    first = 2 if "fromBlock" in asked else 1

    expected = [
        item
        for item in whole(rpc)
        if item["blockNumber"] >= first and matches(item["action"], item["result"])
    ]

    assert rpc("trace_filter", asked) == expected


def test_creations_and_selfdestructs_match_their_addresses(rpc, made):
    created = rpc("trace_filter", {"toAddress": [hexed(CREATED)]})
    destroyed = rpc("trace_filter", {"fromAddress": [hexed(CREATED)]})
    paid = rpc("trace_filter", {"toAddress": [hexed(RECIPIENT)]})

    assert [other["type"] for other in created] == ["create", "call"]
    assert [entry["type"] for entry in destroyed] == ["suicide"]
    assert [item["type"] for item in paid] == ["call", "suicide"]


@pytest.mark.parametrize(
    ("after", "count"), [(0, 3), (4, 2), (7, None), ("0x1", "0x1"), (10**9, 5)]
)
def test_after_passes_over_and_count_limits(rpc, made, after, count):
    first = int(after, 16) if isinstance(after, str) else after
    most = int(count, 16) if isinstance(count, str) else count
    expected = whole(rpc)[first:][:most]

    assert rpc("trace_filter", {"after": after, "count": count}) == expected


def test_rows_are_read_in_parts(rpc, indexed, monkeypatch):
    monkeypatch.setattr(found, "_PAGE", 3)

    assert rpc("trace_filter", {}) == whole(rpc)
    assert rpc("trace_filter", {"fromAddress": [hexed(SENDER), ADDRESS["proxy"]]}) == [
        item
        for item in whole(rpc)
        if item["action"].get("from") in {hexed(SENDER), ADDRESS["proxy"]}
    ]


def test_index_avoids_execution_of_other_blocks(rpc, indexed, monkeypatch):
    counting = CountingEngine(indexed.chain.evm.engine)
    monkeypatch.setitem(indexed.chain.evm.__dict__, "engine", counting)

    rpc("trace_filter", {"toAddress": ["0x" + "77" * 20]})
    assert counting.blocks == []
    rpc("trace_filter", {"fromAddress": [ADDRESS["factory"]]})
    assert [block[0] for block in counting.blocks] == [2]


def test_a_search_in_more_blocks_waits_for_their_rows(rpc, chain, monkeypatch):
    monkeypatch.setattr(trace_filter, "MAX_BLOCKS", 1)
    traced_chain(chain)
    with monkeypatch.context() as patched:
        patched.setattr(indexing, "PATIENCE", 0.0)
        patched.setattr(indexing, "PAUSE", 0.0)
        code, message = refusal(rpc, {"fromBlock": "0x1"})
    assert (code, "has reached block 0, but this answer needs block 3" in message) == (-32000, True)

    assert rpc("trace_filter", {"fromBlock": "0x1"}) == whole(rpc)


@pytest.mark.node_settings(trace_index="off")
def test_too_many_blocks_without_rows_are_refused(rpc, chain, monkeypatch):
    monkeypatch.setattr(trace_filter, "MAX_BLOCKS", 2)
    made = traced_chain(chain)

    assert refusal(rpc, {"fromBlock": "0x1"}) == (
        -32602, "Block range too large; currently limited to 2 blocks",
    )  # fmt: skip
    assert rpc("trace_filter", {"fromBlock": "0x2"}) == rpc("trace_block", "0x2")
    index_calls(made.chain.evm, seconds=60)
    assert rpc("trace_filter", {}) == whole(rpc)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"fromBlock": "0x2", "toBlock": "0x1"}, "invalid block range params"),
        ({"mode": "neither"}, "unrecognized filter mode: neither"),
        ({"fromAddress": ["0x" + "77" * 20] * 101}, "too many addresses"),
        ({"fromAddress": ["0x77"]}, "hex string has length 2"),
        ({"count": -1}, "invalid hex or decimal integer"),
        ([], "cannot unmarshal array"),
    ],
)
def test_bad_input_is_refused(rpc, chain, asked, words):
    code, message = refusal(rpc, asked)

    assert code == -32602
    assert words in message


def test_a_range_above_the_head_is_empty(rpc, made):
    assert rpc("trace_filter", {"fromBlock": 50, "toBlock": 60}) == []


@pytest.mark.node_settings(trace_bytes=2000)
def test_an_answer_has_its_limit(rpc, made):
    code, _ = refusal(rpc, {})

    assert code == -32003


class TickingEngine(CountingEngine):
    """An engine that takes a second for each execution, by a clock that otherwise does not advance."""

    def __init__(self, engine):
        super().__init__(engine)
        self.now = 0.0
        self.limits = []

    def monotonic(self):
        return self.now

    def trace_block(self, env, transactions, state, recording, *, first=0, time_limit=None):
        self.now += 1
        self.limits.append(time_limit)
        return super().trace_block(
            env, transactions, state, recording, first=first, time_limit=time_limit
        )


@pytest.mark.node_settings(trace_timeout=3.5)
def test_blocks_in_which_nothing_matches_take_time_too(rpc, chain, monkeypatch):
    traced_chain(chain)
    engine = TickingEngine(chain.evm.engine)
    monkeypatch.setitem(chain.evm.__dict__, "engine", engine)
    monkeypatch.setattr(output, "time", engine)

    nobody = {"toAddress": ["0x" + "77" * 20]}
    assert refusal(rpc, nobody) == (-32000, "execution timeout")
    assert engine.limits == [3.5, 2.5, 1.5, 0.5]


@pytest.mark.node_settings(trace_timeout=3.5)
def test_traces_of_found_rows_use_the_remaining_time(rpc, indexed, monkeypatch):
    engine = TickingEngine(indexed.chain.evm.engine)
    monkeypatch.setitem(indexed.chain.evm.__dict__, "engine", engine)
    monkeypatch.setattr(output, "time", engine)

    assert refusal(rpc, {"fromAddress": [hexed(SENDER)]}) == (-32000, "execution timeout")
    assert engine.limits[0] == 3.5
    assert max(engine.limits[1:]) <= 2.5
