"""Every method with a block parameter answers at every height of a chain that spans all forks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.spec_history import BYZANTIUM, LAST, history
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.followed import forget
from tests.integration.cchain_app.services.imported import bring, directory
from tests.integration.conftest import Rpc

pytestmark = pytest.mark.sqlite_only

__all__ = ["directory"]

WHO = f"0x{SENDER.hex()}"
CALL = {"from": WHO, "to": f"0x{RECIPIENT.hex()}", "value": "0x1"}
SIMULATION = {"blockStateCalls": [{"calls": [CALL]}]}
KINDS = ["trace", "stateDiff", "vmTrace"]

Params = Callable[[str], list[Any]]

AT_EVERY_BLOCK: dict[str, Params] = {
    "eth_getBlockByNumber": lambda at: [at, True],
    "eth_getHeaderByNumber": lambda at: [at],
    "eth_getBlockReceipts": lambda at: [at],
    "eth_getBalance": lambda at: [WHO, at],
    "eth_getStorageAt": lambda at: [WHO, "0x0", at],
    "eth_getProof": lambda at: [WHO, ["0x0"], at],
    "eth_call": lambda at: [CALL, at],
    "eth_estimateGas": lambda at: [CALL, at],
    "eth_createAccessList": lambda at: [CALL, at],
    "eth_feeHistory": lambda at: ["0x4", at, [10, 50]],
    "eth_simulateV1": lambda at: [SIMULATION, at],
    "debug_getRawBlock": lambda at: [at],
    "debug_getRawReceipts": lambda at: [at],
    "debug_traceCall": lambda at: [CALL, at, {"tracer": "callTracer"}],
    "debug_accountRange": lambda at: [at, "0x", 5, True, True, False],
    "trace_call": lambda at: [CALL, KINDS, at],
    "ots_getBlockDetails": lambda at: [int(at, 16)],
    "ots_getBlockTransactions": lambda at: [int(at, 16), 0, 25],
}

ABOVE_THE_GENESIS: dict[str, Params] = {
    "debug_traceBlockByNumber": lambda at: [at],
    "debug_storageRangeAt": lambda at: [at, 1, WHO, f"0x{'00' * 32}", 10],
    "debug_getModifiedAccountsByNumber": lambda at: [int(at, 16)],
    "trace_block": lambda at: [at],
    "trace_replayBlockTransactions": lambda at: [at, KINDS],
}


@pytest.fixture
def imported(directory: Path) -> None:
    """The imported chain, in a process with an empty cache."""
    del directory
    bring(history().genesis, history().file)
    forget()


@pytest.mark.parametrize("method", [*AT_EVERY_BLOCK, *ABOVE_THE_GENESIS])
def test_a_method_answers_at_every_height(imported: None, rpc: Rpc, method: str) -> None:
    first = 0 if method in AT_EVERY_BLOCK else 1
    params = {**AT_EVERY_BLOCK, **ABOVE_THE_GENESIS}[method]

    for number in range(first, LAST + 1):
        assert rpc(method, *params(hex(number))) is not None


@pytest.mark.parametrize(
    "tracer", ["callTracer", "flatCallTracer", "prestateTracer", "4byteTracer", "muxTracer"]
)
def test_every_block_is_traced(imported: None, rpc: Rpc, tracer: str) -> None:
    config = {"tracerConfig": {"callTracer": {}}} if tracer == "muxTracer" else {}

    for number in range(1, LAST + 1):
        block = rpc("eth_getBlockByNumber", hex(number), False)
        traces = rpc("debug_traceBlockByNumber", hex(number), {"tracer": tracer, **config})
        assert [trace["txHash"] for trace in traces] == block["transactions"]


def test_roots_between_transactions_are_those_of_the_receipts(imported: None, rpc: Rpc) -> None:
    for number in range(1, BYZANTIUM):
        receipts = rpc("eth_getBlockReceipts", hex(number))
        roots = rpc("debug_intermediateRoots", receipts[0]["blockHash"])
        assert roots == [receipt["root"] for receipt in receipts]
