"""go-ethereum's responses to debug_trace* about its chain, compared on a node with the same chain."""

import json

import pytest

from cchain_app.apps import evm_chain
from cchain_app.tracing.options import CALL, TRACERS, tracer_not_found
from jsonrpc.errors import JsonRpcError
from tests.conformance.evm.tracing_vectors import NO_ACCOUNT, VECTORS, WRITE_PROTECTION
from tests.integration.cchain_app.imported import GENESIS, import_vectors

pytestmark = pytest.mark.sqlite_only

METHODS = {
    "debug_traceTransaction",
    "debug_traceBlockByNumber",
    "debug_traceBlockByHash",
    "debug_traceBlock",
    "debug_traceCall",
    "debug_traceChain",
}
EXCHANGES = [
    load
    for load in json.loads((VECTORS / "exchanges.json").read_text())
    if load["method"] in METHODS
]
TIMED_OUT = {"error": {"code": -32000, "message": "execution timeout"}}


@pytest.fixture
def imported(db, node_settings):
    import_vectors(evm_chain())


@pytest.mark.node_settings(genesis=GENESIS, mining="manual")
def test_answers_match_go_ethereum(imported, rpc):
    differ = []
    for number, one in enumerate(EXCHANGES):
        try:
            answer = {"result": rpc(one["method"], *one["params"])}
        except JsonRpcError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        if answer != expected(one) and not (has_no_time(one) and answer == TIMED_OUT):
            differ.append((number, one["method"], str(one["params"])[:300], answer, expected(one)))
    assert len(EXCHANGES) > 60
    assert not differ


def has_no_time(one):
    """Return whether the exchange sets no time for the trace, so that go-ethereum too may time out."""
    options = one["params"][-1]
    return isinstance(options, dict) and options.get("timeout") == "0s"


def expected(one):
    """Return go-ethereum's response without its faults, and with our messages where it runs JavaScript."""
    options = one["params"][-1]
    tracer = options.get("tracer", CALL) if isinstance(options, dict) else CALL
    if tracer not in TRACERS:
        return {"error": {"code": -32000, "message": str(tracer_not_found(tracer))}}
    if "error" in one:
        message = one["error"]["message"].replace("types.extblock", "types.Block")
        return {"error": {**one["error"], "message": message}}
    return {"result": mended(one["result"])}


def mended(value):
    """Return a result without the faults listed in the README of the vectors."""
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {name: mended(one) for name, one in value.items() if one != NO_ACCOUNT}
    return WRITE_PROTECTION if value == f"out of gas: {WRITE_PROTECTION}" else value
