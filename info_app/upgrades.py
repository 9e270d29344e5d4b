"""When the rules of the network changed, in the reference's terms (pchain.md 10.1). Pure.

Unspecified: every network that this node can run begins with all upgrades up to Granite, as the
reference's own local networks do: what they brought is understood from the first block on.
"""

from datetime import UTC, datetime
from typing import Final

from primitives.ids import EMPTY_ID

ACTIVATION: Final = datetime(2020, 12, 5, 5, tzinfo=UTC)
"""When all upgrades that count were activated: before any chain of ours began."""
NEVER: Final = datetime(9999, 12, 1, tzinfo=UTC)
"""The reference's date of an upgrade that is not scheduled."""

_ACTIVE: Final = (
    "apricotPhase1", "apricotPhase2", "apricotPhase3", "apricotPhase4", "apricotPhase5",
    "apricotPhasePre6", "apricotPhase6", "apricotPhasePost6", "banff", "cortina", "durango", "etna",
    "fortuna", "granite",
)  # fmt: skip
_NOT_SCHEDULED: Final = ("helicon",)


def upgrades(epoch_seconds: int) -> dict[str, object]:
    """Return the times of all upgrades as info.upgrades names them, and what goes with three of them.

    Epochs of the P-Chain (Granite) last `epoch_seconds`; they are told in nanoseconds.
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
