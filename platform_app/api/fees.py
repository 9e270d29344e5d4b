"""Fees. All numbers here are plain JSON numbers, as clients expect them.

Unspecified: the specification writes numbers of its own methods as strings; these are the reference's methods.
"""

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, moment
from platform_app.executor.fees import price_of, validator_price
from primitives.ids import ID


def get_fee_config(rpc: PlatformRpc) -> Json:
    """platform.getFeeConfig: the parameters of gas and its price."""
    gas = rpc.chain.config.gas
    return {
        "weights": list(gas.weights),
        "maxCapacity": gas.max_capacity,
        "maxPerSecond": gas.max_per_second,
        "targetPerSecond": gas.target_per_second,
        "minPrice": gas.min_price,
        "excessConversionConstant": gas.excess_conversion,
    }


def get_fee_state(rpc: PlatformRpc) -> Json:
    """platform.getFeeState: gas left, gas used above the target, and the price of one gas now."""
    tip = rpc.chain.tip()
    return {
        "capacity": tip.fee_state.capacity,
        "excess": tip.fee_state.excess,
        "price": price_of(rpc.chain.config.gas, tip.fee_state),
        "timestamp": moment(tip.timestamp),
    }


def get_validator_fee_config(rpc: PlatformRpc) -> Json:
    """platform.getValidatorFeeConfig: the parameters of the continuous fee of L1 validators."""
    fees = rpc.chain.config.validator_fees
    return {
        "capacity": fees.capacity,
        "target": fees.target,
        "minPrice": fees.min_price,
        "excessConversionConstant": fees.excess_conversion,
    }


def get_validator_fee_state(rpc: PlatformRpc) -> Json:
    """platform.getValidatorFeeState: the current state of that fee. Without L1 validators the excess is always 0."""
    return {
        "excess": 0,
        "price": validator_price(rpc.chain.config.validator_fees, 0),
        "timestamp": moment(rpc.chain.tip().timestamp),
    }


def get_l1_validator(rpc: PlatformRpc, validation_id: ID) -> Json:
    """platform.getL1Validator: always an error, because this chain has no L1 validators."""
    raise refused(f'fetching L1 validator "{validation_id}" failed: {NOT_FOUND}')
