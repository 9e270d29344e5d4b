"""Fees: the base fee and gas limit of the next block, the suggested tip, the fee history.

Arithmetic only. EIP-1559 is the rule, with a floor from the settings. The rules of a
chain (`rules.port.ChainRules`) apply the formulas to its blocks.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from primitives.reasons import ErrorWithReason

INITIAL_BASE_FEE = 1_000_000_000
"""Wei: the base fee of the first block with EIP-1559."""

ELASTICITY_MULTIPLIER = 2
"""How many times its gas target a block can use."""

BASE_FEE_MAX_CHANGE_DENOMINATOR = 8
"""The base fee moves by at most this fraction from block to block."""

GAS_LIMIT_BOUND_DIVISOR = 1_024
"""The gas limit moves by less than this fraction of the parent's from block to block."""

MIN_GAS_LIMIT = 5_000
"""Lowest gas limit of a block."""

SAMPLED_BLOCKS = 20
"""How many of the latest blocks the suggested tip takes into account."""

MAXIMUM_SUGGESTED_TIP = 500 * 10**9
"""Wei: the highest suggested tip."""

MAXIMUM_PERCENTILES = 100
"""How many percentiles one fee history may ask for."""

CORETH_SAMPLED_BLOCKS = 40
"""How many of the latest blocks coreth's suggested tip takes into account, if they are recent."""

CORETH_SAMPLED_SECONDS = 80
"""Their highest age."""

CORETH_MAXIMUM_TIP = 150 * 10**9
"""Wei: the highest tip that coreth suggests."""

_CORETH_TIP_PERCENTILE = 40
_SAMPLES_PER_BLOCK = 3
_TIP_PERCENTILE = 60
_IGNORED_BELOW = 2


class PercentileReason(StrEnum):
    """Why a fee history cannot be computed with some percentiles."""

    TOO_MANY = "invalid reward percentile: over the query limit {limit}"
    # Below 0, above 100 or not a number.
    OUT_OF_RANGE = "invalid reward percentile: {percentile:f}"
    NOT_ASCENDING = (
        "invalid reward percentile: #{before_index}:{before:f} >= #{index}:{percentile:f}"
    )


class InvalidPercentiles(ErrorWithReason):
    """Percentiles with which a fee history cannot be computed."""


class PaidTip(NamedTuple):
    """The gas for which transactions of a block paid the same tip to the coinbase."""

    tip: int
    """Effective priority fee per gas, in wei."""
    gas_used: int


class BlockFees(NamedTuple):
    """The values of a block that a fee history needs."""

    number: int
    base_fee: int | None
    """Wei; None before London."""
    gas_used: int
    gas_limit: int
    tips: tuple[PaidTip, ...]
    """Lowest tip first; empty without transactions."""


class FeeHistory(NamedTuple):
    """The answer of eth_feeHistory for consecutive blocks."""

    oldest_block: int
    base_fees: tuple[int, ...]
    """Wei; one more than there are blocks: the last is the next block's."""
    gas_used_ratios: tuple[float, ...]
    rewards: tuple[tuple[int, ...], ...] | None
    """Wei: for each block one tip for each percentile; None if no percentiles were requested."""


def next_base_fee(base_fee: int | None, gas_used: int, gas_limit: int, floor: int = 0) -> int:
    """Return the base fee of the block after one with these values, in wei; never below `floor`.

    Unspecified: Ethereum's formula, as go-ethereum computes it. A parent from before London (None)
    gives the initial base fee. The floor is specific to this node.
    """
    if base_fee is None:
        return max(INITIAL_BASE_FEE, floor)
    target = gas_limit // ELASTICITY_MULTIPLIER
    if gas_used > target:
        delta = base_fee * (gas_used - target) // target // BASE_FEE_MAX_CHANGE_DENOMINATOR
        base_fee += max(1, delta)
    elif gas_used < target:
        base_fee -= base_fee * (target - gas_used) // target // BASE_FEE_MAX_CHANGE_DENOMINATOR
    return max(base_fee, floor)


def next_gas_limit(gas_limit: int, desired: int, *, first_london: bool = False) -> int:
    """Return the gas limit of the next block: the parent's, moved towards the desired limit.

    Unspecified: go-ethereum's rule, a step of one less than 1/1024 of the parent's. In the first
    London block the parent's limit counts twice, as it becomes the target.
    """
    if first_london:
        gas_limit *= ELASTICITY_MULTIPLIER
    desired = max(desired, MIN_GAS_LIMIT)
    step = gas_limit // GAS_LIMIT_BOUND_DIVISOR - 1
    if gas_limit < desired:
        return min(gas_limit + step, desired)
    return max(gas_limit - step, desired)


def block_fees(block: AcceptedBlock) -> BlockFees:
    """Return the values of a block that a fee history needs."""
    header = block.header
    return BlockFees(
        header.number, header.base_fee, header.gas_used, header.gas_limit, paid_tips(block)
    )


