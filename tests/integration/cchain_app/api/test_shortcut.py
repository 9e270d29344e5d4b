"""The shortcut's responses and call counts equal those of the dispatcher, byte for byte, after any event.

The dispatcher without a shortcut is the reference. Each body is sent to both, on an event loop, and again
after each event that changes a response.
"""

import asyncio
import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app.api.eth import execution
from cchain_app.memory import make_memory
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.api.hot_requests import (
    BROKEN,
    COUNTER,
    COUNTER_TEXT,
    NOBODY,
    READER,
    SENDER_TEXT,
    ZERO_SLOT,
    Asked,
    of_head,
    one,
    other_forms,
    plain,
    texts,
)

pytestmark = [
    pytest.mark.usefixtures("patient"),
    pytest.mark.node_settings(profile="embedded"),
]


def test_all_forms_of_a_request_have_the_same_response(asked, chain):
    receipts = [encode_data(chain.do(to=RECIPIENT)[0].hash)]
    for body in (*texts(*of_head(receipts), *other_forms(receipts)), *BROKEN):
        for _ in range(2):  # the second response may come from the cache
            asked.same(body)


def test_a_block_is_the_same_by_number_and_by_hash(asked, chain):
    for full in (False, True):
        transaction = encode_data(chain.do(to=RECIPIENT)[0].hash)
        shown = json.loads(asked.same(plain(one("eth_getBlockByNumber", "latest", full))))["result"]
        (told,) = shown["transactions"]
        assert (told["hash"] if full else told) == transaction
        before = asked.by_shortcut
        by_hash = asked.same(plain(one("eth_getBlockByHash", shown["hash"], full)))
        assert json.loads(by_hash)["result"] == shown
        assert asked.by_shortcut == before + 1


def test_the_hash_of_the_block_before_is_that_of_the_chain_as_it_continues_and_back(asked, rpc):
    code = bytecode.assemble("NUMBER 1 SWAP1 SUB BLOCKHASH 0 MSTORE 32 0 RETURN")
    rpc("anvil_setCode", NOBODY, encode_data(code))
    body = plain(one("eth_call", {"to": NOBODY}, "latest"))

    def before_the_head() -> str:
        head = rpc("eth_getBlockByNumber", "latest", False)
        found = [json.loads(asked.same(body))["result"] for _ in range(2)]
        assert found == [head["parentHash"]] * 2
        return found[0]

    rpc("evm_mine")
    snapshot = rpc("evm_snapshot")
    seen = [before_the_head()]
    for later in (10, 20):
        rpc("evm_increaseTime", later)
        for _ in range(2):
            rpc("evm_mine")
            seen.append(before_the_head())
        rpc("evm_revert", snapshot)
        snapshot = rpc("evm_snapshot")
        assert before_the_head() == seen[0]
    answered = asked.by_shortcut
    before_the_head()
    assert asked.by_shortcut == answered + 2
    assert len(set(seen)) == 4  # the block of the snapshot is seen twice


def test_frequent_requests_are_answered_by_the_shortcut(asked, chain):
    receipts = [encode_data(chain.do(to=RECIPIENT)[0].hash)]
    usual = [json.dumps(body).encode() for body in of_head(receipts)]
    for body in usual:
        asked.same(body)
    asked.by_shortcut = 0
    for body in usual:
        asked.same(body)
    # The native engine has code that was executed before; the counter's code was.
    assert asked.by_shortcut == len(usual)
    whole = json.dumps([{**body, "id": n} for n, body in enumerate(of_head(receipts))]).encode()
    assert len(json.loads(asked.same(whole))) == len(usual)
    assert asked.by_shortcut == len(usual) + 1


