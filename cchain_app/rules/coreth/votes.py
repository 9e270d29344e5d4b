"""The values for which a node votes in the blocks that it builds (coreth.md 5.2, 5.4)."""

from typing import Final, NamedTuple

from cchain_app.rules.coreth.gas_state import desired_target_excess
from cchain_app.rules.coreth.min_delay import desired_excess


class Votes(NamedTuple):
    """The wanted values as excesses; None: the parent's."""

    target_excess: int | None = None
    min_delay_excess: int | None = None


NO_VOTES: Final = Votes()


def votes_for(gas_target: int, min_delay_target: int) -> Votes:
    """Return the votes of a node with these targets.

    Args:
        gas_target: Gas per second; negative: none.
        min_delay_target: Milliseconds between blocks; negative: none.
    """
    return Votes(
        None if gas_target < 0 else desired_target_excess(gas_target),
        None if min_delay_target < 0 else desired_excess(min_delay_target),
    )
