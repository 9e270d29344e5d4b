"""Prices, the suggested tip and the fee history."""

import asyncio

import pytest

from cchain_app import feemarket
from cchain_app.api.eth import fees as eth_fees
from cchain_app.api.params.values import Tag
from cchain_app.api.rendered import RenderedCache
from chaindb.connections import WouldBlock
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from tests.builders.transactions import RECIPIENT, SENDER, signed

GWEI = 10**9


def paying(tip: int, nonce: int):
    return signed(nonce=nonce, max_priority_fee_per_gas=tip, max_fee_per_gas=100 * GWEI)


def test_the_base_fee_is_the_next_blocks(rpc, memory_chain):
    memory_chain.accept(gas_used=30_000_000, base_fee=8 * GWEI)
    assert rpc("eth_baseFee") == hex(9 * GWEI)


def test_the_base_fee_has_a_floor(rpc, memory_chain):
    memory_chain.accept(base_fee=GWEI)
    assert rpc("eth_baseFee") == hex(GWEI)


def test_the_gas_price_is_tip_and_next_base_fee(rpc, memory_chain):
    for number in range(3):
        memory_chain.accept(paying(2 * GWEI, number), base_fee=8 * GWEI, gas_used=15_000_000)
    tip = int(rpc("eth_maxPriorityFeePerGas"), 16)
    assert tip == 2 * GWEI
    assert int(rpc("eth_gasPrice"), 16) == tip + int(rpc("eth_baseFee"), 16)


def test_the_gas_price_pays_for_an_estimate_on_the_head_while_base_fees_fall(rpc, memory_chain):
    memory_chain.accept(base_fee=8 * GWEI, gas_used=0)
    assert int(rpc("eth_baseFee"), 16) < 8 * GWEI
    price = rpc("eth_gasPrice")
    assert int(price, 16) == 8 * GWEI + 1
    call = {"from": "0x" + SENDER.hex(), "to": "0x" + RECIPIENT.hex(), "gasPrice": price}
    assert rpc("eth_estimateGas", call, "latest") == "0x5208"


def test_without_tips_the_suggestion_is_one_wei(rpc, memory_chain):
    memory_chain.accept()
    assert rpc("eth_maxPriorityFeePerGas") == "0x1"


def test_the_suggestion_follows_the_head(rpc, memory_chain):
    memory_chain.accept(paying(3 * GWEI, 0))
    before = rpc("eth_maxPriorityFeePerGas")
    for number in range(1, 21):
        memory_chain.accept(paying(5 * GWEI, number))
    assert (int(before, 16), int(rpc("eth_maxPriorityFeePerGas"), 16)) != (3 * GWEI, 3 * GWEI)
    assert rpc("eth_maxPriorityFeePerGas") == hex(5 * GWEI)


def test_blobs_cost_one_wei(rpc, memory_chain):
    assert rpc("eth_blobBaseFee") == "0x1"


