"""The rules for a header and its parent, and for the outcome of execution, in the reference's order (coreth.md 6 B, C)."""

from collections.abc import Callable, Sequence
from typing import Final

from cchain_app.atomic.fees import gas_used
from cchain_app.atomic.transactions import AtomicTx
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused, wrong_field
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.gas_state import STATE_SIZE, GasState, GasStateError
from cchain_app.rules.coreth.header import MILLISECONDS, CorethHeader
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, delay_of, excess_after
from cchain_app.txs.codec import DecodedTransaction
from primitives import uint64
from primitives.upgrades import UpgradeTimes

MAX_FUTURE_MILLISECONDS: Final = 10_000
"""Maximum time by which a block may be ahead of this node's clock."""

IntrinsicGas = Callable[[DecodedTransaction], int]
"""Returns the intrinsic gas of a transaction, with its predicates."""


def gas_state_before(parent: CorethHeader, milliseconds: int, upgrades: UpgradeTimes) -> GasState:
    """Return the gas state before a block of Granite.

    Args:
        parent: The block before.
        milliseconds: The new block's time in Unix milliseconds.
        upgrades: The network's upgrades.
    """
    known = parent.number > 0 and parent.timestamp >= upgrades.fortuna
    state = GasState.read(parent.extra_data) if known else GasState()
    return state.advanced_milliseconds(max(0, milliseconds - parent.milliseconds))


def verify_min_delay_excess(
    header: CorethHeader, parent: CorethHeader, upgrades: UpgradeTimes
) -> None:
    """Check the vote on the delay between blocks.

    Raises:
        BlockRefused: It is missing, or too far from the parent's.
    """
    if header.timestamp < upgrades.granite:
        return
    have = header.min_delay_excess
    if have is None:
        raise BlockRefused(CorethReason.NO_MIN_DELAY, hash=header.hash.hex())
    before = FIRST_EXCESS if parent.min_delay_excess is None else parent.min_delay_excess
    want = excess_after(before, have)
    if have != want:
        raise BlockRefused(CorethReason.MIN_DELAY, have=have, want=want)


def verify_time(
    header: CorethHeader, parent: CorethHeader, now_milliseconds: int, upgrades: UpgradeTimes
) -> None:
    """Check a block's time against its parent's, this node's clock, and the delay between blocks.

    Raises:
        BlockRefused: It breaks one of the rules.
    """
    time = header.milliseconds
    if time < parent.milliseconds:
        raise BlockRefused(CorethReason.TOO_OLD, have=time, parent=parent.milliseconds)
    allowed = now_milliseconds + MAX_FUTURE_MILLISECONDS
    if time > allowed:
        raise BlockRefused(CorethReason.TOO_EARLY, have=time, allowed=allowed)
    if header.timestamp < upgrades.granite:
        if header.time_milliseconds is not None:
            raise BlockRefused(CorethReason.MILLISECONDS_TOO_SOON)
        return
    if header.time_milliseconds is None:
        raise BlockRefused(CorethReason.NO_MILLISECONDS)
    if header.timestamp != time // MILLISECONDS:
        raise BlockRefused(
            CorethReason.OTHER_SECONDS, have=header.timestamp, want=time // MILLISECONDS
        )
    if parent.min_delay_excess is None:
        return
    have, want = time - parent.milliseconds, delay_of(parent.min_delay_excess)
    if have < want:
        raise BlockRefused(CorethReason.DELAY, have=have, want=want)


def verify_helicon(header: CorethHeader, upgrades: UpgradeTimes) -> None:
    """Check that a block has no values that Helicon introduces for settled blocks, and is before it.

    Raises:
        BlockRefused: It is not a block of coreth.
    """
    settled = (
        header.settled_height,
        header.settled_gas_unix,
        header.settled_gas_numerator,
        header.settled_excess,
    )
    if any(value is not None for value in settled):
        raise BlockRefused(CorethReason.SETTLED, hash=header.hash.hex())
    if header.timestamp >= upgrades.helicon:
        raise BlockRefused(CorethReason.HELICON)
    if header.timestamp < upgrades.granite:
        raise BlockRefused(CorethReason.BEFORE_GRANITE)


