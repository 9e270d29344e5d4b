"""The shortcut answers what the dispatcher answers, byte for byte, and counts it likewise; whatever happens in between.

The dispatcher without a shortcut is the definition. Each body is asked of both, on an event loop and again
after each event that changes an answer.
"""

import asyncio
import itertools
import json
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app.api import execution
from cchain_app.memory import make_memory, select
from cchain_app.selectors import blocks
from jsonrpc.dispatch import MISS, Dispatcher, Limits
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.process import begin_anew
from tests.builders.transactions import RECIPIENT, SENDER

COUNTER = bytecode.created(SENDER, 0)

READER = bytecode.assemble(
    "0 JUMPDEST DUP1 SLOAD POP 1 ADD 200 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN"
)
"""Reads two hundred slots: more gas than other calls may use on an event loop."""

MAPPING = bytecode.assemble(
    "0 JUMPDEST DUP1 0 MSTORE 32 0 KECCAK256 SLOAD POP 1 ADD 200 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN"
)
"""Reads two hundred slots that do not stand side by side."""

CHAIN = bytecode.assemble("0 JUMPDEST DUP1 SLOAD ADD 20 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN")
"""Reads slots, of which each one tells how far it is to the next."""

FILL_CHAIN = bytecode.assemble("0 JUMPDEST 1 DUP2 SSTORE 1 ADD 20 DUP2 LT 2 JUMPI POP")

REVERTER = bytecode.assemble("7 0 MSTORE 32 0 REVERT")

SENDER_TEXT, RECIPIENT_TEXT, COUNTER_TEXT = map(encode_data, (SENDER, RECIPIENT, COUNTER))
NOBODY = "0x" + "31" * 20
ZERO_SLOT = "0x" + "00" * 32


