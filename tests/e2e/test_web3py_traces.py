"""web3.py's tracing modules against the running node: one transaction in the formats of Parity and of go-ethereum."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from eth_account.signers.local import LocalAccount
from web3 import HTTPProvider, Web3
from web3.exceptions import Web3RPCError
from web3.middleware import SignAndSendRawMiddlewareBuilder

from tests.builders.bytecode import COUNTER, PROXY, deploy_code, words
from tests.e2e.checked import CheckedNode


@pytest.fixture
def w3(node: CheckedNode, account: LocalAccount) -> Iterator[Web3]:
    """A client with tracing methods that signs with the test's account."""
    with requests.Session() as session:
        client = Web3(HTTPProvider(node.url, session=session))
        client.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
        client.eth.default_account = account.address
        yield client


def mined(w3: Web3, sent: bytes) -> Any:
    return w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)


@pytest.fixture
def nested(w3: Web3) -> Any:
    """The receipt of a transaction whose contract called another contract."""
    counter, proxy = (
        mined(w3, w3.eth.send_transaction({"data": deploy_code(code), "gas": 300_000}))
        for code in (COUNTER, PROXY)
    )
    data = words(bytes.fromhex(counter["contractAddress"][2:]))
    call = {"to": proxy["contractAddress"], "data": data, "gas": 200_000}
    return mined(w3, w3.eth.send_transaction(call))


def test_transaction_is_traced_in_parity_form(w3: Web3, nested: Any) -> None:
    outer, inner = w3.tracing.trace_transaction(nested["transactionHash"])

    assert (outer["action"]["to"], inner["action"]["from"]) == (nested["to"], nested["to"])
    assert inner["result"]["output"] == words(1)
    assert inner["traceAddress"] == [0]
    listed = w3.tracing.trace_block(nested["blockNumber"])
    assert [item["transactionHash"] for item in listed][:1] == [nested["transactionHash"]]


def test_a_transaction_is_replayed(w3: Web3, nested: Any) -> None:
    types = ["trace", "stateDiff", "vmTrace"]
    replayed = w3.tracing.trace_replay_transaction(nested["transactionHash"], types)
    (of_block,) = w3.tracing.trace_replay_block_transactions(nested["blockNumber"], types)

    assert len(replayed["trace"]) == 2
    assert nested["from"].lower() in replayed["stateDiff"]
    assert replayed["vmTrace"]["ops"]
    assert of_block["transactionHash"] == nested["transactionHash"]
    assert of_block["trace"] == replayed["trace"]


def test_a_call_is_traced_without_being_sent(w3: Web3, nested: Any) -> None:
    call = {"to": nested["to"], "data": w3.eth.get_transaction(nested["transactionHash"])["input"]}
    traced = w3.tracing.trace_call(call, ["trace"])

    assert traced["output"] == words(1, 2)
    assert len(traced["trace"]) == 2


def test_transaction_is_traced_by_geths_tracers(w3: Web3, nested: Any) -> None:
    found = w3.geth.debug.trace_transaction(nested["transactionHash"], {"tracer": "callTracer"})
    steps = w3.geth.debug.trace_transaction(nested["transactionHash"])

    assert found["gasUsed"] == steps["gas"] == nested["gasUsed"]
    assert [item["type"] for item in found["calls"]] == ["CALL"]
    assert {"CALL", "SSTORE"} <= {step["op"] for step in steps["structLogs"]}


def test_unknown_tracer_is_refused_with_a_message(w3: Web3, nested: Any) -> None:
    with pytest.raises(Web3RPCError, match="tracer not found: nosuch"):
        w3.geth.debug.trace_transaction(nested["transactionHash"], {"tracer": "nosuch"})