def test_shortcut_answers_follow_every_change(asked, chain, rpc):
    receipts = [encode_data(chain.do(to=RECIPIENT)[0].hash)]
    bodies = [json.dumps(body).encode() for body in of_head(receipts)]
    seen: list[list[bytes]] = []

    def look() -> None:
        seen.append([asked.same(body) for body in bodies for _ in range(2)])

    look()
    snapshot = rpc("evm_snapshot")
    events = [
        lambda: chain.do(to=RECIPIENT),
        lambda: chain.do(to=COUNTER, gas=100_000, value=0),
        lambda: rpc("anvil_setBalance", SENDER_TEXT, "0x123456789abcdef"),
        lambda: rpc("anvil_setStorageAt", COUNTER_TEXT, ZERO_SLOT, "0x" + "07" * 32),
        lambda: rpc("anvil_setCode", NOBODY, "0x6001600055"),
        lambda: rpc("anvil_setNonce", NOBODY, "0x9"),
        lambda: rpc("anvil_setNextBlockBaseFeePerGas", "0x77359400"),
        lambda: rpc("evm_revert", snapshot),
        chain.forget,
    ]
    for event in events:
        event()
        look()
    different = sum(one != other for one, other in itertools.pairwise(seen))
    assert different >= len(events) - 1, "each event changed an answer, but that memory was lost"


def test_a_chain_id_that_is_set_is_answered_at_once(chain, rpc):
    asked = Asked()
    body = json.dumps(one("eth_chainId")).encode()
    before = [asked.same(body) for _ in range(2)]
    rpc("anvil_setChainId", 4242)
    after = [asked.same(body) for _ in range(2)]
    assert (before[1] != after[0], json.loads(after[1])["result"]) == (True, hex(4242))


@pytest.mark.parametrize("gas", [None, "0xffffffffffff"])
def test_an_estimate_tries_no_more_gas_than_block_caller_and_node_allow(asked, rpc, gas):
    limit = int(rpc("eth_getBlockByNumber", "latest", False)["gasLimit"], 16)
    cap = this_node().evm_rpc.gas_cap(limit)
    assert limit < cap < int("0xffffffffffff", 16)
    most = limit if gas is None else cap
    # It reverts if it has more.
    end = 7 + (most.bit_length() + 7) // 8
    code = bytecode.assemble(f"GAS {most} LT {end} JUMPI STOP JUMPDEST 0 0 REVERT")
    rpc("anvil_setCode", NOBODY, encode_data(code))
    call = {"to": NOBODY} if gas is None else {"to": NOBODY, "gas": gas}
    body = json.dumps(one("eth_estimateGas", call, "latest")).encode()
    asked.same(body)
    before = asked.by_shortcut
    answered = json.loads(asked.same(body))
    assert (21_000 < int(answered["result"], 16) < 22_000, asked.by_shortcut - before) == (True, 1)


def test_estimate_with_next_block_overrides_uses_the_method(asked, rpc):
    unnamed = json.dumps(one("eth_estimateGas", {"to": COUNTER_TEXT})).encode()
    at_head = json.dumps(one("eth_estimateGas", {"to": COUNTER_TEXT}, "latest")).encode()

    def answered_by_shortcut(body: bytes) -> int:
        asked.same(body)
        before = asked.by_shortcut
        asked.same(body)
        return asked.by_shortcut - before

    before = [answered_by_shortcut(body) for body in (unnamed, at_head)]
    rpc("anvil_setNextBlockBaseFeePerGas", "0x77359400")
    after = [answered_by_shortcut(body) for body in (unnamed, at_head, unnamed)]
    assert (before, after) == ([1, 1], [0, 1, 0])


@pytest.mark.parametrize("limits", [DispatchLimits(batch=2), DispatchLimits(response=60)])
def test_a_batch_beyond_the_limits_is_for_the_dispatcher(chain, limits):
    asked = Asked(limits)
    bodies = [
        json.dumps([{**one("eth_chainId"), "id": n} for n in range(c)]).encode() for c in (2, 3)
    ]
    for body in (bodies[0], *bodies):
        answered = asked.same(body)
    assert b'"error"' in answered


