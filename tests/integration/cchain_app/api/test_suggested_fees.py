"""Suggested prices if settings name them: NODE_GAS_PRICE before London, and NODE_SUGGEST_TIP."""

import pytest

pytestmark = pytest.mark.sqlite_only


def price(rpc, method="eth_gasPrice"):
    return int(rpc(method), 16)


@pytest.mark.node_settings(suggest_tip=False)
def test_no_tip_is_suggested(rpc, chain):
    _, block = chain.do()

    assert price(rpc, "eth_maxPriorityFeePerGas") == 0
    assert price(rpc) == max(price(rpc, "eth_baseFee"), block.header.base_fee)


def test_else_the_tip_follows_recent_blocks(rpc, chain):
    chain.do()

    assert price(rpc, "eth_maxPriorityFeePerGas") > 0


@pytest.mark.node_settings(gas_price=7)
def test_from_london_on_the_base_fee_decides(rpc, chain):
    assert price(rpc) != 7
    assert price(rpc) >= price(rpc, "eth_baseFee") > 7


@pytest.mark.node_settings(gas_price=7, hardfork="berlin")
def test_before_london_the_setting_is_the_price(rpc, chain):
    assert price(rpc) == price(rpc, "eth_maxPriorityFeePerGas") == 7


@pytest.mark.node_settings(hardfork="berlin")
def test_before_london_recent_blocks_decide_without_the_setting(rpc, chain):
    assert price(rpc) == 1
