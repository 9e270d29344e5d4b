"""Any params of any method lead to a result or an error, never to a crash."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.registry import Method
from nodeproject.apps import this_node
from platform_app.api import PlatformRpc, keystore, registry
from platform_app.apps import platform_chain
from tests.integration.platform_app.api.conftest import EWOQ_TEXT
from tests.integration.platform_app.conftest import PChain, Rpc
from tests.searching import cases
from xchain_app.api import AvmRpc
from xchain_app.api import registry as x_registry
from xchain_app.api import wallet_registry as x_wallet_registry
from xchain_app.apps import avm_runtime

pytestmark = pytest.mark.sqlite_only

IDS = [
    "11111111111111111111111111111111LpoYY",
    "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe",
    "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg",
]
likely = st.sampled_from([
    *IDS, EWOQ_TEXT, "P", "X", "avm", "hex", "hexnc", "json", "proposed", "0x", "0x0000",
    "0x00000000001f", "AVAX", "alice", "", "1", "18446744073709551615", 0, 1, 5, 1024, 2**32,
    2**63, 2**64 - 1, 1_700_000_060, 1_701_000_000, True, False, None, 2.5,
])  # fmt: skip
values = st.recursive(
    likely
    | st.integers()
    | st.text(max_size=12)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["address", "utxo", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def params_of(method: Method) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for params with all or most of the method's names."""
    return st.fixed_dictionaries({}, optional={param.name: values for param in method.params})


@pytest.mark.parametrize(
    "method",
    [
        *(
            method
            for table in (registry, keystore.registry)
            for method in table(PlatformRpc(platform_chain()))
        ),
        *x_registry(AvmRpc(avm_runtime().chain)),
        *x_wallet_registry(AvmRpc(avm_runtime().chain)),
    ],
    ids=lambda method: method.name,
)
@settings(
    max_examples=cases(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_params_get_an_answer(
    pchain: PChain, keystore: Rpc, method: Method, data: st.DataObject
) -> None:
    params = data.draw(params_of(method))
    body = {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": params}

    answer = json.loads(dispatcher(method).answer(json.dumps(body).encode()) or b"")

    if "error" in answer:
        assert answer["error"]["code"] == -32000, answer
        assert answer["error"]["message"]


def dispatcher(method: Method) -> Dispatcher:
    endpoints = this_node().endpoints
    endpoint = {
        "platform": endpoints.platform,
        "keystore": endpoints.keystore,
        "avm": endpoints.xchain,
        "wallet": endpoints.xchain_wallet,
    }
    return endpoint[method.name.partition(".")[0]].dispatcher
