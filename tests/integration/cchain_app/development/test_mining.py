"""evm_mine and related methods: manual mining of blocks, their timestamps and other fields."""

from itertools import pairwise

import pytest

from chaindb import clock
from jsonrpc.errors import JsonRpcError
from tests.builders.transactions import RECIPIENT
from tests.conformance.openrpc import assert_conforms

pytestmark = pytest.mark.sqlite_only

SOMEBODY = "0x" + "5a" * 20
ZERO = "0x" + "00" * 32


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def block(rpc, number: object = "latest") -> dict:
    return rpc("eth_getBlockByNumber", number, False)


def test_evm_mine_mines_pending_transactions(rpc, chain):
    sent = chain.make(value=5)
    chain.send(sent)
    assert rpc("evm_mine") == "0x0"
    assert block(rpc)["transactions"] == [hexed(sent.hash)]
    assert rpc("evm_mine", None) == "0x0"
    assert block(rpc)["number"] == "0x2"


def test_evm_mine_at_a_time_and_several_at_once(rpc, chain):
    later = clock.now() + 5000
    assert rpc("evm_mine", {"timestamp": later, "blocks": 3}) == "0x0"
    assert block(rpc)["number"] == "0x3"
    assert int(block(rpc, "0x1")["timestamp"], 16) == later
    assert clock.now() >= later
    assert rpc("evm_mine", {"blocks": 2}) == "0x0"
    assert int(block(rpc)["timestamp"], 16) >= later


def test_a_time_below_the_heads_is_refused(rpc, chain):
    rpc("evm_mine")
    with pytest.raises(JsonRpcError) as refused:
        rpc("evm_mine", 1)
    assert refused.value.code == -32602
    assert refused.value.message.startswith(
        "Timestamp error: 1 is lower than previous block's timestamp"
    )
    assert rpc("eth_blockNumber") == "0x1"


def test_anvil_mine_adds_the_interval_before_each(rpc, chain):
    rpc("evm_mine")
    first = int(block(rpc)["timestamp"], 16)
    assert rpc("anvil_mine", 3, "0x3c") is None
    assert rpc("hardhat_mine", "0x2") is True
    times = [int(block(rpc, hex(n))["timestamp"], 16) for n in range(2, 5)]
    assert times[0] >= first + 60
    assert [times[1] - times[0], times[2] - times[1]] == [60, 60]
    assert rpc("eth_blockNumber") == "0x6"
    assert rpc("anvil_mine", 0) is None
    assert rpc("eth_blockNumber") == "0x6"


def test_a_thousand_blocks_and_too_many(rpc, chain):
    rpc("hardhat_mine", "0x3e8")
    assert rpc("eth_blockNumber") == "0x3e8"
    with pytest.raises(JsonRpcError, match="1048576 blocks are too many for one call"):
        rpc("hardhat_mine", "0x100000")


def test_blocks_are_reported_in_detail(rpc, chain):
    creation = bytes.fromhex("6008600c60003960086000f3" + "63deadbeef60005260206000fd"[:16])
    chain.send(chain.make(to=None, data=creation, gas=100_000, value=0))
    (made,) = rpc("evm_mine_detailed")
    assert made["number"] == "0x1"
    assert made["transactions"][0]["output"] == hexed(creation[12:])


def test_time_is_increased_set_and_used(rpc, chain):
    before = clock.now()
    assert rpc("evm_increaseTime", 3600) == clock.offset()
    assert clock.now() >= before + 3600
    rpc("evm_mine")
    assert int(block(rpc)["timestamp"], 16) >= before + 3600
    assert rpc("evm_setTime", (clock.now() + 100) * 1000) in (99, 100)
    assert rpc("anvil_setTime", before) == 0
    rpc("evm_mine")
    head = block(rpc)
    assert head["timestamp"] == block(rpc, "0x1")["timestamp"]


def test_the_next_blocks_time_is_used_once(rpc, chain):
    moment = clock.now() + 1_000_000
    assert rpc("evm_setNextBlockTimestamp", hex(moment)) is None
    tells_time = {"data": "0x4260005260206000f3"}
    assert int(rpc("eth_call", tells_time, "pending"), 16) == moment
    assert int(rpc("eth_call", tells_time, "latest"), 16) < moment
    rpc("evm_mine")
    assert int(block(rpc)["timestamp"], 16) == moment
    assert moment <= clock.now() <= moment + 60
    rpc("evm_mine")
    assert int(block(rpc)["timestamp"], 16) <= moment + 60
    with pytest.raises(JsonRpcError, match="Timestamp error"):
        rpc("evm_setNextBlockTimestamp", moment - 1)


def test_the_interval_of_times(rpc, chain):
    rpc("evm_mine")
    rpc("anvil_setBlockTimestampInterval", 7)
    rpc("anvil_mine", 3)
    times = [int(block(rpc, hex(n))["timestamp"], 16) for n in range(1, 5)]
    assert [later - one for one, later in pairwise(times)] == [7, 7, 7]
    assert rpc("anvil_removeBlockTimestampInterval") is True
    assert rpc("anvil_removeBlockTimestampInterval") is False


