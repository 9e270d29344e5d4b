"""How much a run does: everything, or a tenth of it."""

from dataclasses import dataclass

from benchmarks.generator import Pace
from benchmarks.network_nodes import History


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done is asked of a server."""

    pace: Pace
    send_seconds: float
    """How long transactions are sent."""
    latencies: int
    """Transactions whose way to the receipt is timed."""
    blocks: int
    accounts: int
    growth_seconds: float
    """After which a chain is taken as it is, and the note says how far it came."""
    rounds: int
    """Blocks that are announced to the subscribers."""
    subscribers: int
    validators: int
    """Of the P-Chain, each with ten delegators."""
    past: int
    """Delegators that are gone."""
    travellers: int
    """Validators and delegators that end within the year that is leapt over."""
    decisions: int
    """Transactions whose way to the acceptance by all voters is timed, one after the other."""
    voting_seconds: float
    """How long voters are sent transactions, while others are timed beside."""
    history: History
    """What a node that joins has to catch up with."""


FULL = Scale(
    Pace(0.3, 1.0, 3),
    4.0,
    200,
    5_000,
    50_000,
    60.0,
    10,
    1_000,
    2_000,
    50_000,
    2_000,
    100,
    20.0,
    History(empty=2_000, light=400, transfers=50, platform=600, payments=5),
)
QUICK = Scale(
    Pace(0.2, 0.5, 1),
    1.0,
    50,
    500,
    5_000,
    10.0,
    3,
    1_000,
    200,
    5_000,
    200,
    15,
    5.0,
    History(empty=400, light=200, transfers=50, platform=200, payments=5),
)
