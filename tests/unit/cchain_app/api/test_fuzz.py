"""Arbitrary arguments never crash a method: the answer is a result or an error with a message."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app.api import registry
from cchain_app.api.devnet import accounts
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.params import bind_positional
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from tests.builders import bytecode
from tests.builders.accepted import log
from tests.builders.transactions import RECIPIENT, signed
from tests.searching import cases

ACCOUNTS = MethodRegistry()
accounts.add(ACCOUNTS, this_node().evm_rpc)
READ_ALONE = [
    method
    for method in registry(this_node().evm_rpc)
    if method.name.startswith(("anvil_", "hardhat_", "evm_", "tenderly_"))
    or method.name in ACCOUNTS.methods
    or method.name == "eth_simulateV1"
]
STORED = (
    {"eth_sendRawTransaction", "eth_sendRawTransactionSync", "eth_getProof"}
    | {"eth_pendingTransactions", "debug_clearTxpool", "eth_capabilities"}
    | {method.name for method in registry(this_node().evm_rpc) if "ilter" in method.name}
    | {method.name for method in READ_ALONE}
)
"""Methods that need rows, or a cache that outlives the test; other tests cover them."""

NAMES = sorted(method.name for method in registry(this_node().evm_rpc) if method.name not in STORED)
MEMBERS = (
    "from", "to", "gas", "gasPrice", "value", "data", "input", "nonce", "accessList", "chainId",
    "authorizationList", "blockHash", "blockNumber", "requireCanonical", "fromBlock", "toBlock",
    "address", "topics", "balance", "code", "state", "stateDiff", "number", "time",
)  # fmt: skip

hex_texts = st.one_of(
    st.sampled_from(["0x", "0x0", "0x1", "0x01", "0xffffffffffffffff", "0x" + "f" * 64, "latest"]),
    st.sampled_from(["pending", "earliest", "0x" + RECIPIENT.hex(), "0x" + "00" * 32, "", "0xg"]),
    st.binary(max_size=40).map(lambda data: "0x" + data.hex()),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), hex_texts,
    st.text(max_size=8),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(MEMBERS), hex_texts), inner, max_size=4),
    ),
    max_leaves=8,
)


@pytest.fixture
def dispatcher(memory_chain):
    memory_chain.state.put(RECIPIENT, code=bytecode.COUNTER, balance=9)
    memory_chain.accept(signed(), logs=[[log()]])
    memory_chain.pending.append(signed(nonce=1))
    return Dispatcher(registry(this_node().evm_rpc))


@given(method=st.sampled_from(NAMES), params=st.lists(values, max_size=4))
@settings(
    max_examples=cases(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_arguments_crash_a_method(dispatcher, method, params):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    error = json.loads(dispatcher.answer(json.dumps(body).encode())).get("error", {})
    # eth_getWork and the like are refused with the code of a crash, as by Anvil.
    assert error.get("code") != -32603 or error["message"] == "Not implemented", (method, params)


@given(method=st.sampled_from(READ_ALONE), params=st.lists(values, max_size=4))
@settings(max_examples=cases(80))
def test_arguments_of_methods_with_rows_are_read_or_refused_with_a_reason(method, params):
    assert _refusal(method, params) in {None, -32602}


def _refusal(method, params):
    """Return the code with which arguments are rejected; None if they can be parsed."""
    try:
        bind_positional(method.params, params)
    except JsonRpcError as refused:
        return refused.code if refused.message else None
    return None
