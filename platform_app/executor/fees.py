"""The fee that a transaction must burn: static fees by kind, dynamic fees by gas (pchain.md 6; gaps.md 2).

Amounts are in the smallest unit of the staking asset. `complexity` measures the resources that gas is computed from.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from platform_app.config import GasConfig, PlatformConfig, StaticFees, ValidatorFeeConfig
from platform_app.executor.complexity import Complexity, complexity_of
from platform_app.state.facets import FeeState
from platform_app.txs import staking, subnets
from platform_app.txs.base import BaseTx, UnsignedTx
from platform_app.txs.errors import TxSyntaxReason, UnsupportedTxType
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.uint64 import MAX
from utxo.errors import InvalidTx

_Fee = Callable[[StaticFees], int]
_STATIC: dict[type, _Fee] = {
    BaseTx: lambda fees: fees.tx,
    ImportTx: lambda fees: fees.tx,
    ExportTx: lambda fees: fees.tx,
    CreateChainTx: lambda fees: fees.create_blockchain,
    subnets.CreateSubnetTx: lambda fees: fees.create_subnet,
    subnets.RemoveSubnetValidatorTx: lambda fees: fees.tx,
    subnets.TransferSubnetOwnershipTx: lambda fees: fees.tx,
    subnets.TransformSubnetTx: lambda fees: fees.transform_subnet,
    subnets.AddSubnetValidatorTx: lambda fees: fees.add_subnet_validator,
    staking.AddValidatorTx: lambda fees: fees.add_primary_network_validator,
    staking.AddDelegatorTx: lambda fees: fees.add_primary_network_delegator,
}


class FeeReason(StrEnum):
    """Why a transaction has no fee, or a block too much gas (etna.md 2)."""

    NO_COMPLEXITY = "error calculating complexity: {cause}"
    NO_COMPLEXITY_AT_ADMISSION = "failed to calculate tx complexity: {cause}"
    OVERFLOW = "overflow"
    EXCEEDS_CAPACITY = "tx exceeds current gas capacity: {gas} > {capacity}"
    INSUFFICIENT_CAPACITY = "insufficient capacity: capacity ({capacity}) < gas ({gas})"


def required_fee(tx: UnsignedTx, config: PlatformConfig, fee_state: FeeState) -> int:
    """Return the minimum that a transaction must burn: the smaller of its static and dynamic fees.

    Unspecified: older clients pay the static fee and newer ones the dynamic fee (gaps.md 2), so either is
    accepted. Types that have only one of the two fees pay that fee. Only dynamic fees count with the reference's
    parameters (etna.md 2). A dynamic fee beyond 64 bits counts as larger than a static fee.

    Raises:
        UnsupportedTxType: Users cannot issue such transactions.
        InvalidTx: Its complexity cannot be computed; the fee does not fit into 64 bits.
    """
    try:
        dynamic = dynamic_fee(tx, config.gas, fee_state)
    except InvalidTx as cause:
        raise InvalidTx(FeeReason.NO_COMPLEXITY, cause=cause) from cause
    static = None if config.gas_fees_only else static_fee(tx, config.fees)
    fees = (static, dynamic)
    known = [fee for fee in fees if fee is not None]
    if not known:
        raise UnsupportedTxType(TxSyntaxReason.UNSUPPORTED_TYPE)
    fee = min(known)
    if fee > MAX:
        raise InvalidTx(FeeReason.NO_COMPLEXITY, cause=FeeReason.OVERFLOW)
    return fee


def static_fee(tx: UnsignedTx, fees: StaticFees) -> int | None:
    """Return the static fee of a transaction's kind; None if the kind has no such fee, as for L1 validators."""
    if isinstance(tx, staking.AddPermissionlessValidatorTx):
        is_primary = tx.subnet_id == PRIMARY_NETWORK_ID
        return fees.add_primary_network_validator if is_primary else fees.add_subnet_validator
    if isinstance(tx, staking.AddPermissionlessDelegatorTx):
        is_primary = tx.subnet_id == PRIMARY_NETWORK_ID
        return fees.add_primary_network_delegator if is_primary else fees.add_subnet_delegator
    rule = _STATIC.get(type(tx))
    return None if rule is None else rule(fees)


def dynamic_fee(tx: UnsignedTx, config: GasConfig, fee_state: FeeState) -> int | None:
    """Return gas times price, which may exceed 64 bits; None for types that have no gas.

    Raises:
        InvalidTx: Its warp message is invalid.
    """
    gas = gas_of_tx(tx, config)
    return None if gas is None else gas * price_of(config, fee_state)


