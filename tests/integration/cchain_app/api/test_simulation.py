"""eth_simulateV1 on a real chain: its blocks equal those that the chain would have made."""

from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, TracedChain, hexed, traced_chain

pytestmark = pytest.mark.sqlite_only

COIN = 10**18
RICH, NOBODY = hexed(Address(b"\xaa" * 20)), hexed(Address(b"\xbb" * 20))
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@pytest.fixture
def traced(chain: Any) -> TracedChain:
    return traced_chain(chain)


def simulate(rpc: Any, *blocks: Any, at: str = "latest", **options: bool) -> Any:
    return rpc("eth_simulateV1", {"blockStateCalls": list(blocks), **options}, at)


def refusal(rpc: Any, *blocks: Any, **options: bool) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as refused:
        simulate(rpc, *blocks, **options)
    return refused.value.code, refused.value.message


def with_funds(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"stateOverrides": {RICH: {"balance": hex(COIN)}}, "calls": list(calls), **members}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.node_settings(engine=name))
        for name in ("native", "reference")
    ],
)
def test_a_block_of_the_same_calls_is_the_block_that_was_made(rpc, traced, engine):
    assert traced.chain.evm.settings.engine == engine
    made = rpc("eth_getBlockByNumber", "0x2", True)
    calls = [
        {
            name: one[name]
            for name in (
                "from",
                "to",
                "gas",
                "value",
                "input",
                "nonce",
                "maxFeePerGas",
                "maxPriorityFeePerGas",
            )
        }
        for one in made["transactions"]
    ]
    override = {"time": made["timestamp"], "gasLimit": made["gasLimit"]}
    (block,) = simulate(
        rpc, {"blockOverrides": override, "calls": calls}, at="0x1", validation=True
    )
    for name in (
        "stateRoot",
        "receiptsRoot",
        "logsBloom",
        "gasUsed",
        "baseFeePerGas",
        "parentHash",
        "miner",
    ):
        assert block[name] == made[name], name
    receipts = rpc("eth_getBlockReceipts", "0x2")
    assert [entry["gasUsed"] for entry in block["calls"]] == [item["gasUsed"] for item in receipts]
    assert [other["status"] for other in block["calls"]] == [
        receipt["status"] for receipt in receipts
    ]
    emitted = [log["topics"] for one in block["calls"] for log in one["logs"]]
    assert emitted == [log["topics"] for element in receipts for log in element["logs"]]


def test_state_continues_from_call_to_call_and_block_to_block(rpc, traced):
    count = {"from": NOBODY, "to": hexed(ADDRESSES["counter"])}
    first, second = simulate(rpc, {"calls": [count, count]}, {"calls": [count]})
    seen = [int(item["returnData"], 16) for item in (*first["calls"], *second["calls"])]
    assert seen == [seen[0], seen[0] + 1, seen[0] + 2]
    assert second["parentHash"] == first["hash"]
    assert rpc("eth_call", count, "latest") == first["calls"][0]["returnData"]


def test_blocks_see_the_hashes_of_those_before_them(rpc, traced):
    read = bytecode.assemble("1 NUMBER SUB BLOCKHASH 0 MSTORE 32 0 RETURN")
    asked = {"calls": [{"to": NOBODY}], "stateOverrides": {NOBODY: {"code": hexed(read)}}}
    first, gap, last = simulate(rpc, asked, {**asked, "blockOverrides": {"number": "0x6"}})
    assert [int(value["number"], 16) for value in (first, gap, last)] == [4, 5, 6]
    assert first["calls"][0]["returnData"] == rpc("eth_getBlockByNumber", "latest", False)["hash"]
    assert last["calls"][0]["returnData"] == gap["hash"]
    assert gap["calls"] == []


def test_a_base_fee_that_is_overridden_is_read_and_not_paid(rpc, traced):
    read = bytecode.assemble("BASEFEE 0 MSTORE 32 0 RETURN")
    asked = {"calls": [{"to": NOBODY}], "stateOverrides": {NOBODY: {"code": hexed(read)}}}
    named, unnamed = simulate(rpc, {**asked, "blockOverrides": {"baseFeePerGas": "0x9"}}, asked)

    assert (named["baseFeePerGas"], unnamed["baseFeePerGas"]) == ("0x9", "0x0")
    assert [int(item["calls"][0]["returnData"], 16) for item in (named, unnamed)] == [9, 0]
    assert {value["calls"][0]["status"] for value in (named, unnamed)} == {"0x1"}


