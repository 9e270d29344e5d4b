"""The settings of voting (`NODE_CONSENSUS=snowman`): polls, and limits of undecided blocks (docs/network.md)."""

from dataclasses import dataclass

from nodeproject.settings.accounts import AccountSettings
from nodeproject.settings.flags import flag


@dataclass(frozen=True, slots=True)
class SnowSettings(AccountSettings):
    """The parameters of Snowman: a part of `NodeSettings`."""

    snow_sample_size: int = flag(20, "Units of stake that a poll queries.", least=1)
    snow_preference_quorum_size: int = flag(
        0,
        "Votes of a poll that change the preferred block. 0: 15; on a local network of 4 to 9 validators 13, "
        "unless NODE_PARAMETERS is `avalanchego`.",
        least=0,
    )
    snow_confidence_quorum_size: int = flag(
        0, "Votes with which a poll counts towards a decision. 0: likewise.", least=0
    )
    snow_commit_threshold: int = flag(
        20,
        "Consecutive successful polls that decide a block: fewer are faster and less safe.",
        least=1,
    )
    snow_concurrent_repolls: int = flag(
        4, "Target number of concurrent polls while blocks are undecided.", least=1
    )
    snow_optimal_processing: int = flag(
        10, "Number of undecided blocks from which on this node builds no further block.", least=1
    )
    snow_max_processing: int = flag(
        256, "Number of undecided blocks above which the node is unhealthy.", least=1
    )
    snow_max_time_processing: float = flag(
        30.0,
        "Seconds that a block may be undecided before the node is unhealthy.",
        least=0.01,
    )
    kept_decisions: int = flag(
        10_000, "Decided votes that are kept for inspection (`n_decisions`).", least=1
    )
