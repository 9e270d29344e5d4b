"""Static and dynamic fees, the lower of both, and the effect of gas on the price."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.config import UNIT, GasConfig, reference_config, specification_config
from platform_app.executor.complexity import Complexity
from platform_app.executor.fees import (
    FeeReason,
    consume,
    dynamic_fee,
    gas_of,
    gas_price,
    price_of,
    refill,
    required_fee,
    static_fee,
)
from platform_app.state.facets import FeeState
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import BaseTx, EmptySigner, UnsignedTx
from platform_app.txs.errors import UnsupportedTxType
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from tests.builders.platform import CONFIG, SUBNET_ID, every_type, unsigned
from tests.builders.reasons import raises
from utxo.errors import InvalidTx

MILLI = UNIT // 1000
MAX = 2**64 - 1
GAS = GasConfig()
STATIC = {
    BaseTx: MILLI,
    ImportTx: MILLI,
    ExportTx: MILLI,
    CreateChainTx: 100 * MILLI,
    subnets.CreateSubnetTx: 100 * MILLI,
    subnets.RemoveSubnetValidatorTx: MILLI,
    subnets.TransferSubnetOwnershipTx: MILLI,
    subnets.TransformSubnetTx: 10_000 * MILLI,
    subnets.AddSubnetValidatorTx: MILLI,
    staking.AddValidatorTx: 0,
    staking.AddDelegatorTx: 0,
    staking.AddPermissionlessValidatorTx: 0,
    staking.AddPermissionlessDelegatorTx: 0,
}


@pytest.mark.parametrize("cls", every_type(), ids=lambda cls: cls.__name__)
def test_each_type_has_the_fee_of_its_kind_or_none(cls: type[UnsignedTx]) -> None:
    assert static_fee(unsigned(cls), CONFIG.fees) == STATIC.get(cls)


@pytest.mark.parametrize(
    "cls", [staking.AddPermissionlessValidatorTx, staking.AddPermissionlessDelegatorTx]
)
def test_staking_costs_something_only_on_other_subnets(cls: type[UnsignedTx]) -> None:
    assert static_fee(unsigned(cls, subnet_id=SUBNET_ID), CONFIG.fees) == MILLI


def test_creating_costs_ten_times_as_much_on_the_main_network() -> None:
    fees = specification_config(1).fees

    assert static_fee(unsigned(subnets.CreateSubnetTx), fees) == UNIT
    assert static_fee(unsigned(CreateChainTx), fees) == UNIT


def test_the_static_fee_is_enough_where_it_is_smaller() -> None:
    transfer = unsigned(BaseTx)

    assert dynamic_fee(transfer, GAS, FeeState()) == 299 + 1_000 + 2 * 1_000 + 4 * 200
    assert required_fee(transfer, CONFIG, FeeState()) == MILLI


def test_the_dynamic_fee_is_enough_where_it_is_smaller() -> None:
    create = unsigned(subnets.CreateSubnetTx)

    assert required_fee(create, CONFIG, FeeState()) == 339 + 1_000 + 3 * 1_000 + 4 * 200
    assert required_fee(create, reference_config(12345), FeeState()) == 5_139


def test_an_expensive_hour_does_not_raise_the_static_fee() -> None:
    crowded = FeeState(excess=30_000_000)

    assert price_of(GAS, crowded) > 1_000_000
    assert required_fee(unsigned(subnets.CreateSubnetTx), CONFIG, crowded) == 100 * MILLI


def test_a_dynamic_fee_beyond_64_bits_does_not_replace_the_static_fee() -> None:
    crowded = FeeState(excess=2**40)

    assert dynamic_fee(unsigned(BaseTx), GAS, crowded) > MAX
    assert required_fee(unsigned(BaseTx), CONFIG, crowded) == MILLI
    for config, tx in (
        (reference_config(12345), unsigned(BaseTx)),
        (CONFIG, unsigned(l1.DisableL1ValidatorTx)),
    ):
        with raises(FeeReason.NO_COMPLEXITY, match="^error calculating complexity: overflow$"):
            required_fee(tx, config, crowded)


def test_types_without_gas_owe_the_static_fee() -> None:
    assert dynamic_fee(unsigned(staking.AddValidatorTx), GAS, FeeState()) is None
    assert required_fee(unsigned(staking.AddValidatorTx), CONFIG, FeeState()) == 0
    transform = unsigned(subnets.TransformSubnetTx)
    assert required_fee(transform, CONFIG, FeeState()) == 10_000 * MILLI


def test_l1_types_owe_the_dynamic_fee() -> None:
    disable = unsigned(l1.DisableL1ValidatorTx)

    assert required_fee(disable, CONFIG, FeeState()) == 416 + 2_000 + 8_000 + 1_600


@pytest.mark.parametrize(
    "cls",
    [staking.AdvanceTimeTx, staking.RewardValidatorTx, l1.RewardAutoRenewedValidatorTx],
    ids=lambda cls: cls.__name__,
)
def test_internal_transaction_types_have_no_fee(cls: type[UnsignedTx]) -> None:
    with pytest.raises(UnsupportedTxType, match=r"^unsupported transaction type$"):
        required_fee(unsigned(cls), CONFIG, FeeState())


def test_malformed_warp_message_has_no_fee() -> None:
    with raises(FeeReason.NO_COMPLEXITY, kind=InvalidTx, match="^error calculating complexity: "):
        required_fee(unsigned(l1.SetL1ValidatorWeightTx, message=b"no"), CONFIG, FeeState())


def test_a_validator_without_key_costs_less() -> None:
    cls = staking.AddPermissionlessValidatorTx
    with_key = dynamic_fee(unsigned(cls), GAS, FeeState())
    without = dynamic_fee(unsigned(cls, signer=EmptySigner()), GAS, FeeState())

    assert with_key is not None
    assert without == with_key - 144 - 4 * 1050


def test_gas_weighs_each_dimension() -> None:
    assert gas_of(Complexity(1, 2, 3, 4), GasConfig(weights=(1, 10, 100, 1000))) == 4321


def test_the_price_is_the_least_without_excess() -> None:
    assert gas_price(7, 0, 1_000) == 7
    assert gas_price(0, 10**9, 1_000) == 0


@settings(deadline=None)
@given(st.integers(0, 10**8), st.integers(0, 10**6))
def test_more_excess_is_never_cheaper(excess: int, more: int) -> None:
    low = gas_price(1, excess, GAS.excess_conversion)

    assert 1 <= low <= gas_price(1, excess + more, GAS.excess_conversion) <= MAX


def test_time_refills_capacity_and_lowers_excess() -> None:
    assert refill(FeeState(0, 1_000_000), GAS, 3) == FeeState(300_000, 850_000)
    assert refill(FeeState(950_000, 20_000), GAS, 1) == FeeState(1_000_000, 0)
    assert refill(FeeState(5, 6), GAS, 0) == FeeState(5, 6)


def test_gas_lowers_capacity_and_raises_excess() -> None:
    assert consume(FeeState(1_000, 10), 400) == FeeState(600, 410)


def test_capacity_stops_at_zero_and_excess_at_64_bits() -> None:
    assert consume(FeeState(100, MAX - 1), 400) == FeeState(0, MAX)