def test_overrides_persist_and_transfers_are_traced_on_request(rpc, traced):
    pay = {
        "from": RICH,
        "to": hexed(ADDRESSES["proxy"]),
        "value": "0x7",
        "input": hexed(words(RECIPIENT)),
    }
    first, second = simulate(
        rpc,
        with_funds(pay),
        {"calls": [{"from": RICH, "to": NOBODY, "value": "0x1"}]},
        traceTransfers=True,
    )
    moved = [
        (
            log["topics"][1][-40:],
            log["topics"][2][-40:],
            int(log["data"], 16),
            int(log["logIndex"], 16),
        )
        for log in first["calls"][0]["logs"]
    ]
    proxy = hexed(ADDRESSES["proxy"])[2:]
    assert moved == [(RICH[2:], proxy, 7, 0), (proxy, hexed(RECIPIENT)[2:], 7, 1)]
    assert first["calls"][0]["logs"][0]["address"] == "0x" + "ee" * 20
    assert first["calls"][0]["logs"][0]["topics"][0] == TRANSFER
    assert int(first["logsBloom"], 16) == 0
    assert second["calls"][0]["logs"][0]["blockHash"] == second["hash"]
    silent = simulate(rpc, with_funds(pay))[0]
    assert silent["calls"][0]["logs"] == []
    assert silent["hash"] == first["hash"]


def test_withdrawals_are_paid_and_in_the_header(rpc, traced):
    paid = {"index": "0x0", "validatorIndex": "0x5", "address": NOBODY, "amount": "0x3"}
    read = bytecode.assemble("ADDRESS BALANCE 0 MSTORE 32 0 RETURN")
    first, second = simulate(
        rpc,
        {"blockOverrides": {"withdrawals": [paid, paid]}},
        {"calls": [{"to": NOBODY}], "stateOverrides": {NOBODY: {"code": hexed(read)}}},
    )
    assert int(second["calls"][0]["returnData"], 16) == 2 * 3 * 10**9
    assert first["withdrawals"] == [paid, paid]
    assert first["withdrawalsRoot"] != second["withdrawalsRoot"]


def test_a_failure_is_a_result(rpc, traced):
    reason = bytes.fromhex("08c379a0") + words(32, 2) + b"no".ljust(32, b"\0")
    reverts = {"to": hexed(ADDRESSES["reverter"]), "input": hexed(reason)}
    burns = {"to": hexed(ADDRESSES["loop"]), "gas": hex(60_000)}
    (block,) = simulate(rpc, {"calls": [reverts, burns]})
    reverted, burnt = block["calls"]
    assert reverted["error"] == {
        "code": 3,
        "message": "execution reverted: no",
        "data": hexed(reason),
    }
    assert burnt["error"] == {"code": -32015, "message": "out of gas"}
    for value in (reverted, burnt):
        assert (value["status"], value["returnData"], value["logs"]) == ("0x0", "0x", [])


@pytest.mark.node_settings(rpc_gas_cap=100_000)
def test_all_calls_share_the_gas_cap(rpc, traced):
    burns = {"to": hexed(ADDRESSES["loop"])}
    small = {"to": NOBODY, "gas": hex(30_000)}
    (block,) = simulate(rpc, {"calls": [small, burns]})
    used = [int(item["gasUsed"], 16) for item in block["calls"]]
    assert used == [21_000, 79_000]
    assert block["calls"][1]["error"]["message"] == (
        "out of gas (gas limit was capped by the RPC server's global gas cap)"
    )
    code, message = refusal(rpc, {"calls": [burns, small]})
    assert (code, message) == (
        -38013,
        "err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)",
    )