def test_the_next_base_fee_is_used_once_and_shown_before(rpc, chain):
    rpc("evm_mine")
    assert rpc("anvil_setNextBlockBaseFeePerGas", "0x0") is None
    assert rpc("eth_baseFee") == "0x0"
    assert rpc("eth_feeHistory", "0x1", "latest", [])["baseFeePerGas"][-1] == "0x0"
    chain.send(chain.make(max_fee_per_gas=0, max_priority_fee_per_gas=0))
    rpc("evm_mine")
    head = block(rpc)
    assert head["baseFeePerGas"] == "0x0"
    assert len(head["transactions"]) == 1
    rpc("evm_mine")
    assert block(rpc)["baseFeePerGas"] == "0x0"
    rpc("hardhat_setNextBlockBaseFeePerGas", 10**10)
    rpc("evm_mine")
    assert int(block(rpc)["baseFeePerGas"], 16) == 10**10


def test_gas_limit_coinbase_and_prevrandao(rpc, chain):
    assert rpc("evm_setBlockGasLimit", "0x1c9c380") is True
    rpc("anvil_setCoinbase", SOMEBODY)
    assert rpc("hardhat_setPrevRandao", "0x" + "77" * 32) is True
    rpc("evm_mine")
    head = block(rpc)
    assert (head["gasLimit"], head["miner"], head["mixHash"]) == (
        "0x1c9c380",
        SOMEBODY,
        "0x" + "77" * 32,
    )
    assert rpc("eth_coinbase") == SOMEBODY
    rpc("evm_mine")
    head = block(rpc)
    assert (head["gasLimit"], head["miner"]) == ("0x1c9c380", SOMEBODY)
    assert head["mixHash"] != "0x" + "77" * 32
    assert rpc("eth_coinbase") == SOMEBODY
    with pytest.raises(JsonRpcError, match="Block gas limit must be greater than 0"):
        rpc("evm_setBlockGasLimit", "0x0")


def test_automine_is_set_and_kept_over_a_restart(rpc, chain):
    assert rpc("hardhat_getAutomine") is False  # NODE_MINING=manual, in tests
    rpc("evm_setAutomine", True)
    assert rpc("anvil_getAutomine") is True
    chain.forget()
    assert rpc("anvil_getAutomine") is True
    rpc("evm_setIntervalMining", 5)
    assert (rpc("anvil_getIntervalMining"), rpc("anvil_getAutomine")) == (5, False)
    rpc("evm_setIntervalMining", 0)
    assert (rpc("anvil_getIntervalMining"), rpc("anvil_getAutomine")) == (None, False)
    with pytest.raises(JsonRpcError, match="true or false was expected, not number"):
        rpc("evm_setAutomine", 1)


def test_transactions_are_dropped(rpc, chain):
    first, second = chain.make(value=1), chain.make(value=1)
    chain.send(first, second)
    assert rpc("anvil_dropTransaction", hexed(first.hash)) == hexed(first.hash)
    assert rpc("anvil_dropTransaction", hexed(first.hash)) is None
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x1"}
    assert rpc("hardhat_dropTransaction", hexed(second.hash)) is True
    assert rpc("hardhat_dropTransaction", hexed(second.hash)) is False
    chain.nonce = 0
    mined, _ = chain.do(value=1)
    with pytest.raises(JsonRpcError, match="cannot be dropped because it's already mined"):
        rpc("hardhat_dropTransaction", hexed(mined.hash))
    chain.send(chain.make(value=1))
    assert len(rpc("eth_pendingTransactions")) == 1
    assert rpc("anvil_dropAllTransactions") is None
    assert rpc("eth_pendingTransactions") == []


def test_a_reorganisation_makes_blocks_again(rpc, chain):
    for value in (1, 2):
        chain.do(value=value)
    chain.nonce = 1
    instead = chain.make(value=64)
    assert rpc("anvil_reorg", 1, [[hexed(instead.raw), 0]]) is None
    assert rpc("eth_blockNumber") == "0x2"
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == hex(65)
    with pytest.raises(JsonRpcError) as refused:
        rpc("anvil_reorg", 99, [])
    assert (refused.value.code, refused.value.message) == (
        -32602,
        "Reorg depth must not exceed current chain height: current height 2, depth 99",
    )
    with pytest.raises(JsonRpcError, match=r"Block number 2 must not exceed \(depth-1\) 1"):
        rpc("anvil_reorg", 2, [[hexed(instead.raw), 2]])


def test_reorg_accepts_unsigned_transactions(rpc, chain):
    rpc("anvil_setBalance", SOMEBODY, hex(10**18))
    chain.do(value=1)
    wanted = {"from": SOMEBODY, "to": hexed(RECIPIENT), "value": "0x40"}
    assert rpc("anvil_reorg", 1, [[wanted, 0]]) is None
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0x40"
    assert rpc("eth_blockNumber") == "0x1"
    with pytest.raises(JsonRpcError, match="pairs of signed bytes or an object, and an index"):
        rpc("anvil_reorg", 1, [[7, 0]])


