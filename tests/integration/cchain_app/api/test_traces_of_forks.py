"""Traces of a chain that spans every hard fork, made by others: re-execution agrees with the receipts."""

from pathlib import Path

import pytest

from tests.builders.spec_history import LAST, UNCLE, WITH_UNCLES, history
from tests.integration.cchain_app.services.imported import bring, directory
from tests.integration.conftest import Rpc

pytestmark = pytest.mark.sqlite_only

__all__ = ["directory"]

engines = pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.node_settings(engine=name))
        for name in ("native", "reference")
    ],
)


@engines
def test_every_block_of_every_fork_is_traced(directory: Path, rpc: Rpc, engine: str) -> None:
    bring(history().genesis, history().file)
    traced = 0
    for number in range(1, LAST + 1):
        block = rpc("eth_getBlockByNumber", hex(number), False)
        receipts = rpc("eth_getBlockReceipts", hex(number))
        calls = rpc("debug_traceBlockByNumber", hex(number), {"tracer": "callTracer"})
        assert [call["txHash"] for call in calls] == block["transactions"]
        assert [item["result"]["gasUsed"] for item in calls] == [
            receipt["gasUsed"] for receipt in receipts
        ]
        for options in ({}, {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}):
            assert len(rpc("debug_traceBlockByNumber", hex(number), options)) == len(calls)
        types = ["trace", "stateDiff", "vmTrace"]
        assert len(rpc("trace_replayBlockTransactions", hex(number), types)) == len(calls)
        raw = rpc("debug_getRawBlock", hex(number))
        assert rpc("debug_traceBlock", raw, {"tracer": "callTracer"}) == calls
        traced += len(calls)
    assert traced > 20


@pytest.mark.parametrize(("number", "coins"), list(zip(WITH_UNCLES, (5, 3, 2), strict=True)))
def test_proof_of_work_blocks_have_reward_traces(
    directory: Path, rpc: Rpc, number: int, coins: int
) -> None:
    bring(history().genesis, history().file)
    whole = coins * 10**18
    block = rpc("eth_getBlockByNumber", hex(number), False)
    paid = [other for other in rpc("trace_block", hex(number)) if other["type"] == "reward"]

    assert [item["action"] for item in paid] == [
        {"author": block["miner"], "rewardType": "block", "value": hex(whole + whole // 32)},
        {"author": "0x" + UNCLE.hex(), "rewardType": "uncle", "value": hex(whole * 6 // 8)},
    ]
    assert paid[0]["blockHash"] == block["hash"]
    assert rpc("ots_getBlockDetails", number)["issuance"] == {
        "blockReward": hex(whole + whole // 32),
        "uncleReward": hex(whole * 6 // 8),
        "issuance": hex(whole + whole // 32 + whole * 6 // 8),
    }
    assert paid[0]["result"] is paid[0]["transactionHash"] is None


def test_nothing_is_paid_for_work_after_the_merge(directory: Path, rpc: Rpc) -> None:
    bring(history().genesis, history().file)

    assert {item["type"] for item in rpc("trace_block", hex(LAST))} <= {"call", "create", "suicide"}