def test_price_options_are_95_and_105_percent(rpc, memory_chain):
    for number in range(20):
        memory_chain.accept(paying(30 * GWEI, number), base_fee=8 * GWEI, gas_used=15_000_000)
    options = rpc("eth_suggestPriceOptions")
    tips = [int(options[name]["maxPriorityFeePerGas"], 16) for name in ("slow", "normal", "fast")]
    assert tips == [19 * GWEI, 20 * GWEI, 30 * GWEI * 105 // 100]
    assert int(options["normal"]["maxFeePerGas"], 16) == 16 * GWEI + 20 * GWEI


def test_a_slow_tip_is_at_least_one_wei(rpc, memory_chain):
    assert rpc("eth_suggestPriceOptions")["slow"]["maxPriorityFeePerGas"] == "0x1"


def test_fee_history_has_one_more_base_fee_than_blocks(rpc, memory_chain):
    memory_chain.accept(gas_used=30_000_000, base_fee=8 * GWEI)
    history = rpc("eth_feeHistory", "0x2", "latest", [])
    assert history["oldestBlock"] == "0x0"
    assert history["baseFeePerGas"] == [hex(GWEI), hex(8 * GWEI), hex(9 * GWEI)]
    assert history["gasUsedRatio"] == [0, 1]
    assert "reward" not in history
    assert history["baseFeePerBlobGas"] == ["0x1"] * 3
    assert history["blobGasUsedRatio"] == [0, 0]


def test_the_last_base_fee_is_that_of_eth_base_fee(rpc, memory_chain):
    memory_chain.accept(gas_used=20_000_000, base_fee=8 * GWEI)
    assert rpc("eth_feeHistory", 1, "latest")["baseFeePerGas"][-1] == rpc("eth_baseFee")


def test_a_history_is_shortened_at_genesis_and_at_1024(rpc, memory_chain):
    for _ in range(3):
        memory_chain.accept()
    history = rpc("eth_feeHistory", "0xffffffff", "0x2")
    assert history["oldestBlock"] == "0x0"
    assert len(history["gasUsedRatio"]) == 3


@pytest.mark.parametrize("count", ["0x1", "1", 1])
def test_the_count_has_three_forms(rpc, memory_chain, count):
    assert len(rpc("eth_feeHistory", count, "latest")["gasUsedRatio"]) == 1


def test_unneeded_blocks_are_not_read(rpc, memory_chain):
    assert rpc("eth_feeHistory", "0x0", "latest", [25]) == {
        "oldestBlock": "0x0", "gasUsedRatio": None,
    }  # fmt: skip


def test_rewards_are_tips_at_percentiles_of_gas(rpc, memory_chain):
    memory_chain.accept(paying(3 * GWEI, 0), paying(GWEI, 1), gas_used=42_000)
    history = rpc("eth_feeHistory", "0x1", "latest", [0, 50, 100])
    assert history["reward"] == [[hex(GWEI), hex(GWEI), hex(3 * GWEI)]]


def test_an_empty_block_rewards_nothing(rpc, memory_chain):
    assert rpc("eth_feeHistory", "0x1", "latest", [25, 75])["reward"] == [["0x0", "0x0"]]


@pytest.mark.parametrize(
    ("newest", "percentiles", "words"),
    [
        ("0x5", [], "request beyond head block: requested 5, head 0"),
        ("latest", [101], "invalid reward percentile: 101.000000"),
        ("latest", [-1], "invalid reward percentile: -1.000000"),
        ("latest", [50, 10], "invalid reward percentile: #0:50.000000 >= #1:10.000000"),
        (
            "latest",
            [n / 2 for n in range(101)],
            "invalid reward percentile: over the query limit 100",
        ),
    ],
)
def test_invalid_fee_history_parameters_are_refused(rpc, memory_chain, newest, percentiles, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_feeHistory", "0x1", newest, percentiles)
    assert (failure.value.code, failure.value.message) == (-32000, words)


def test_a_long_history_is_left_to_a_thread(memory_chain):
    for _ in range(40):
        memory_chain.accept()

    async def ask(count):
        return eth_fees.fee_history(this_node().evm_rpc, count, Tag.LATEST, None)

    assert asyncio.run(ask(10))["oldestBlock"] == "0x1f"
    with pytest.raises(WouldBlock):
        asyncio.run(ask(41))


def test_many_transactions_are_left_to_a_thread_which_keeps_their_fees(memory_chain, monkeypatch):
    for number in range(3):
        memory_chain.accept(paying(GWEI, 2 * number), paying(2 * GWEI, 2 * number + 1))
    rpc, of_block, computed = this_node().evm_rpc, feemarket.block_fees, []
    monkeypatch.setattr(rpc, "fees", RenderedCache(80))
    monkeypatch.setattr(eth_fees, "TRANSACTIONS_ON_EVENT_LOOP", 5)
    monkeypatch.setattr(
        feemarket, "block_fees", lambda block: computed.append(block.number) or of_block(block)
    )

    def ask():
        return eth_fees.fee_history(rpc, 3, Tag.LATEST, [0])["reward"]

    async def on_event_loop():
        return ask()

    with pytest.raises(WouldBlock):
        asyncio.run(on_event_loop())
    assert computed == []
    assert ask() == [[hex(GWEI)]] * 3
    assert asyncio.run(on_event_loop()) == [[hex(GWEI)]] * 3
    assert computed == [1, 2, 3]
    memory_chain.accept(paying(3 * GWEI, 6), paying(3 * GWEI, 7))
    assert asyncio.run(on_event_loop())[-1] == [hex(3 * GWEI)]
    assert computed == [1, 2, 3, 4]
