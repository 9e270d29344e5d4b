"""The rules for a header and its parent, and for the outcome of execution, in the reference's order (coreth.md 6 B, C)."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from cchain_app.atomic.fees import MAX_BLOCK_GAS, gas_used
from cchain_app.atomic.transactions import AtomicTx
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused, wrong_field
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.gas_state import STATE_SIZE, GasState, GasStateError
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, delay_of, excess_after
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from cchain_app.rules.coreth.window import (
    WINDOW_SIZE,
    base_fee_after,
    block_gas_cost_after,
    encode_window,
    window_before,
)
from cchain_app.txs.codec import DecodedTransaction
from chainvm.port import MILLISECONDS
from primitives import uint64
from primitives.upgrades import UpgradeTimes

MAX_FUTURE_MILLISECONDS: Final = 10_000
"""Maximum time by which a block may be ahead of this node's clock."""

IntrinsicGas = Callable[[DecodedTransaction], int]
"""Returns the intrinsic gas of a transaction, with its predicates."""


def gas_state_before(parent: CorethHeader, milliseconds: int, upgrades: UpgradeTimes) -> GasState:
    """Return the gas state before a block of Fortuna or later.

    Args:
        parent: The block before.
        milliseconds: The new block's time in Unix milliseconds.
        upgrades: The network's upgrades.
    """
    known = parent.number > 0 and parent.timestamp >= upgrades.fortuna
    state = GasState.read(parent.extra_data) if known else GasState()
    timestamp = milliseconds // MILLISECONDS
    if timestamp >= upgrades.granite:
        return state.advanced_milliseconds(max(0, milliseconds - parent.milliseconds))
    return state.advanced_seconds(max(0, timestamp - parent.timestamp))


_GAS_LIMITS: Final = ((CorethPhase.CORTINA, 15_000_000), (CorethPhase.APRICOT_1, 8_000_000))
"""The gas limit since a phase, newest first."""
_GAS_LIMIT_NAMES: Final = {15_000_000: "Cortina", 8_000_000: "ApricotPhase1"}
_LEAST_GAS_LIMIT: Final = 5_000
_MOST_GAS_LIMIT: Final = 2**63 - 1
_GAS_LIMIT_DIVISOR: Final = 1_024


class HeaderFees(NamedTuple):
    """The values of a header that follow from its parent and its time."""

    phase: CorethPhase
    gas_limit: int
    base_fee: int | None
    """Wei; None before Apricot phase 3."""
    capacity: int
    """Gas that the block's transactions may use; since Fortuna together with its atomic transactions."""
    block_gas_cost: int | None
    """None before Apricot phase 4."""
    prefix: bytes
    """How the extra data begins before Fortuna."""
    state: GasState | None
    """The gas state before the block; None before Fortuna."""

    def atomic_capacity(self, gas_used: int) -> int:
        """Return the gas that is left to the atomic transactions after the EVM's have used some."""
        return MAX_BLOCK_GAS if self.state is None else max(self.capacity - gas_used, 0)


def fees_after(parent: CorethHeader, milliseconds: int, upgrades: UpgradeTimes) -> HeaderFees:
    """Return the values of the block after `parent`.

    Args:
        parent: The block before.
        milliseconds: The new block's time in Unix milliseconds, not below the parent's.
        upgrades: The network's upgrades.
    """
    timestamp = milliseconds // MILLISECONDS
    phase = phase_at(upgrades, timestamp)
    cost = block_gas_cost_after(parent, timestamp, upgrades)
    if phase >= CorethPhase.FORTUNA:
        state = gas_state_before(parent, milliseconds, upgrades)
        limit = state.max_capacity
        return HeaderFees(phase, limit, state.gas_price, state.capacity, cost, b"", state)
    limit = next((limit for first, limit in _GAS_LIMITS if phase >= first), parent.gas_limit)
    base_fee, prefix = None, b""
    if phase >= CorethPhase.APRICOT_3:
        base_fee = base_fee_after(parent, timestamp, upgrades)
        prefix = encode_window(window_before(parent, timestamp, upgrades))
    return HeaderFees(phase, limit, base_fee, limit, cost, prefix, None)


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
    want = excess_after(delay_excess_before(parent, upgrades), have)
    if have != want:
        raise BlockRefused(CorethReason.MIN_DELAY, have=have, want=want)


def delay_excess_before(parent: CorethHeader, upgrades: UpgradeTimes) -> int:
    """Return the excess from which a block of Granite moves that of the delay between blocks."""
    if parent.timestamp < upgrades.granite or parent.min_delay_excess is None:
        return FIRST_EXCESS
    return parent.min_delay_excess


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
    fees: HeaderFees,
    intrinsic_gas: IntrinsicGas,
) -> None:
    """Check the gas that a block claims to use, before it is executed.

    Raises:
        BlockRefused: It is more than the capacity, or less than the transactions cost at least.
    """
    capacity = fees.capacity
    extra = 0 if fees.state is None else (header.ext_data_gas_used or 0)
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


