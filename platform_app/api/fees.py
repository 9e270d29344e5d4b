"""What transactions cost. All numbers here are plain JSON numbers, as clients expect them.

Unspecified: the specification writes numbers of its own methods as texts; these are the reference's.
"""

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json, moment
from platform_app.executor.fees import price_of, validator_price
from primitives.ids import ID


def get_fee_config(rpc: PlatformRpc) -> Json:
    """platform.getFeeConfig: how gas is counted and priced."""
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
    """platform.getValidatorFeeConfig: how the continuous fee of L1 validators is reckoned."""
    fees = rpc.chain.config.validator_fees
    return {
        "capacity": fees.capacity,
        "target": fees.target,
        "minPrice": fees.min_price,
        "excessConversionConstant": fees.excess_conversion,
    }


def get_validator_fee_state(rpc: PlatformRpc) -> Json:
    """platform.getValidatorFeeState: that fee now. There are no L1 validators, so never an excess."""
    return {
        "excess": 0,
        "price": validator_price(rpc.chain.config.validator_fees, 0),
        "timestamp": moment(rpc.chain.tip().timestamp),
    }


def get_l1_validator(rpc: PlatformRpc, validation_id: ID) -> Json:
    """platform.getL1Validator: there are none on this chain."""
    raise refused(f'fetching L1 validator "{validation_id}" failed: {NOT_FOUND}')
