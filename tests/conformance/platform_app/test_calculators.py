"""Fees and rewards: numbers of the reference implementation."""

from typing import Any

import pytest

from platform_app.config import GasConfig, RewardConfig, ValidatorFeeConfig, reference_config
from platform_app.executor.complexity import complexity_of
from platform_app.executor.fees import charge, dynamic_fee, gas_of, gas_price
from platform_app.executor.rewards import potential_reward, split
from platform_app.state.facets import FeeState
from platform_app.txs.codec import parse
from platform_app.txs.errors import UnsupportedTxType
from tests.conformance.pchain_vectors import cases

TEST_WEIGHTS = GasConfig(weights=(1, 2000, 20000, 10))
NETWORKS = {"mainnet": 1, "fuji": 5, "local": 12345}


@pytest.mark.parametrize("case", cases("tx_complexity", complexity=...))
def test_complexity_and_gas_are_the_references(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["signedBytes"])

    complexity = complexity_of(parse(raw).unsigned)

    assert complexity._asdict() == {
        "bandwidth": case["complexity"]["bandwidth"],
        "reads": case["complexity"]["dbRead"],
        "writes": case["complexity"]["dbWrite"],
        "compute": case["complexity"]["compute"],
    }
    assert complexity.bandwidth == len(raw)
    assert gas_of(complexity, TEST_WEIGHTS) == case["gasTestWeights"]
    assert gas_of(complexity, GasConfig()) == case["gasProductionWeights"]


@pytest.mark.parametrize("case", cases("tx_complexity", complexity=None))
def test_types_without_dynamic_fee_have_no_complexity(case: dict[str, Any]) -> None:
    unsigned = parse(bytes.fromhex(case["signedBytes"])).unsigned

    with pytest.raises(UnsupportedTxType, match=r"^unsupported transaction type$"):
        complexity_of(unsigned)
    assert dynamic_fee(unsigned, GasConfig(), FeeState()) is None


@pytest.mark.parametrize("case", cases("gas_price"))
def test_prices_are_the_references(case: dict[str, Any]) -> None:
    price = gas_price(case["minPrice"], case["excess"], case["excessConversionConstant"])

    assert price == case["price"]


@pytest.mark.parametrize("case", cases("static_fees"))
def test_the_references_static_fees_are_a_parameter_set(case: dict[str, Any]) -> None:
    fees = reference_config(NETWORKS[case["name"]]).fees

    assert {
        "txFee": fees.tx,
        "createAssetTxFee": fees.create_asset,
        "createSubnetTxFee": fees.create_subnet,
        "transformSubnetTxFee": fees.transform_subnet,
        "createBlockchainTxFee": fees.create_blockchain,
        "addPrimaryNetworkValidatorFee": fees.add_primary_network_validator,
        "addPrimaryNetworkDelegatorFee": fees.add_primary_network_delegator,
        "addSubnetValidatorFee": fees.add_subnet_validator,
        "addSubnetDelegatorFee": fees.add_subnet_delegator,
    } == case["fees"]


@pytest.mark.parametrize("case", cases("rewards"))
def test_rewards_are_the_references(case: dict[str, Any]) -> None:
    config = RewardConfig(
        max_consumption_rate=case["config"]["maxConsumptionRate"],
        min_consumption_rate=case["config"]["minConsumptionRate"],
        minting_period=case["config"]["mintingPeriod"],
        supply_cap=case["config"]["supplyCap"],
    )

    reward = potential_reward(
        config,
        supply=case["currentSupply"],
        amount=case["stakeAmount"],
        duration=case["duration"],
    )

    assert reward == case["expectedReward"]


@pytest.mark.parametrize("case", cases("reward_split"))
def test_rewards_are_split_as_the_reference_does(case: dict[str, Any]) -> None:
    parts = split(case["totalAmount"], case["shares"])

    assert parts == (case["delegatee"], case["delegator"])


@pytest.mark.parametrize("case", cases("validator_fee"))
def test_the_continuous_fee_is_the_references(case: dict[str, Any]) -> None:
    config = ValidatorFeeConfig(
        target=case["target"],
        min_price=case["minPrice"],
        excess_conversion=case["excessConversionConstant"],
    )

    charged = charge(
        config, validators=case["current"], excess=case["excess"], seconds=case["seconds"]
    )

    assert charged == (case["cost"], case["excessAfter"])