def paid_tips(block: AcceptedBlock) -> tuple[PaidTip, ...]:
    """Return the tips that the transactions of a block paid, lowest first, each once."""
    base_fee = block.header.base_fee or 0
    gas: dict[int, int] = {}
    before = 0
    for transaction, receipt in zip(block.transactions, block.receipts, strict=True):
        tip = transaction.effective_tip(base_fee)
        gas[tip] = gas.get(tip, 0) + receipt.cumulative_gas_used - before
        before = receipt.cumulative_gas_used
    return tuple(PaidTip(*item) for item in sorted(gas.items()))


def low_tips(block: AcceptedBlock) -> tuple[int, ...]:
    """Return the three lowest tips of at least 2 wei of transactions that the coinbase did not send."""
    header = block.header
    tips = sorted(
        tip
        for transaction in block.transactions
        if (tip := transaction.effective_tip(header.base_fee or 0)) >= _IGNORED_BELOW
        and transaction.sender != header.coinbase
    )
    return tuple(tips[:_SAMPLES_PER_BLOCK])


def suggest_tip(
    samples: Sequence[Sequence[int]], floor: int = 0, ceiling: int = MAXIMUM_SUGGESTED_TIP
) -> int:
    """Return the tip, in wei, that should get a transaction mined soon; it is between floor and ceiling.

    Unspecified: go-ethereum's oracle, the 60th percentile of the `low_tips` of the latest 20 blocks. A block without
    such tips counts with the floor, where go-ethereum takes its last suggestion.

    Args:
        samples: The `low_tips` of consecutive blocks, the latest last.
        floor: Lowest suggestion, in wei.
        ceiling: Highest suggestion, in wei.
    """
    tips = sorted(tip for sample in samples[-SAMPLED_BLOCKS:] for tip in sample or [floor])
    if not tips:
        return min(floor, ceiling)
    return min(max(tips[(len(tips) - 1) * _TIP_PERCENTILE // 100], floor), ceiling)


def every_tip(block: AcceptedBlock) -> tuple[int, ...]:
    """Return the tips of all transactions of a block."""
    base_fee = block.header.base_fee or 0
    return tuple(transaction.effective_tip(base_fee) for transaction in block.transactions)


def suggest_tip_of_coreth(tips: Sequence[int], last: int, floor: int = 1) -> int:
    """Return the tip that coreth suggests: the 40th percentile of recent tips, from `floor` to 150 gwei (coreth.md 14).

    Args:
        tips: The tips of the transactions in recent blocks.
        last: The last suggestion, which is repeated if there are no tips.
        floor: Lowest suggestion, in wei.
    """
    ordered = sorted(tips)
    tip = ordered[(len(ordered) - 1) * _CORETH_TIP_PERCENTILE // 100] if ordered else last
    return max(min(tip, CORETH_MAXIMUM_TIP), floor)


def check_percentiles(percentiles: Sequence[float]) -> None:
    """Check the percentiles of a fee history.

    Raises:
        InvalidPercentiles: There are more than 100, or one is not from 0 to 100 or not above the one before it.
    """
    if len(percentiles) > MAXIMUM_PERCENTILES:
        raise InvalidPercentiles(PercentileReason.TOO_MANY, limit=MAXIMUM_PERCENTILES)
    for index, percentile in enumerate(percentiles):
        if not 0 <= percentile <= 100:
            raise InvalidPercentiles(PercentileReason.OUT_OF_RANGE, percentile=percentile)
        if index and percentile <= percentiles[index - 1]:
            raise InvalidPercentiles(
                PercentileReason.NOT_ASCENDING,
                before_index=index - 1,
                before=percentiles[index - 1],
                index=index,
                percentile=percentile,
            )


def fee_history(
    blocks: Sequence[BlockFees], following: int, percentiles: Sequence[float] | None = None
) -> FeeHistory:
    """Return the fee history of one or more consecutive blocks, oldest first.

    Unspecified: a block from before London has base fee 0, as in go-ethereum.

    Args:
        blocks: The blocks.
        following: Base fee of the block after them, in wei.
        percentiles: Percentiles of the tips to return.

    Raises:
        InvalidPercentiles: As `check_percentiles` does.
    """
    check_percentiles(percentiles or ())
    return FeeHistory(
        oldest_block=blocks[0].number,
        base_fees=(*(block.base_fee or 0 for block in blocks), following),
        gas_used_ratios=tuple(block.gas_used / max(block.gas_limit, 1) for block in blocks),
        rewards=tuple(rewards_at(block, percentiles) for block in blocks) if percentiles else None,
    )


def rewards_at(block: BlockFees, percentiles: Sequence[float]) -> tuple[int, ...]:
    """Return the tips at percentiles of a block's gas, lowest tips first; zeros for an empty block.

    Percentiles are ascending. Unspecified: thresholds are rounded down to whole gas, as in go-ethereum.
    """
    tips = block.tips
    if not tips:
        return (0,) * len(percentiles)
    rewards = []
    index, gas = 0, tips[0].gas_used
    for percentile in percentiles:
        threshold = int(block.gas_used * percentile / 100)
        while gas < threshold and index < len(tips) - 1:
            index += 1
            gas += tips[index].gas_used
        rewards.append(tips[index].tip)
    return tuple(rewards)
