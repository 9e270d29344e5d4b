"""The settings that limit how much history a node keeps besides the chain (docs/operations.md lists the losses)."""

from dataclasses import dataclass
from typing import Final

from nodeproject.settings.flags import flag
from nodeproject.settings.fork import ForkSettings

FEWEST_STATES: Final = 128
"""States that are always kept: running calls need the head's, and processes that fall behind need time to catch up."""


@dataclass(frozen=True, slots=True)
class HistorySettings(ForkSettings):
    """The operator's settings of history, with their defaults: a part of `NodeSettings`. By default all is kept."""

    history_state: int = flag(
        0,
        "Blocks below the head whose states are kept, at least 128; older calls, proofs and traces fail, and "
        "older snapshots cannot be reverted to. 0: all.",
        least=0,
    )
    history_calls: int = flag(
        0,
        "Blocks below the head whose calls inside of transactions (NODE_TRACE_INDEX) are kept as rows; "
        "searches in older blocks execute these again or find less. 0: all.",
        least=0,
    )
    history_health: int = flag(
        0,
        "Days for which changes of health checks are kept, among the last 10000. 0: unlimited.",
        least=0,
    )

    @property
    def kept_states(self) -> int:
        """Blocks below the head whose states are kept; 0: all."""
        return max(self.history_state, FEWEST_STATES) if self.history_state else 0
