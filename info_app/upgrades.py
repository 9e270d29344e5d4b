"""Activation times of the network's upgrades, in the reference's terms (pchain.md 10.1). Pure.

Unspecified: every network that this node can run starts with all upgrades up to Granite, as the reference's own
local networks do, so their rules apply from the first block.
"""

from datetime import UTC, datetime
from typing import Final

from primitives.ids import EMPTY_ID

ACTIVATION: Final = datetime(2020, 12, 5, 5, tzinfo=UTC)
"""Activation time of all active upgrades: earlier than the start of any of our chains."""
NEVER: Final = datetime(9999, 12, 1, tzinfo=UTC)
"""The reference's activation time for an upgrade that is not scheduled."""

_ACTIVE: Final = (
    "apricotPhase1", "apricotPhase2", "apricotPhase3", "apricotPhase4", "apricotPhase5",
    "apricotPhasePre6", "apricotPhase6", "apricotPhasePost6", "banff", "cortina", "durango", "etna",
    "fortuna", "granite",
)  # fmt: skip
_NOT_SCHEDULED: Final = ("helicon",)


def upgrades(epoch_seconds: int) -> dict[str, object]:
    """Return the activation times of all upgrades under their names in info.upgrades, and three related values.

    Epochs of the P-Chain (Granite) last `epoch_seconds`; the result has them in nanoseconds.
    """
    times: dict[str, object] = {f"{name}Time": _text(ACTIVATION) for name in _ACTIVE}
    times |= {f"{name}Time": _text(NEVER) for name in _NOT_SCHEDULED}
    return times | {
        "apricotPhase4MinPChainHeight": 0,
        "cortinaXChainStopVertexID": str(EMPTY_ID),
        "graniteEpochDuration": epoch_seconds * 1_000_000_000,
    }


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
