"""platform.getFeeConfig, getFeeState, getValidatorFeeConfig, getValidatorFeeState, getL1Validator."""

from platform_app.executor.complexity import complexity_of
from platform_app.executor.fees import gas_of
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal


def test_the_fee_config_has_plain_numbers(rpc: Rpc) -> None:
    assert rpc("platform.getFeeConfig") == {
        "weights": [1, 1000, 1000, 4],
        "maxCapacity": 1_000_000,
        "maxPerSecond": 100_000,
        "targetPerSecond": 50_000,
        "minPrice": 1,
        "excessConversionConstant": 2_164_043,
    }


def test_the_fee_state_follows_the_gas_that_was_used(pchain: PChain, rpc: Rpc) -> None:
    before = rpc("platform.getFeeState")
    assert (before["excess"], before["price"]) == (0, 1)
    assert before["timestamp"] == "2023-11-14T22:13:20Z"
    tx = pchain.do(pchain.make())

    gas = gas_of(complexity_of(tx.unsigned), platform.CONFIG.gas)
    after = rpc("platform.getFeeState")
    assert after["excess"] == gas
    assert after["timestamp"] == "2023-11-14T22:13:21Z"
    assert isinstance(after["capacity"], int)
    assert after["price"] == 1


def test_the_validators_fee(rpc: Rpc) -> None:
    assert rpc("platform.getValidatorFeeConfig") == {
        "capacity": 20_000,
        "target": 10_000,
        "minPrice": 1,
        "excessConversionConstant": 865_617,
    }
    assert rpc("platform.getValidatorFeeState") == {
        "excess": 0,
        "price": 1,
        "timestamp": "2023-11-14T22:13:20Z",
    }


def test_unknown_l1_validator_is_refused(rpc: Rpc) -> None:
    validation = platform.SUBNET_ID
    assert refusal(rpc, "platform.getL1Validator", validationID=str(validation)) == (
        f'fetching L1 validator "{validation}" failed: not found'
    )
