"""eth_call, eth_estimateGas and eth_createAccessList on a real chain."""

import pytest

from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER

pytestmark = pytest.mark.sqlite_only

CONTRACT = bytecode.created(SENDER, 0)


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def counting(chain):
    """A counter created in block 1, and incremented to 1 and 2 in the next two blocks."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    chain.do(to=CONTRACT, gas=100_000, value=0)
    chain.do(to=CONTRACT, gas=100_000, value=0)
    return chain


def test_call_returns_the_contracts_answer(rpc, counting):
    assert int(rpc("eth_call", {"to": hexed(CONTRACT)}, "latest"), 16) == 3


def test_a_call_sees_the_state_of_its_block(rpc, counting):
    block = rpc("eth_getBlockByNumber", "0x2", False)
    places = ["0x1", "0x2", {"blockHash": block["hash"]}, block["hash"], "latest", "pending"]
    seen = [int(rpc("eth_call", {"to": hexed(CONTRACT)}, place), 16) for place in places]
    assert seen == [1, 2, 2, 2, 3, 3]
    assert rpc("eth_call", {"to": hexed(CONTRACT)}, "earliest") == "0x"


def test_a_call_sees_hashes_of_earlier_blocks(rpc, counting):
    read = bytecode.assemble("1 NUMBER SUB BLOCKHASH 0 MSTORE 32 0 RETURN")
    change = {hexed(RECIPIENT): {"code": hexed(read)}}
    seen = rpc("eth_call", {"to": hexed(RECIPIENT)}, "latest", change)
    assert seen == rpc("eth_getBlockByNumber", "0x2", False)["hash"]


def test_estimate_suffices_for_the_transaction(rpc, counting):
    call = {"from": hexed(SENDER), "to": hexed(CONTRACT)}
    estimated = int(rpc("eth_estimateGas", call), 16)
    sent, _ = counting.do(to=CONTRACT, gas=estimated, value=0)
    receipt = rpc("eth_getTransactionReceipt", hexed(sent.hash))
    assert receipt["status"] == "0x1"
    assert estimated <= int(receipt["gasUsed"], 16) * 1.016


def test_a_transfer_is_estimated_at_21000(rpc, chain):
    call = {"from": hexed(SENDER), "to": hexed(RECIPIENT), "value": "0x1"}
    assert rpc("eth_estimateGas", call, "pending") == "0x5208"


def test_a_revert_is_reported_by_both(rpc, chain):
    chain.do(to=None, data=bytecode.deploy_code(bytecode.ECHO_REVERT), gas=500_000, value=0)
    call = {"to": hexed(CONTRACT), "input": "0xdeadbeef"}
    for method in ("eth_call", "eth_estimateGas"):
        with pytest.raises(JsonRpcError) as failure:
            rpc(method, call)
        assert (failure.value.code, failure.value.data) == (3, "0xdeadbeef")


def test_created_access_list_has_the_reported_gas(rpc, counting):
    call = {"from": hexed(SENDER), "to": hexed(CONTRACT)}
    answer = rpc("eth_createAccessList", call, "latest")
    listed = tuple(
        (
            bytes.fromhex(item["address"][2:]),
            tuple(bytes.fromhex(k[2:]) for k in item["storageKeys"]),
        )
        for item in answer["accessList"]
    )
    gas = int(answer["gasUsed"], 16)
    sent, _ = counting.do(to=CONTRACT, gas=gas + 10_000, value=0, access_list=listed)
    receipt = rpc("eth_getTransactionReceipt", hexed(sent.hash))
    assert (receipt["status"], int(receipt["gasUsed"], 16)) == ("0x1", gas)
