"""The parameters of Snowman and their constraints (snowman.md 1)."""

from dataclasses import dataclass

from network_app.settings import SnowSettings

DEFAULT_ALPHA = 15
"""Default of both quorums, for a sample of 20."""
SMALL_ALPHA = 13
"""Default of both quorums on a local network of few validators."""
SMALL = range(4, 10)
"""Number of validators of such a network."""


class InvalidParameters(Exception):
    """Parameters with which no block could be decided, or not safely."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"parameters invalid: {reason}")


@dataclass(frozen=True, slots=True)
class SnowParameters:
    """Sample size, quorums and number of consecutive polls.

    Raises:
        InvalidParameters: A constraint is violated.
    """

    k: int = 20
    """Units of stake drawn for a poll."""
    alpha_preference: int = DEFAULT_ALPHA
    """Votes needed to change the preference."""
    alpha_confidence: int = DEFAULT_ALPHA
    """Votes needed to count towards finality."""
    beta: int = 20
    """Consecutive successful polls that finalise a decision."""
    concurrent_repolls: int = 4
    """Number of open polls to maintain while blocks are processing."""
    optimal_processing: int = 10
    """No block is built here while this number of blocks is processing."""
    max_outstanding_items: int = 256
    """The node is unhealthy if more blocks are processing."""
    max_item_processing_time: float = 30.0
    """Seconds after which a block that is still processing makes the node unhealthy."""

    def __post_init__(self) -> None:
        alphas = f"alphaPreference = {self.alpha_preference}"
        confidence = f"alphaConfidence = {self.alpha_confidence}"
        repolls = f"concurrentRepolls = {self.concurrent_repolls}"
        _require(
            self.k // 2 < self.alpha_preference, f"k = {self.k}, {alphas}", "k/2 < alphaPreference"
        )
        _require(
            self.alpha_preference <= self.alpha_confidence,
            f"{alphas}, {confidence}",
            "alphaPreference <= alphaConfidence",
        )
        _require(
            self.alpha_confidence <= self.k, f"k = {self.k}, {confidence}", "alphaConfidence <= k"
        )
        _require(self.concurrent_repolls > 0, repolls, "0 < concurrentRepolls")
        _require(
            self.concurrent_repolls <= self.beta,
            f"{repolls}, beta = {self.beta}",
            "concurrentRepolls <= beta",
        )
        for name, value in (
            ("optimalProcessing", self.optimal_processing),
            ("maxOutstandingItems", self.max_outstanding_items),
            ("maxItemProcessingTime", self.max_item_processing_time),
        ):
            _require(value > 0, f"{name} = {value:g}", f"0 < {name}")

    @property
    def min_connected_to_poll(self) -> float:
        """The share of the stake that must be connected for a poll to be sent, 0 to 1."""
        return self.alpha_confidence / self.k

    @property
    def min_connected_to_be_healthy(self) -> float:
        """The share of the stake that must be connected for the node to be healthy, 0 to 1."""
        return self.min_connected_to_poll * 0.8 + 0.2


def _require(fulfilled: bool, values: str, condition: str) -> None:  # noqa: FBT001  # a private check
    if not fulfilled:
        raise InvalidParameters(f"{values}: fails the condition that: {condition}")


ONE_VOTE = SnowParameters(k=1, alpha_preference=1, alpha_confidence=1, beta=1, concurrent_repolls=1)
"""Parameters with which a single vote decides: that of the block producer."""


def default_alpha(validators: int, *, local: bool) -> int:
    """Return the default of both quorums.

    Unspecified: the reference uses 15 on every network. With 15, a network of five validators with equal
    stakes hardly makes progress while one of them is offline, so a local network of 4 to 9 validators uses
    13. Among nodes of the reference the default is 15, because a lower quorum is less safe than theirs.

    Args:
        validators: Number of validators of the network.
        local: Whether it is a local network of nodes of this program.
    """
    return SMALL_ALPHA if local and validators in SMALL else DEFAULT_ALPHA


def parameters_of(settings: SnowSettings, alpha: int) -> SnowParameters:
    """Return the parameters from the settings.

    Args:
        settings: The settings of voting.
        alpha: Default of each quorum that is not set.

    Raises:
        InvalidParameters: A constraint is violated.
    """
    return SnowParameters(
        k=settings.sample_size,
        alpha_preference=settings.preference_quorum_size or alpha,
        alpha_confidence=settings.confidence_quorum_size or alpha,
        beta=settings.commit_threshold,
        concurrent_repolls=settings.concurrent_repolls,
        optimal_processing=settings.optimal_processing,
        max_outstanding_items=settings.max_processing,
        max_item_processing_time=settings.max_time_processing,
    )
