"""The time in milliseconds and the least time between blocks in headers of subnet-evm since Granite (ACP-226)."""

from enum import StrEnum

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, delay_of, excess_after
from cchain_app.rules.subnet_evm.header import SubnetEvmHeader
from chainvm.port import MILLISECONDS


class DelayReason(StrEnum):
    """Why the times in a header are refused, in subnet-evm's words."""

    NO_MILLISECONDS = "TimeMilliseconds is required after Granite activation"
    MILLISECONDS_TOO_SOON = "TimeMilliseconds should be nil before Granite activation"
    OTHER_SECONDS = (
        "TimeMilliseconds does not match header.Time: header.Time ({have}) != "
        "TimeMilliseconds/1000 = ({want})"
    )
    TOO_OLD = "block timestamp is too old: {have} < parent {parent}"
    NO_EXCESS = "remote min delay excess should not be nil: 0x{hash}"
    EXCESS = "incorrect min delay excess: expected {want}, found {have}"
    TOO_SOON = "minimum block delay not met: actual delay {have}ms < required {want}ms"


def due(parent: SubnetEvmHeader) -> int:
    """Return the earliest time of the block after `parent` that its delay allows, in Unix milliseconds."""
    if parent.min_delay_excess is None:
        return parent.milliseconds
    return parent.milliseconds + delay_of(parent.min_delay_excess)


def next_milliseconds(parent: SubnetEvmHeader, milliseconds: int) -> int:
    """Return the time in the header of the next block, which is built at a time in Unix milliseconds.

    Unspecified: a node that decides alone builds at the beginning of a second; a second in which the parent was made
    begins with the parent's time.
    """
    return max(milliseconds, parent.milliseconds)


def next_excess(parent: SubnetEvmHeader) -> int:
    """Return the excess in the header of the next block.

    Unspecified: this node votes for the parent's, as subnet-evm does without `min-delay-target`.
    """
    return FIRST_EXCESS if parent.min_delay_excess is None else parent.min_delay_excess


def verify_delay(
    header: SubnetEvmHeader, parent: SubnetEvmHeader, *, has_granite: bool, is_enforced: bool
) -> None:
    """Check the time in milliseconds, the vote on the delay, and the delay since the parent.

    Args:
        header: The header.
        parent: That of the block before.
        has_granite: Whether Granite is active at the block's time.
        is_enforced: Whether the block must be as late as its parent asks.

    Raises:
        BlockRefused: One of them is wrong.
    """
    time = header.timestamp_milliseconds
    if not has_granite:
        if time is not None:
            raise BlockRefused(DelayReason.MILLISECONDS_TOO_SOON)
        return
    if time is None:
        raise BlockRefused(DelayReason.NO_MILLISECONDS)
    if time // MILLISECONDS != header.timestamp:
        raise BlockRefused(
            DelayReason.OTHER_SECONDS, have=header.timestamp, want=time // MILLISECONDS
        )
    if time < parent.milliseconds:
        raise BlockRefused(DelayReason.TOO_OLD, have=time, parent=parent.milliseconds)
    excess = header.min_delay_excess
    if excess is None:
        raise BlockRefused(DelayReason.NO_EXCESS, hash=header.hash.hex())
    allowed = excess_after(next_excess(parent), excess)
    if excess != allowed:
        raise BlockRefused(DelayReason.EXCESS, have=excess, want=allowed)
    if is_enforced and time < due(parent):
        have, want = time - parent.milliseconds, due(parent) - parent.milliseconds
        raise BlockRefused(DelayReason.TOO_SOON, have=have, want=want)
