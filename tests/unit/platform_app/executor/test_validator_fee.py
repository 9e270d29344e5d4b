"""The continuous fee equals the written rule, second by second."""

from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.config import ValidatorFeeConfig
from platform_app.executor.fees import charge, gas_price, validator_price

CONFIG = ValidatorFeeConfig(min_price=512, excess_conversion=50_000)


@settings(deadline=None)
@given(st.integers(0, 20_000), st.integers(0, 300_000), st.integers(0, 60))
def test_a_charge_is_the_sum_of_its_seconds(validators: int, excess: int, seconds: int) -> None:
    cost, after = 0, excess
    for _ in range(seconds):
        after = max(0, after + validators - CONFIG.target)
        cost += gas_price(CONFIG.min_price, after, CONFIG.excess_conversion)

    assert charge(CONFIG, validators=validators, excess=excess, seconds=seconds) == (cost, after)


def test_without_validators_the_price_falls_to_the_least() -> None:
    cost, after = charge(CONFIG, validators=0, excess=25_000, seconds=10)

    assert after == 0
    assert cost == sum(gas_price(512, excess, 50_000) for excess in (15_000, 5_000)) + 8 * 512
    assert validator_price(CONFIG, after) == 512
