"""Calls in threads: the shortcut returns the same as the method, and reads the state in batches."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.memory import select
from cchain_app.selectors import blocks
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.process import restart_node
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.api.hot_requests import (
    COUNTER_TEXT,
    READER,
    RECIPIENT_TEXT,
    SENDER_TEXT,
    Asked,
    deploy_counter,
    one,
    plain,
)

MAPPING = bytecode.assemble(
    "0 JUMPDEST DUP1 0 MSTORE 32 0 KECCAK256 SLOAD POP 1 ADD 200 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN"
)
"""Code that reads two hundred slots that are not adjacent."""

CHAIN = bytecode.assemble("0 JUMPDEST DUP1 SLOAD ADD 20 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN")
"""Code that reads a chain of slots, each of which contains the offset to the next."""

FILL_CHAIN = bytecode.assemble("0 JUMPDEST 1 DUP2 SSTORE 1 ADD 20 DUP2 LT 2 JUMPI POP")

REVERTER = bytecode.assemble("7 0 MSTORE 32 0 REVERT")

pytestmark = pytest.mark.usefixtures("patient")


def test_calls_and_batches_with_calls_are_answered_in_threads_by_the_shortcut(asked, chain):
    chain.do(to=None, data=bytecode.deploy_code(READER), gas=500_000, value=0)
    large = one("eth_call", {"to": encode_data(bytecode.created(SENDER, 2))}, "latest")
    small = one("eth_call", {"to": COUNTER_TEXT}, "latest")
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    estimate = one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT}, "latest")
    bodies = list(map(plain, [large, small, estimate, [large, balance, small, estimate]]))
    for body in bodies:
        asked.same_in_thread(body)  # caches all of it
    for body in bodies:
        before = asked.in_thread
        asked.same_in_thread(body)
        assert asked.in_thread == before + 1, body
    before = asked.in_thread
    for body in (balance, [balance, balance]):
        asked.same_in_thread(plain(body))
    assert asked.in_thread == before


def test_long_batch_without_calls_is_answered_in_a_thread_by_the_shortcut(asked, chain):
    deploy_counter(chain)
    batch = plain([one("eth_getBalance", SENDER_TEXT, "latest"), one("eth_chainId")] * 50)
    asked.same_in_thread(batch)  # caches the account
    before = asked.in_thread
    asked.same_in_thread(batch)
    assert asked.in_thread == before + 1


def unremembered(chain, code: bytes, before: bytes = b"") -> tuple["Asked", bytes]:
    """Return an API, and a call for which the process has cached everything but the state and code."""
    chain.do(to=None, data=bytecode.deploy_code(code, before), gas=900_000, value=0)
    to = encode_data(bytecode.created(SENDER, 2))
    body = plain(one("eth_call", {"to": to}, "latest"))
    asked = Asked()
    asked.dispatchers[0].answer(body)
    evm_chain = this_node().evm_chain
    evm_chain.memory.state.reset(blocks.head(evm_chain).number)
    return asked, body


@pytest.mark.parametrize("batch", [1, 3])
def test_reads_of_calls_in_a_thread_are_batched(chain, batch):
    deploy_counter(chain)
    asked, body = unremembered(chain, MAPPING)
    body = body if batch == 1 else b"[%b]" % b",".join([body] * batch)
    with CaptureQueriesContext(connection) as queries:
        answered = asked.dispatchers[1].answer(body)
    assert asked.in_thread == 1
    assert len(queries.captured_queries) < 10, queries.captured_queries
    assert answered == asked.dispatchers[0].answer(body)
    assert answered.count(b"00c8") == batch


def test_call_with_dependent_reads_falls_back_to_single_reads(chain):
    deploy_counter(chain)
    asked, body = unremembered(chain, CHAIN, FILL_CHAIN)
    answered = asked.dispatchers[1].answer(body)
    assert asked.in_thread == 0
    assert answered == asked.dispatchers[0].answer(body)
    assert int(json.loads(answered)["result"], 16) == 20
    # Everything is cached now.
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
    restart_node()
    chain.do(to=None, data=bytecode.deploy_code(READER), gas=500_000, value=0)
    asked = Asked()
    large = plain(one("eth_call", {"to": encode_data(bytecode.created(SENDER, 0))}, "latest"))
    small = plain(one("eth_call", {"to": RECIPIENT_TEXT}, "latest"))  # too small to check the clock
    for _ in range(3):
        assert int(json.loads(asked.same_in_thread(large))["result"], 16) == 200
        assert json.loads(asked.same_in_thread(small))["result"] == "0x"
    assert asked.in_thread == 0
