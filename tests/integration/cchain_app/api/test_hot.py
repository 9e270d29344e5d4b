"""Requests answered on the event loop: from memory without a database query, or not there."""

import asyncio
import json

import pytest

from cchain_app.api import loop_gas, rendered
from cchain_app.api.rendered import RenderedBlocks
from jsonrpc.dispatch.dispatcher import MISS
from nodeproject.apps import this_node
from tests.builders import bytecode
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.transactions import RECIPIENT, SENDER

CONTRACT = bytecode.created(SENDER, 0)


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def body(method, *params) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


async def on_event_loop(asked: bytes):
    return hot_dispatcher().answer_hot(asked)


@pytest.fixture
def used(chain, monkeypatch):
    """A chain whose blocks, accounts and slots are cached, because they were requested before."""
    # Limit calls by gas alone: a busy machine loses milliseconds during which the call does not run.
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 60.0)
    monkeypatch.setattr(rendered, "SECONDS_ON_EVENT_LOOP", 60.0)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    made, block = chain.do(to=CONTRACT, gas=100_000, value=0)
    asked = {
        "eth_blockNumber": (), "eth_chainId": (), "net_version": (), "web3_clientVersion": (),
        "eth_gasPrice": (), "eth_maxPriorityFeePerGas": (), "eth_baseFee": (),
        "eth_feeHistory": ("0x2", "latest", [50]),
        "eth_getBalance": (hexed(SENDER), "latest"),
        "eth_getTransactionCount": (hexed(SENDER), "latest"),
        "eth_getCode": (hexed(CONTRACT), "latest"),
        "eth_getStorageAt": (hexed(CONTRACT), "0x0", "latest"),
        "eth_getBlockByNumber": ("latest", True),
        "eth_getBlockByHash": (hexed(block.hash), True),
        "eth_getBlockReceipts": ("latest",),
        "eth_getTransactionByHash": (hexed(made.hash),),
        "eth_getTransactionReceipt": (hexed(made.hash),),
        "eth_getLogs": ({"fromBlock": "0x1"},),
        "eth_call": ({"to": hexed(CONTRACT)}, "latest"),
        "eth_estimateGas": ({"from": hexed(SENDER), "to": hexed(CONTRACT)},),
    }  # fmt: skip
    return {method: body(method, *params) for method, params in asked.items()}


def test_cached_values_are_answered_on_the_event_loop(used):
    for method, asked in used.items():
        answered = hot_dispatcher().answer(asked)
        assert b'"result"' in answered, answered
        assert asyncio.run(on_event_loop(asked)) == answered, method


def test_more_logs_than_the_event_loop_may_render_are_left_to_a_thread(chain, monkeypatch):
    rpc = this_node().evm_rpc
    one_log = rpc.rendered.renderer._replace(on_event_loop=1)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0)
    sent, block = chain.do(to=CONTRACT, data=b"\x2a", gas=100_000, value=0)
    for asked in (
        body("eth_getTransactionReceipt", hexed(sent.hash)),
        body("eth_getBlockReceipts", hexed(block.hash)),
        body("eth_getLogs", {"blockHash": hexed(block.hash)}),
    ):
        monkeypatch.setattr(rpc, "rendered", RenderedBlocks(renderer=one_log))
        assert asyncio.run(on_event_loop(asked)) is MISS, asked
        answered = hot_dispatcher().answer(asked)
        assert answered.count(b'"logIndex"') == 2
        assert asyncio.run(on_event_loop(asked)) == answered, "it is known now"


def test_uncached_values_are_read_in_a_thread(used):
    unknown = [
        body("eth_getBalance", "0x" + "31" * 20, "latest"),
        body("eth_getBalance", hexed(RECIPIENT), "0x0"),
        body("eth_getTransactionReceipt", "0x" + "31" * 32),
        body("eth_getBlockByHash", "0x" + "31" * 32, False),
        body("eth_getTransactionCount", hexed(SENDER), "pending"),
        body("eth_call", {"to": "0x" + "32" * 20}, "latest"),
        body("eth_sendRawTransaction", "0x00"),
    ]
    for asked in unknown:
        assert asyncio.run(on_event_loop(asked)) is MISS, asked


def test_value_is_cached_after_the_first_read(used):
    asked = body("eth_getBalance", hexed(RECIPIENT), "latest")
    assert asyncio.run(on_event_loop(asked)) is MISS
    answered = hot_dispatcher().answer(asked)
    assert asyncio.run(on_event_loop(asked)) == answered


def test_a_long_call_is_left_to_a_thread(chain):
    chain.do(to=None, data=bytecode.deploy_code(bytecode.LOOP), gas=500_000, value=0)
    asked = body("eth_call", {"to": hexed(CONTRACT), "gas": hex(5_000_000)}, "latest")
    assert b"out of gas" in hot_dispatcher().answer(asked)
    assert asyncio.run(on_event_loop(asked)) is MISS


def test_a_batch_of_balances_is_answered_on_the_event_loop(used):
    one = json.loads(body("eth_getBalance", hexed(SENDER), "latest"))
    asked = json.dumps([{**one, "id": n} for n in range(100)]).encode()
    answered = asyncio.run(on_event_loop(asked))
    assert answered is not MISS
    assert len(json.loads(answered)) == 100