def test_invalid_call_fails_the_simulation(rpc, traced):
    nonce = int(rpc("eth_getTransactionCount", hexed(SENDER), "latest"), 16)
    called = {"from": hexed(SENDER), "to": NOBODY, "maxFeePerGas": hex(10**11)}
    for given, code in ((nonce - 1, -38010), (nonce + 1, -38011)):
        asked = {"calls": [{**called, "nonce": hex(given)}]}
        assert refusal(rpc, asked, validation=True)[0] == code
        assert simulate(rpc, asked)[0]["calls"][0]["status"] == "0x1"
    assert refusal(rpc, {"calls": [{"to": NOBODY}]}, validation=True)[0] == -38012
    assert refusal(rpc, {"calls": [{"to": NOBODY, "gas": "0x1"}]})[0] == -38013
    assert refusal(rpc, {"calls": [{"from": NOBODY, "to": RICH, "value": "0x1"}]})[0] == -38014
    long = {"input": "0x" + "00" * 49_153}
    assert refusal(rpc, {"calls": [long]})[0] == -38025


def test_overrides_that_contradict_each_other_are_refused(rpc, traced):
    moved = {"stateOverrides": {NOBODY: {"movePrecompileToAddress": RICH}}}
    code, message = refusal(rpc, moved)
    assert code == -32000
    assert message.endswith("is not a precompile")
    high = {"blockOverrides": {"baseFeePerGas": hex(2**64)}}
    assert refusal(rpc, high) == (-32602, "block base fee higher than 2^64-1")


def test_system_contracts_that_overrides_break_end_the_request(rpc, traced):
    queue = "0x00000961ef480eb55e80d19ad83579a64c007002"
    code, message = refusal(rpc, {"stateOverrides": {queue: {"code": "0xfe"}}})
    assert code == -32000
    assert message.startswith("system call failed to execute")


def test_called_empty_account_is_deleted_with_its_storage(rpc, traced):
    one = {"0x" + "00" * 32: "0x" + "00" * 31 + "01"}
    given = {NOBODY: {"stateDiff": one}, RICH: {"state": one}}
    (called,) = simulate(rpc, {"stateOverrides": given, "calls": [{"from": RICH, "to": NOBODY}]})
    (left,) = simulate(rpc, {"stateOverrides": {RICH: {"state": one, "nonce": "0x1"}}})
    assert called["stateRoot"] == left["stateRoot"]


def test_creation_at_the_maximum_nonce_fails(rpc, traced):
    last = {RICH: {"nonce": hex(2**64 - 1)}}
    (block,) = simulate(rpc, {"stateOverrides": last, "calls": [{"from": RICH, "input": "0x00"}]})
    assert block["calls"][0]["status"] == "0x0"
    assert block["calls"][0]["error"] == {"code": -32015, "message": "nonce uint64 overflow"}


@pytest.mark.node_settings(rpc_call_timeout=0.05, rpc_gas_cap=2**62)
def test_simulation_is_aborted_at_the_time_limit(rpc, traced):
    burns = {
        "blockOverrides": {"gasLimit": hex(2**62)},
        "calls": [{"to": hexed(ADDRESSES["loop"])}],
    }
    assert refusal(rpc, burns) == (-32000, "execution aborted (timeout = 0.05s)")


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.node_settings(engine=name))
        for name in ("native", "reference")
    ],
)
def test_simulation_starts_from_edited_state(rpc, traced, engine):
    made = hexed(Address(b"\xcc" * 20))
    rpc("anvil_setCode", made, hexed(bytecode.STORE))
    rpc("anvil_setBalance", RICH, hex(COIN))
    (first,) = simulate(
        rpc, {"calls": [{"from": RICH, "to": made, "data": "0x" + words(7, 9).hex()}]}
    )
    assert first["calls"][0]["status"] == "0x1"
    time = int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 100
    empty = {"calls": [], "blockOverrides": {"time": hex(time)}}
    (simulated,) = simulate(rpc, empty)
    rpc("evm_mine", hex(time))
    made = rpc("eth_getBlockByNumber", "latest", False)
    assert simulated["stateRoot"] == made["stateRoot"]
    # On a past height the result is the same: the next block stores that height's cheats, without its own effect.
    (again,) = simulate(rpc, empty, at=hex(int(made["number"], 16) - 1))
    assert again["stateRoot"] == made["stateRoot"]
