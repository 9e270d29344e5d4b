"""The parameters of Snowman and what they must fulfil (snowman.md 1)."""

from dataclasses import dataclass
from typing import Protocol

DEFAULT_ALPHA = 15
"""Both quorums, of 20 that are asked, where nothing else is said."""
SMALL_ALPHA = 13
"""The same on a local network of few validators."""
SMALL = range(4, 10)
"""Validators of such a network."""


class InvalidParameters(Exception):
    """Parameters by which nothing could be decided, or nothing safely."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"parameters invalid: {reason}")


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many are asked, how many must agree, and how often in a row.

    Raises:
        InvalidParameters: One condition fails.
    """

    k: int = 20
    """Units of stake that are drawn for a poll."""
    alpha_preference: int = DEFAULT_ALPHA
    """Votes that move the preference."""
    alpha_confidence: int = DEFAULT_ALPHA
    """Votes that count towards finality."""
    beta: int = 20
    """Successful polls in a row that finalise a decision."""
    concurrent_repolls: int = 4
    """Open polls that are aimed at while something is processing."""
    optimal_processing: int = 10
    """While so many blocks are processing no own block is built."""
    max_outstanding_items: int = 256
    """The node is unhealthy with more processing blocks."""
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


ONE_VOTE = Parameters(k=1, alpha_preference=1, alpha_confidence=1, beta=1, concurrent_repolls=1)
"""By which one validator's vote decides: that of whoever makes all blocks."""


class Settings(Protocol):
    """What an operator can set of the parameters; see `NodeSettings` for what each one means."""

    @property
    def snow_sample_size(self) -> int:
        """Units of stake that a poll asks: k."""

    @property
    def snow_preference_quorum_size(self) -> int:
        """0: the default of the network."""

    @property
    def snow_confidence_quorum_size(self) -> int:
        """0: the default of the network."""

    @property
    def snow_commit_threshold(self) -> int:
        """Polls in a row that decide: beta."""

    @property
    def snow_concurrent_repolls(self) -> int:
        """Open polls that are aimed at."""

    @property
    def snow_optimal_processing(self) -> int:
        """Processing blocks with which no own one is built."""

    @property
    def snow_max_processing(self) -> int:
        """Processing blocks with which the node is healthy."""

    @property
    def snow_max_time_processing(self) -> float:
        """Seconds."""


def default_alpha(validators: int, *, local: bool) -> int:
    """Return both quorums where no setting gives them.

    Unspecified: the reference has 15 on every network. With that a network of five that vote by equal
    stakes hardly goes on while one of them is away: 13 on a local network of 4 to 9 validators. Among
    nodes of the reference 15, since whoever asks for less than the others is less safe than they.

    Args:
        validators: How many the network has.
        local: Whether it is a local one of this program's nodes.
    """
    return SMALL_ALPHA if local and validators in SMALL else DEFAULT_ALPHA


def parameters_of(node: Settings, alpha: int) -> Parameters:
    """Return the parameters that settings give.

    Args:
        node: The settings.
        alpha: Each quorum that they leave open.

    Raises:
        InvalidParameters: One condition fails.
    """
    return Parameters(
        k=node.snow_sample_size,
        alpha_preference=node.snow_preference_quorum_size or alpha,
        alpha_confidence=node.snow_confidence_quorum_size or alpha,
        beta=node.snow_commit_threshold,
        concurrent_repolls=node.snow_concurrent_repolls,
        optimal_processing=node.snow_optimal_processing,
        max_outstanding_items=node.snow_max_processing,
        max_item_processing_time=node.snow_max_time_processing,
    )
