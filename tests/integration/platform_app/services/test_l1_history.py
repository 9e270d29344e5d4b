"""A recorded day of an L1 on the reference's local network: the same blocks, states, refusals and validator sets."""

import json
from pathlib import Path
from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from network_app.chains.signing import PlatformSigner
from network_app.ports import SignatureRefused
from nodeproject.apps import this_node
from platform_app.apps import platform_chain, platform_runtime
from tests.integration.platform_app.conftest import PChain, asking
from tests.integration.platform_app.recorded import (
    assert_no_coin_is_lost,
    assert_validator_sets,
    take_block,
)

VECTORS = Path(__file__).parents[3] / "vectors" / "etna"
HISTORY = VECTORS / "history.json"
REQUESTS = VECTORS / "signature_requests.json"


@pytest.fixture(scope="module")
def history() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(HISTORY.read_text())["cases"][0]
    return found


def test_the_recorded_history_of_an_l1_is_repeated(
    reference_pchain: PChain, history: dict[str, Any]
) -> None:
    vm = platform_runtime().vm
    for case in history["blocks"]:
        take_block(vm, case)

    assert_no_coin_is_lost()
    assert_validator_sets(history)

    ask = asking(this_node().endpoints.platform.dispatcher)
    for exchange in history["replies"]:
        expected = exchange["reply"]
        if "error" in expected:
            with pytest.raises(JsonRpcError) as error:
                ask(exchange["method"], **exchange["params"])
            assert error.value.message == expected["error"]
        else:
            assert ask(exchange["method"], **exchange["params"]) == expected, exchange["method"]

    signer = PlatformSigner(platform_chain(), b"AvalancheLocalNetworkValidator01")
    for case in json.loads(REQUESTS.read_text())["cases"]:
        prefix, payload = case["appRequest"][:2], bytes.fromhex(case["appRequest"][2:])
        assert prefix == "02"
        if "error" in case:
            with pytest.raises(SignatureRefused) as refused:
                signer.sign(payload)
            assert refused.value.code == case["error"]["code"], case["name"]
            # After that come the words of the reference's protobuf library.
            words, _, _ = case["error"]["message"].partition("proto: ")
            assert str(refused.value).startswith(words), case["name"]
        else:
            assert signer.sign(payload).hex() == case["appResponse"], case["name"]