class Asked:
    """The same interface twice, with the shortcut and without, and what each has counted."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.counts: tuple[Counter[tuple[str, int]], ...] = (Counter(), Counter())
        self.by_shortcut = 0
        """How many bodies the shortcut has answered."""
        self.in_thread = 0
        """How many the shortcut for threads has answered."""
        rpc = this_node().evm_rpc
        shortcut, thread_shortcut = rpc.shortcut, rpc.thread_shortcut
        assert shortcut is not None
        assert thread_shortcut is not None

        def noticed(body: bytes, most_calls: int, most_bytes: int):
            found = shortcut(body, most_calls, most_bytes)
            self.by_shortcut += found is not None and found[1] is not None
            return found

        def noticed_in_thread(body: bytes, most_calls: int, most_bytes: int):
            found = thread_shortcut(body, most_calls, most_bytes)
            self.in_thread += found is not None
            return found

        self.dispatchers: tuple[Dispatcher, ...] = (
            hot_dispatcher(limits=limits, observer=self._observer(0)),
            hot_dispatcher(
                limits=limits,
                observer=self._observer(1),
                shortcut=noticed,
                thread_shortcut=noticed_in_thread,
            ),
        )

    def _observer(self, place: int):
        def observe(method: str, seconds: float, code: int = 0, count: int = 1) -> None:
            assert seconds >= 0
            self.counts[place][method, code] += count

        return observe

    def same(self, body: bytes) -> bytes:
        """Return the answer to a body, which is the same without the shortcut, on the loop and in a thread."""
        alone, with_shortcut = self.dispatchers
        answered = self.same_in_thread(body)

        async def on_event_loop(dispatcher: Dispatcher):
            return dispatcher.answer_hot(body)

        self._count_anew()
        # Each in a turn of its own, which the other one cannot have spent.
        hot = [asyncio.run(on_event_loop(one)) for one in (alone, with_shortcut)]
        assert hot[0] == hot[1], body
        assert hot[0] is MISS or (hot[0] or b"") == answered, body
        assert self.counts[0] == self.counts[1], body
        return answered

    def same_in_thread(self, body: bytes) -> bytes:
        """Return the answer to a body in a thread, which is the same without the shortcut."""
        alone, with_shortcut = self.dispatchers
        self._count_anew()
        answered = alone.answer(body)
        assert with_shortcut.answer(body) == answered, body
        assert self.counts[0] == self.counts[1], body
        return answered or b""

    def _count_anew(self) -> None:
        for counted in self.counts:
            counted.clear()


pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def asked(chain) -> Asked:
    deploy_counter(chain)
    return Asked()


def deploy_counter(chain) -> None:
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    chain.do(to=COUNTER, gas=100_000, value=0)


def one(method: str, *params: object, **more: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params), **more}


def plain(asked: object) -> bytes:
    return json.dumps(asked).encode()


def of_head(receipts: list[str]) -> list[dict[str, object]]:
    """Requests that the shortcut is for."""
    return [
        *map(one, ("eth_blockNumber", "eth_chainId", "net_version", "eth_gasPrice", "eth_baseFee")),
        *map(one, ("web3_clientVersion", "eth_maxPriorityFeePerGas", "eth_blobBaseFee")),
        *(
            one(method, address, *block)
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
            for address in (SENDER_TEXT, RECIPIENT_TEXT, COUNTER_TEXT, NOBODY)
            for block in ((), ("latest",), ("safe",), ("finalized",), ("accepted",))
        ),
        one("eth_getStorageAt", COUNTER_TEXT, ZERO_SLOT, "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, ZERO_SLOT),
        one("eth_getStorageAt", COUNTER_TEXT, "0x0", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x000", "latest"),
        one("eth_call", {"to": COUNTER_TEXT}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "from": SENDER_TEXT, "gas": "0x186a0"}),
        one("eth_call", {"to": RECIPIENT_TEXT, "data": "0x12", "value": "0x0"}, "latest"),
        one("eth_estimateGas", {"to": COUNTER_TEXT}, "latest"),
        one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT, "gas": "0x186a0"}),
        one("eth_estimateGas", {"to": COUNTER_TEXT, "gas": "0x5207"}, "safe"),
        one("eth_estimateGas", {"to": RECIPIENT_TEXT, "from": SENDER_TEXT, "value": "0x1"}),
        *(
            one("eth_getBlockByNumber", block, full)
            for block in ("latest", "safe", "finalized", "accepted", "0x0", "0x1", "0x2")
            for full in (False, True)
        ),
        *(one("eth_getTransactionReceipt", each) for each in receipts),
        *(one("eth_getTransactionByHash", each) for each in receipts),
    ]


def other_forms(receipts: list[str]) -> list[object]:
    """Bodies that mean the same, something else or nothing."""
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    return [
        *(
            {**balance, "id": each}
            for each in (0, -1, 1.5, "a", 'q"', "é", None, True, [], {}, 10**20)
        ),
        *({**balance, "params": each} for each in (None, {}, [], [SENDER_TEXT, "latest", 1], "x")),
        *(
            {**balance, "params": [each, "latest"]}
            for each in (1, None, "", "0x", SENDER_TEXT[:-1])
        ),
        *(
            {**balance, "params": [SENDER_TEXT, each]}
            for each in (
                "pending",
                "earliest",
                "0x0",
                "0x1",
                "0x01",
                "0xffff",
                1,
                None,
                "x",
                ZERO_SLOT,
            )
        ),
        {**balance, "params": ["0X" + SENDER_TEXT[2:]]},
        {**balance, "params": [SENDER_TEXT.upper().replace("0X", "0x")]},
        {**balance, "jsonrpc": "1.0"},
        {key: value for key, value in balance.items() if key != "id"},
        {key: value for key, value in balance.items() if key != "params"},
        {**balance, "method": "eth_nothing"},
        {**balance, "more": 1},
        one("eth_getStorageAt", COUNTER_TEXT, "0", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x" + "0" * 65, "latest"),
        one("eth_call", {"to": COUNTER_TEXT}, "pending"),
        one("eth_call", {"to": COUNTER_TEXT, "gas": "0x1"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "value": "0x1", "from": NOBODY}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "data": "0x", "input": "0x"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "data": "0x1"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "gasPrice": "0x1"}, "latest"),
        one("eth_call", {"data": "0x00"}, "latest"),
        *(
            one("eth_estimateGas", each, *block)
            for block in ((), ("latest",), ("pending",), ("0x1",))
            for each in (
                {"to": COUNTER_TEXT, "gas": "0x7530"},
                {"to": COUNTER_TEXT, "gas": "0xffffffffffff"},
                {"to": COUNTER_TEXT, "gasPrice": "0x1"},
                {"to": COUNTER_TEXT, "value": "0x1", "from": NOBODY},
                {"data": "0x00"},
            )
        ),
        one("eth_call", {"to": COUNTER_TEXT}, "latest", {}),
        *(
            one("eth_getBlockByNumber", *params)
            for params in (
                (),
                ("latest",),
                ("latest", None),
                ("latest", 1),
                ("latest", "true"),
                ("latest", True, 1),
                ("pending", True),
                ("earliest", False),
                ("0x01", True),
                ("0x", True),
                (1, True),
                ("0xffff", False),
                ("0x" + "f" * 17, True),
                ("0X1", True),
                (ZERO_SLOT, False),
            )
        ),
        *(
            one("eth_getBlockByHash", *params)
            for params in (
                (ZERO_SLOT, True),
                ("0x1", True),
                (ZERO_SLOT,),
                ("latest", True),
                (None, False),
            )
        ),
        one("eth_getTransactionReceipt", receipts[0], 1),
        one("eth_getTransactionReceipt", "0x" + "31" * 32),
        one("eth_blockNumber", 1),
        [],
        [1],
        [balance, {}],
        [balance, {**balance, "id": 2}, one("eth_blockNumber")],
        [one("eth_call", {"to": COUNTER_TEXT}, "latest"), balance, balance],
        [one("eth_estimateGas", {"to": COUNTER_TEXT}), one("eth_call", {"to": COUNTER_TEXT})],
    ]


def texts(*bodies: object) -> list[bytes]:
    """Return bodies, each also with blanks and its members the other way round."""
    plain = [json.dumps(body).encode() for body in bodies]
    spaced = [
        json.dumps(dict(reversed(body.items())), indent=1, ensure_ascii=False).encode()
        for body in bodies
        if isinstance(body, dict)
    ]
    return plain + spaced


BROKEN = [
    b"",
    b"{",
    b"[",
    b" ",
    b"7",
    b"\xff",
    b'{"id":1,"id":2}',
    b'{"jsonrpc":"2.0"}x',
    b"[{}",
    b"null",
]


def test_each_form_of_a_request_has_one_answer(asked, chain):
    receipts = [encode_data(chain.do(to=RECIPIENT)[0].hash)]
    for body in (*texts(*of_head(receipts), *other_forms(receipts)), *BROKEN):
        for _ in range(2):  # the second time it may be remembered
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


def test_what_clients_ask_most_is_answered_by_the_shortcut(asked, chain):
    receipts = [encode_data(chain.do(to=RECIPIENT)[0].hash)]
    usual = [json.dumps(body).encode() for body in of_head(receipts)]
    for body in usual:
        asked.same(body)
    asked.by_shortcut = 0
    for body in usual:
        asked.same(body)
    # Code is the native engine's once it was executed; that of the counter was.
    assert asked.by_shortcut == len(usual)
    whole = json.dumps([{**body, "id": n} for n, body in enumerate(of_head(receipts))]).encode()
    assert len(json.loads(asked.same(whole))) == len(usual)
    assert asked.by_shortcut == len(usual) + 1


def test_answers_follow_whatever_changes_them(asked, chain, rpc):
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
    cap = this_node().evm_rpc.gas_cap
    assert limit < cap < int("0xffffffffffff", 16)
    most = limit if gas is None else cap
    # It reverts where it has more.
    end = 7 + (most.bit_length() + 7) // 8
    code = bytecode.assemble(f"GAS {most} LT {end} JUMPI STOP JUMPDEST 0 0 REVERT")
    rpc("anvil_setCode", NOBODY, encode_data(code))
    call = {"to": NOBODY} if gas is None else {"to": NOBODY, "gas": gas}
    body = json.dumps(one("eth_estimateGas", call, "latest")).encode()
    asked.same(body)
    before = asked.by_shortcut
    answered = json.loads(asked.same(body))
    assert (21_000 < int(answered["result"], 16) < 22_000, asked.by_shortcut - before) == (True, 1)


def test_an_estimate_for_a_next_block_that_was_set_by_hand_is_left_to_the_method(asked, rpc):
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


@pytest.mark.parametrize("limits", [Limits(batch=2), Limits(response=60)])
def test_a_batch_beyond_the_limits_is_for_the_dispatcher(chain, limits):
    asked = Asked(limits)
    bodies = [
        json.dumps([{**one("eth_chainId"), "id": n} for n in range(c)]).encode() for c in (2, 3)
    ]
    for body in (bodies[0], *bodies):
        answered = asked.same(body)
    assert b'"error"' in answered


def test_what_was_set_while_a_call_was_read_is_seen_by_the_next_one(chain, rpc, monkeypatch):
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


def test_a_call_of_the_console_is_left_to_the_method(asked, chain):
    code = bytecode.deploy_code(bytecode.TELLER)
    chain.do(to=None, data=code, gas=500_000, value=0)
    answered = []
    for to in (bytecode.created(SENDER, 2), COUNTER):
        body = json.dumps(one("eth_call", {"to": encode_data(to)})).encode()
        for _ in range(3):
            asked.same(body)
        answered.append(asked.by_shortcut > 0)
    assert answered == [False, True]


def test_a_call_that_reads_much_of_what_is_remembered_is_answered_by_the_shortcut(asked, chain):
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


def test_calls_and_batches_with_calls_are_answered_in_threads_by_the_shortcut(asked, chain):
    chain.do(to=None, data=bytecode.deploy_code(READER), gas=500_000, value=0)
    large = one("eth_call", {"to": encode_data(bytecode.created(SENDER, 2))}, "latest")
    small = one("eth_call", {"to": COUNTER_TEXT}, "latest")
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    estimate = one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT}, "latest")
    bodies = list(map(plain, [large, small, estimate, [large, balance, small, estimate]]))
    for body in bodies:
        asked.same_in_thread(body)  # so that all of it is remembered
    for body in bodies:
        before = asked.in_thread
        asked.same_in_thread(body)
        assert asked.in_thread == before + 1, body
    before = asked.in_thread
    for body in (balance, [balance, balance]):
        asked.same_in_thread(plain(body))
    assert asked.in_thread == before


def unremembered(chain, code: bytes, before: bytes = b"") -> tuple["Asked", bytes]:
    """Return an interface, and a call of which the process remembers all but the state: code, too."""
    chain.do(to=None, data=bytecode.deploy_code(code, before), gas=900_000, value=0)
    to = encode_data(bytecode.created(SENDER, 2))
    body = plain(one("eth_call", {"to": to}, "latest"))
    asked = Asked()
    asked.dispatchers[0].answer(body)
    evm_chain = this_node().evm_chain
    evm_chain.memory.state.reset(blocks.head(evm_chain).number)
    return asked, body


@pytest.mark.parametrize("batch", [1, 3])
def test_what_calls_in_a_thread_ask_for_is_read_together(chain, batch):
    deploy_counter(chain)
    asked, body = unremembered(chain, MAPPING)
    body = body if batch == 1 else b"[%b]" % b",".join([body] * batch)
    with CaptureQueriesContext(connection) as queries:
        answered = asked.dispatchers[1].answer(body)
    assert asked.in_thread == 1
    assert len(queries.captured_queries) < 10, queries.captured_queries
    assert answered == asked.dispatchers[0].answer(body)
    assert answered.count(b"00c8") == batch


def test_a_call_that_asks_by_what_it_has_read_reads_by_itself_in_the_end(chain):
    deploy_counter(chain)
    asked, body = unremembered(chain, CHAIN, FILL_CHAIN)
    answered = asked.dispatchers[1].answer(body)
    assert asked.in_thread == 0
    assert answered == asked.dispatchers[0].answer(body)
    assert int(json.loads(answered)["result"], 16) == 20
    # All of it is remembered now.
    assert asked.same_in_thread(body) == answered
    assert asked.in_thread == 1


def test_a_batch_of_calls_of_several_contracts_reads_in_as_few_statements(chain):
    deploy_counter(chain)
    asked, body = unremembered(chain, MAPPING)
    others = []
    for nonce in range(3, 7):
        chain.do(to=None, data=bytecode.deploy_code(MAPPING), gas=500_000, value=0)
        others.append(
            plain(one("eth_call", {"to": encode_data(bytecode.created(SENDER, nonce))}, "latest"))
        )
    asked.dispatchers[0].answer(body)
    evm_chain = this_node().evm_chain
    evm_chain.memory.state.reset(blocks.head(evm_chain).number)
    batch = b"[%b]" % b",".join([body, *others])
    with CaptureQueriesContext(connection) as queries:
        answered = asked.dispatchers[1].answer(batch)
    assert asked.in_thread == 1
    assert len(queries.captured_queries) < 10, queries.captured_queries
    assert answered == asked.dispatchers[0].answer(batch)


def test_calls_that_fail_in_threads_are_left_to_the_method(asked, chain):
    for code in (REVERTER, bytecode.LOOP):
        chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    for nonce, error in ((2, "execution reverted"), (3, "out of gas")):
        to = encode_data(bytecode.created(SENDER, nonce))
        body = plain(one("eth_call", {"to": to, "gas": "0x100000"}, "latest"))
        for _ in range(3):
            assert error in json.loads(asked.same_in_thread(body))["error"]["message"]
    assert asked.in_thread == 0


def test_calls_that_take_too_long_in_a_thread_are_left_to_the_method(chain, monkeypatch):
    monkeypatch.setattr(select, "SECONDS_IN_THREAD", 0.0)
    begin_anew()
    chain.do(to=None, data=bytecode.deploy_code(READER), gas=500_000, value=0)
    asked = Asked()
    large = plain(one("eth_call", {"to": encode_data(bytecode.created(SENDER, 0))}, "latest"))
    small = plain(
        one("eth_call", {"to": RECIPIENT_TEXT}, "latest")
    )  # too small to look at the clock
    for _ in range(3):
        assert int(json.loads(asked.same_in_thread(large))["result"], 16) == 200
        assert json.loads(asked.same_in_thread(small))["result"] == "0x"
    assert asked.in_thread == 0


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