def verify_exponents(header: CorethHeader) -> None:
    """Check that a block has none of the votes that Helicon introduces.

    Raises:
        BlockRefused: It has one.
    """
    for value, reason in (
        (header.target_exponent, CorethReason.TARGET_EXPONENT),
        (header.min_price_exponent, CorethReason.MIN_PRICE_EXPONENT),
    ):
        if value is not None:
            raise BlockRefused(reason, hash=header.hash.hex())


def verify_claimed_gas(
    header: CorethHeader,
    transactions: Sequence[DecodedTransaction],
    capacity: int,
    intrinsic_gas: IntrinsicGas,
) -> None:
    """Check the gas that a block claims to use, before it is executed.

    Raises:
        BlockRefused: It is more than the capacity, or less than the transactions cost at least.
    """
    extra = header.ext_data_gas_used or 0
    if extra > uint64.MAX:
        raise BlockRefused(CorethReason.EXT_DATA_GAS_SIZE, have=extra)
    total = header.gas_used + extra
    if total > uint64.MAX:
        raise BlockRefused(CorethReason.GAS_OVERFLOW)
    if total > capacity:
        raise BlockRefused(CorethReason.GAS_ABOVE_CAPACITY, have=total, capacity=capacity)
    least = sum(map(intrinsic_gas, transactions))
    if least > header.gas_used:
        raise BlockRefused(CorethReason.INTRINSIC_GAS, have=header.gas_used, want=least)


def verify_ext_data_gas(header: CorethHeader, atomic: Sequence[AtomicTx]) -> None:
    """Check the gas of a block's atomic transactions.

    Raises:
        BlockRefused: The header has another sum.
    """
    want = sum(map(gas_used, atomic))
    if header.ext_data_gas_used != want:
        raise BlockRefused(
            CorethReason.EXT_DATA_GAS_USED, have=header.ext_data_gas_used or 0, want=want
        )


def verify_values(header: CorethHeader, parent: AcceptedBlock, before: GasState) -> None:
    """Check the values of a header that follow from the gas state before its block.

    Raises:
        BlockRefused: One of them is another.
    """
    if header.gas_limit != before.max_capacity:
        raise BlockRefused(CorethReason.GAS_LIMIT, have=header.gas_limit, want=before.max_capacity)
    claimed = GasState.read(header.extra_data)
    try:
        after = before.consumed(header.gas_used).consumed(header.ext_data_gas_used or 0)
    except GasStateError as error:
        raise BlockRefused(CorethReason.GAS_STATE, problem=error) from error
    after = after.voted(claimed.target_excess)
    if claimed != after:
        raise BlockRefused(CorethReason.FEE_STATE, have=_text(claimed), want=_text(after))
    if header.base_fee != before.gas_price:
        raise BlockRefused(CorethReason.BASE_FEE, have=header.base_fee, want=before.gas_price)
    if header.block_gas_cost:
        raise BlockRefused(CorethReason.BLOCK_GAS_COST, have=header.block_gas_cost)
    if header.number != parent.number + 1:
        raise BlockRefused(CorethReason.NUMBER)


def _text(state: GasState) -> str:
    return (
        f"{{Gas:{{Capacity:{state.capacity} Excess:{state.excess}}} "
        f"TargetExcess:{state.target_excess}}}"
    )


def predicate_results(header: CorethHeader) -> bytes:
    """Return the part of a header's extra data after the gas state."""
    return header.extra_data[STATE_SIZE:]


def verify_outcome(candidate: CandidateBlock, made: AcceptedBlock) -> None:
    """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

    Raises:
        BlockRefused: The reason names the first field that differs.
    """
    if candidate.hash == made.hash:
        return
    have, want = candidate.header, made.header
    if have.gas_used != want.gas_used:
        raise BlockRefused(CorethReason.GAS_USED, have=have.gas_used, want=want.gas_used)
    for name, reason in (
        ("logs_bloom", CorethReason.BLOOM),
        ("receipts_root", CorethReason.RECEIPTS_ROOT),
        ("state_root", CorethReason.STATE_ROOT),
    ):
        of_candidate, of_made = getattr(have, name), getattr(want, name)
        if of_candidate != of_made:
            raise BlockRefused(reason, have=of_candidate.hex(), want=of_made.hex())
    raise wrong_field(BlockReason.WRONG_HASH, candidate.hash, made.hash)