def test_times_of_blocks_are_seconds_however_late(rpc, chain):
    """Contracts store times as uint40 and uint48; the limits of these types are not taken for milliseconds."""
    assert rpc("evm_setNextBlockTimestamp", 2**40 - 1) is None
    rpc("evm_mine")
    assert int(block(rpc)["timestamp"], 16) == 2**40 - 1
    rpc("evm_mine", {"timestamp": 2**48 - 1})
    assert int(block(rpc)["timestamp"], 16) == 2**48 - 1
    rpc("evm_mine", 2**48)
    rpc("evm_mine")
    assert int(block(rpc)["timestamp"], 16) == 2**48
    assert clock.now() <= clock.LATEST + 60


def test_the_clock_is_not_moved_to_where_no_answer_can_say_the_time(rpc, chain):
    for seconds, words in (
        (10**10, "10000000000 seconds later it would be after the year 9998"),
        (1_800_000_000_000, "1800000000000 seconds are more than 300 years"),
        (2**62, "4611686018427387904 seconds are more than 300 years"),
    ):
        while clock.now() + seconds < clock.LATEST:
            rpc("evm_increaseTime", seconds)
        with pytest.raises(JsonRpcError, match=words) as refused:
            rpc("evm_increaseTime", seconds)
        assert refused.value.code == -32602
    for method, value in (
        ("anvil_setBlockTimestampInterval", 2**63 - 1),
        ("evm_setNextBlockTimestamp", 2**62),
        ("anvil_mine", None),
    ):
        with pytest.raises(JsonRpcError) as refused:
            rpc(method, *([value] if value else [1, 2**63 - 1]))
        assert refused.value.code == -32602


@pytest.mark.node_settings(gas_limit=100_000_000)
def test_call_can_use_the_block_gas_limit(rpc, chain):
    gas_left = {"data": "0x5a5f5260205ff3"}
    assert 99_000_000 < int(rpc("eth_call", gas_left, "latest"), 16) < 100_000_000
    needs_much = {"data": "0x6303938700" + "5a" + "11" + "600d57" + "5f5ffd" + "5b00"}
    assert int(rpc("eth_estimateGas", needs_much), 16) > 60_000_000


def test_node_info_and_metadata_describe_the_node(rpc, chain):
    chain.do()
    info = rpc("anvil_nodeInfo")
    assert (info["currentBlockNumber"], info["hardFork"]) == ("0x1", "Osaka")
    number = rpc("evm_snapshot")
    told = rpc("anvil_metadata")
    assert told["latestBlockNumber"] == 1
    assert told["snapshots"] == {number: [1, told["latestBlockHash"]]}
    assert "snapshots" not in rpc("hardhat_metadata")


@pytest.mark.node_settings(development=False)
def test_without_the_setting_the_methods_do_not_exist(rpc, chain):
    with pytest.raises(JsonRpcError) as refused:
        rpc("evm_mine")
    assert refused.value.code == -32601


def test_with_a_peer_everything_is_refused(rpc, chain, monkeypatch):
    monkeypatch.setattr(chain.evm, "has_peers", lambda: True)
    calls = [
        ("anvil_setBalance", SOMEBODY, 1), ("evm_mine",), ("evm_snapshot",), ("evm_increaseTime", 5),
        ("evm_setAutomine", True), ("anvil_reset",), ("anvil_dropAllTransactions",),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(JsonRpcError) as refused:
            rpc(*call)
        assert (refused.value.code, refused.value.message) == (
            -32000,
            "development methods need a chain of this node alone",
        )
    assert rpc("eth_blockNumber") == "0x0"


def test_pending_block_equals_the_next_block(rpc, chain):
    chain.do()
    head = rpc("eth_getBlockByNumber", "latest", False)
    moment = int(head["timestamp"], 16) + 1000
    rpc("evm_setNextBlockTimestamp", moment)
    rpc("anvil_setNextBlockBaseFeePerGas", "0x7")

    pending = rpc("eth_getBlockByNumber", "pending", False)

    assert_conforms("eth_getBlockByNumber", pending)
    assert (pending["hash"], pending["nonce"], pending["miner"]) == (None, None, None)
    assert (pending["number"], pending["parentHash"]) == ("0x2", head["hash"])
    assert (int(pending["timestamp"], 16), pending["baseFeePerGas"]) == (moment, "0x7")
    assert (pending["transactions"], pending["gasUsed"]) == ([], "0x0")
    rpc("evm_mine")
    made = rpc("eth_getBlockByNumber", "latest", False)
    same = ("number", "parentHash", "timestamp", "baseFeePerGas", "gasLimit")
    assert [made[name] for name in same] == [pending[name] for name in same]
