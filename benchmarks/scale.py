"""The amount of work in a run: everything, or a tenth of it."""

from dataclasses import dataclass

from benchmarks.generator import Pace
from benchmarks.network_nodes import History


@dataclass(frozen=True, slots=True)
class Scale:
    """Amount of work for a server."""

    pace: Pace
    send_seconds: float
    """Seconds for which transactions are sent."""
    latencies: int
    """Transactions whose time to the receipt is measured."""
    blocks: int
    accounts: int
    growth_seconds: float
    """Seconds after which a chain stops growing; the note says how far it came."""
    rounds: int
    """Blocks that are announced to the subscribers."""
    subscribers: int
    validators: int
    """Validators of the P-Chain, each with ten delegators."""
    past: int
    """Past delegators."""
    travellers: int
    """Validators and delegators that end within the year of the time travel."""
    decisions: int
    """Transactions whose time to acceptance by all voters is measured, one after the other."""
    voting_seconds: float
    """Seconds for which voters get transactions under load."""
    history: History
    """Blocks that a joining node has to fetch."""


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
