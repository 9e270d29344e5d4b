"""go-ethereum's responses about state, raw data and simulations, compared on a node with the same chain."""

import json
from typing import Any

import pytest

from cchain_app.apps import evm_chain
from jsonrpc.errors import JsonRpcError
from tests.conformance.evm.tracing_vectors import VECTORS
from tests.integration.cchain_app.imported import GENESIS, import_vectors

EXCHANGES = [
    load
    for load in json.loads((VECTORS / "exchanges.json").read_text())
    if not load["method"].startswith("debug_trace")
]

UNKNOWN = "0x" + "12" * 32
SUM_OF_THREE = {
    "storage": {
        "0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563": {
            "key": "0x" + "00" * 32,
            "value": "0x" + "00" * 31 + "06",
        }
    },
    "nextKey": None,
}
"""The contract sums the values it is called with, here 1, 2 and 3 before the fourth transaction."""

REFUSED = {"debug_setHead"}
"""Accepted blocks are final on this node."""

pytestmark = [
    pytest.mark.sqlite_only,
    pytest.mark.node_settings(genesis=GENESIS, min_base_fee=0, mining="manual"),
]


@pytest.fixture
def imported(db: None, node_settings: Any) -> None:
    import_vectors(evm_chain())


def answer(rpc: Any, exchange: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": rpc(exchange["method"], *exchange["params"])}
    except JsonRpcError as error:
        return {"error": {"code": error.code, "message": error.message}}


def expected(exchange: dict[str, Any]) -> dict[str, Any]:
    """Return go-ethereum's response without its fault (README), and with our messages instead of Go's values."""
    if exchange["method"] in REFUSED:
        words = (
            "debug_setHead is not available: accepted blocks are final; on a development chain "
            "anvil_rollback, evm_revert and anvil_reset go back"
        )
        return {"error": {"code": -32000, "message": words}}
    if exchange["method"] == "debug_storageRangeAt" and exchange["params"][1] == 3:
        return {"result": SUM_OF_THREE}
    if "result" in exchange:
        return {"result": exchange["result"]}
    message, what = exchange["error"]["message"], exchange["method"]
    if "[18 18" in message:
        message = f"{'block' if what == 'debug_getRawBlock' else 'header'} {UNKNOWN} not found"
    if "<nil>" in message:
        message = f"block {exchange['params'][0]} not found"
    return {"error": {**exchange["error"], "message": message}}


def test_answers_match_go_ethereum(imported: None, rpc: Any) -> None:
    differ = [
        (item["method"], str(item["params"])[:300], found, wanted)
        for item in EXCHANGES
        if (found := answer(rpc, item)) != (wanted := expected(item))
    ]
    assert len(EXCHANGES) > 60
    assert {exchange["method"] for exchange in EXCHANGES} >= REFUSED
    assert not differ