def gas_of_tx(tx: UnsignedTx, config: GasConfig) -> int | None:
    """Return the gas of a transaction; None for types that have none.

    Raises:
        InvalidTx: Its warp message is invalid.
    """
    try:
        return gas_of(complexity_of(tx), config)
    except UnsupportedTxType:
        return None


def verify_fits(tx: UnsignedTx, config: PlatformConfig, fee_state: FeeState) -> None:
    """Check that a transaction fits into the next block alone, where the gas capacity limits blocks.

    Raises:
        InvalidTx: It needs more gas than the capacity; its gas cannot be computed.
    """
    try:
        gas = gas_of_tx(tx, config.gas)
    except InvalidTx as cause:
        raise InvalidTx(FeeReason.NO_COMPLEXITY_AT_ADMISSION, cause=cause) from cause
    if config.gas_fees_only and gas is not None and gas > fee_state.capacity:
        raise InvalidTx(FeeReason.EXCEEDS_CAPACITY, gas=gas, capacity=fee_state.capacity)


def gas_of(complexity: Complexity, config: GasConfig) -> int:
    """Return the gas of a complexity."""
    return sum(amount * weight for amount, weight in zip(complexity, config.weights, strict=True))


def price_of(config: GasConfig, fee_state: FeeState) -> int:
    """Return the price of one unit of gas, in the smallest unit."""
    return gas_price(config.min_price, fee_state.excess, config.excess_conversion)


@lru_cache(maxsize=256)
def gas_price(min_price: int, excess: int, conversion: int) -> int:
    """Return an integer approximation of min_price · e^(excess / conversion), at most 2^64 - 1."""
    total, term, step = 0, min_price * conversion, 1
    while term > 0:
        total += term
        if total >= conversion * MAX:
            return MAX
        term = term * excess // conversion // step
        step += 1
    return total // conversion


def refill(fee_state: FeeState, config: GasConfig, seconds: int) -> FeeState:
    """Return the fee state after some seconds: more capacity, less excess (pchain.md 5.4.4; etna.md 2)."""
    return FeeState(
        capacity=min(config.max_capacity, fee_state.capacity + config.max_per_second * seconds),
        excess=max(0, fee_state.excess - config.target_per_second * seconds),
    )


def consume(fee_state: FeeState, gas: int, *, strict: bool = False) -> FeeState:
    """Return the fee state after an amount of gas was used.

    Unspecified: unless the check is strict, capacity is only reported; it does not fall below zero.

    Raises:
        InvalidTx: The check is strict, and the gas exceeds the capacity.
    """
    if strict and gas > fee_state.capacity:
        raise InvalidTx(FeeReason.INSUFFICIENT_CAPACITY, capacity=fee_state.capacity, gas=gas)
    return FeeState(
        capacity=max(0, fee_state.capacity - gas), excess=min(MAX, fee_state.excess + gas)
    )


class Charge(NamedTuple):
    """The cost of a period for one validator."""

    cost: int
    excess: int
    """The excess after the period."""


def validator_price(config: ValidatorFeeConfig, excess: int) -> int:
    """Return the cost of one second for one validator."""
    return gas_price(config.min_price, excess, config.excess_conversion)


def charge(config: ValidatorFeeConfig, *, validators: int, excess: int, seconds: int) -> Charge:
    """Return the cost of a number of seconds for each active validator, at most 2^64 - 1.

    The excess changes by the same amount each second, so prices are monotonic: if the first and the last
    price of a period are equal, all prices between them are equal too.
    """
    cost, after = _charge(config, validators, excess, seconds)
    return Charge(min(cost, MAX), after)


def seconds_left(
    config: ValidatorFeeConfig, *, validators: int, excess: int, most: int, funds: int
) -> int:
    """Return the number of whole seconds for which funds pay the fee of one validator, at most `most` (etna.md 3)."""
    if config.min_price == 0:
        return most
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if _charge(config, validators, excess, middle).cost <= funds:
            low = middle
        else:
            high = middle - 1
    return low


def _charge(config: ValidatorFeeConfig, validators: int, excess: int, seconds: int) -> Charge:
    drift = validators - config.target

    def excess_after(second: int) -> int:
        return min(MAX, max(0, excess + drift * second))

    def price_in(second: int) -> int:
        return validator_price(config, excess_after(second))

    def cost_between(first: int, first_price: int, last: int, last_price: int) -> int:
        if first_price == last_price or last - first == 1:
            return last_price * (last - first)
        middle = (first + last) // 2
        price = price_in(middle)
        return cost_between(first, first_price, middle, price) + cost_between(
            middle, price, last, last_price
        )

    cost = cost_between(0, price_in(0), seconds, price_in(seconds))
    return Charge(cost, excess_after(seconds))