def verify_ext_data_gas(
    header: CorethHeader, atomic: Sequence[AtomicTx], phase: CorethPhase
) -> None:
    """Check the gas of a block's atomic transactions.

    Raises:
        BlockRefused: The header has another sum, or too high a one.
    """
    if phase < CorethPhase.APRICOT_4:
        return
    have = header.ext_data_gas_used
    shown = "<nil>" if have is None else have
    if CorethPhase.APRICOT_5 <= phase < CorethPhase.FORTUNA and (
        have is None or have > MAX_BLOCK_GAS
    ):
        raise BlockRefused(CorethReason.MUCH_EXT_DATA_GAS, have=shown)
    has_fixed_gas = phase >= CorethPhase.APRICOT_5
    want = sum(gas_used(tx, has_fixed_gas=has_fixed_gas) for tx in atomic)
    if have != want:
        raise BlockRefused(CorethReason.EXT_DATA_GAS_USED, have=shown, want=want)


def verify_values(header: CorethHeader, parent: CorethHeader, fees: HeaderFees) -> None:
    """Check the values of a header that follow from its parent.

    Raises:
        BlockRefused: One of them is another.
    """
    _verify_gas_limit(header, parent, fees)
    _verify_prefix(header, fees)
    if header.base_fee != fees.base_fee:
        raise BlockRefused(
            CorethReason.BASE_FEE, have=_shown(header.base_fee), want=_shown(fees.base_fee)
        )
    if header.block_gas_cost != fees.block_gas_cost:
        raise BlockRefused(
            CorethReason.BLOCK_GAS_COST,
            have=_shown(header.block_gas_cost),
            want=_shown(fees.block_gas_cost),
        )
    extra_gas = header.ext_data_gas_used
    if fees.phase < CorethPhase.APRICOT_4 and extra_gas is not None:
        raise BlockRefused(CorethReason.EXT_DATA_GAS_TOO_SOON, have=extra_gas)
    if fees.phase >= CorethPhase.APRICOT_4 and extra_gas is None:
        raise BlockRefused(CorethReason.NO_EXT_DATA_GAS)
    if header.number != parent.number + 1:
        raise BlockRefused(CorethReason.NUMBER)


def _shown(number: int | None) -> int | str:
    return "<nil>" if number is None else number


def _verify_gas_limit(header: CorethHeader, parent: CorethHeader, fees: HeaderFees) -> None:
    have, want = header.gas_limit, fees.gas_limit
    if fees.phase >= CorethPhase.APRICOT_1:
        if have == want:
            return
        if fees.phase >= CorethPhase.FORTUNA:
            raise BlockRefused(CorethReason.GAS_LIMIT, have=have, want=want)
        raise BlockRefused(
            CorethReason.GAS_LIMIT_OF_PHASE, have=have, want=want, phase=_GAS_LIMIT_NAMES[want]
        )
    if not _LEAST_GAS_LIMIT <= have <= _MOST_GAS_LIMIT:
        raise BlockRefused(
            CorethReason.GAS_LIMIT_RANGE, have=have, least=_LEAST_GAS_LIMIT, most=_MOST_GAS_LIMIT
        )
    step = parent.gas_limit // _GAS_LIMIT_DIVISOR
    if abs(parent.gas_limit - have) >= step:
        raise BlockRefused(
            CorethReason.GAS_LIMIT_STEP, have=have, parent=parent.gas_limit, step=step
        )


def _verify_prefix(header: CorethHeader, fees: HeaderFees) -> None:
    """Check the beginning of the extra data: the gas state after the block, or the window before it."""
    if fees.state is None:
        if not header.extra_data.startswith(fees.prefix):
            raise BlockRefused(
                CorethReason.EXTRA_PREFIX,
                want=fees.prefix.hex(),
                have=header.extra_data.hex(),
            )
        return
    claimed = GasState.read(header.extra_data)
    try:
        after = fees.state.consumed(header.gas_used).consumed(header.ext_data_gas_used or 0)
    except GasStateError as error:
        raise BlockRefused(CorethReason.GAS_STATE, problem=error) from error
    after = after.voted(claimed.target_excess)
    if claimed != after:
        raise BlockRefused(CorethReason.FEE_STATE, have=_text(claimed), want=_text(after))


def _text(state: GasState) -> str:
    return (
        f"{{Gas:{{Capacity:{state.capacity} Excess:{state.excess}}} "
        f"TargetExcess:{state.target_excess}}}"
    )


def predicate_results(header: CorethHeader, phase: CorethPhase) -> bytes:
    """Return the results of predicates in a header's extra data; empty before Durango."""
    if phase < CorethPhase.DURANGO:
        return b""
    return header.extra_data[STATE_SIZE if phase >= CorethPhase.FORTUNA else WINDOW_SIZE :]


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