def test_change_during_a_call_is_visible_to_the_next_call(chain, rpc, monkeypatch):
    chain_id = bytecode.assemble("CHAINID 0 MSTORE 32 0 RETURN")
    rpc("anvil_setCode", NOBODY, encode_data(chain_id))
    asked = Asked()
    body = json.dumps(one("eth_call", {"to": NOBODY}, "latest")).encode()
    check = execution.check_fees

    def set_meanwhile(*about):
        monkeypatch.undo()
        rpc("anvil_setChainId", 4242)
        check(*about)

    monkeypatch.setattr(execution, "check_fees", set_meanwhile)
    asked.dispatchers[1].answer(body)
    for _ in range(2):
        assert int(json.loads(asked.same(body))["result"], 16) == 4242


def test_nothing_is_answered_or_kept_while_the_head_moves(asked, chain):
    memory, body = this_node().evm_chain.memory, json.dumps(one("eth_blockNumber")).encode()
    asked.same(body)
    answers = memory.answers

    def shown():
        found = answers.answer(body, True, 1, 1000)
        return None if found is None else json.loads(found[0])["result"]

    seen = [shown()]
    told = memory.blocks.on_head

    def look_before(number, begins):
        answers.keep(answers.epoch, "eth_blockNumber", b'"0x63"')
        seen.extend((hex(memory.blocks.head.number), shown()))
        told(number, begins)

    memory.blocks.on_head = look_before
    chain.do(to=RECIPIENT)
    assert seen == ["0x2", "0x3", None]


def test_console_call_is_left_to_the_method(asked, chain):
    code = bytecode.deploy_code(bytecode.TELLER)
    chain.do(to=None, data=code, gas=500_000, value=0)
    answered = []
    for to in (bytecode.created(SENDER, 2), COUNTER):
        body = json.dumps(one("eth_call", {"to": encode_data(to)})).encode()
        for _ in range(3):
            asked.same(body)
        answered.append(asked.by_shortcut > 0)
    assert answered == [False, True]


def test_call_with_many_cached_reads_uses_the_shortcut(asked, chain):
    chain.do(to=None, data=bytecode.deploy_code(READER), gas=500_000, value=0)
    to = encode_data(bytecode.created(SENDER, 2))
    body = json.dumps(one("eth_call", {"to": to}, "latest")).encode()
    alone, with_shortcut = asked.dispatchers

    async def on_event_loop(dispatcher: Dispatcher):
        return dispatcher.answer_hot(body)

    def hot() -> list[object]:
        return [asyncio.run(on_event_loop(each)) for each in (alone, with_shortcut)]

    assert hot() == [MISS, MISS]
    answered = alone.answer(body)
    assert int(json.loads(answered)["result"], 16) == 200
    assert (hot(), asked.by_shortcut) == ([MISS, answered], 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_body_has_two_answers(asked, data):
    method = st.sampled_from(
        [
            "eth_getBalance",
            "eth_getCode",
            "eth_call",
            "eth_estimateGas",
            "eth_getStorageAt",
            "eth_blockNumber",
            "x",
        ]
    )
    argument = st.sampled_from(
        [
            SENDER_TEXT,
            COUNTER_TEXT,
            ZERO_SLOT,
            "latest",
            "pending",
            "0x",
            None,
            7,
            {"to": COUNTER_TEXT},
        ]
    )
    call = st.fixed_dictionaries(
        {"jsonrpc": st.sampled_from(["2.0", "2", 2]), "id": st.integers() | st.text(max_size=3)},
        optional={"method": method, "params": st.lists(argument, max_size=3) | argument},
    )
    drawn = data.draw(st.lists(call, min_size=1, max_size=4))
    bodies = texts(*drawn, drawn)
    cut = data.draw(st.integers(0, len(bodies[-1])))
    for body in (*bodies, bodies[-1][:cut]):
        asked.same(body)


def test_the_reference_engine_has_no_shortcut():
    assert make_memory(native=False, accounts=1, slots=1, blocks=64).answers is None
