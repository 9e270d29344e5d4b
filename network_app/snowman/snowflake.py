"""One decision by repeated polls: unary while there is one choice, else among several (snowman.md 3)."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from network_app.snowman.parameters import SnowParameters

C = TypeVar("C")


@dataclass(slots=True)
class UnarySnowflake:
    """Confidence in the only choice."""

    parameters: SnowParameters
    confidence: int = 0
    """Number of consecutive successful polls."""
    finalized: bool = False

    def record_poll(self, votes: int) -> None:
        """Count a poll with at least alphaPreference votes, even after finalisation."""
        if votes < self.parameters.alpha_confidence:
            self.confidence = 0
            return
        self.confidence += 1
        self.finalized = self.finalized or self.confidence >= self.parameters.beta

    def record_unsuccessful_poll(self) -> None:
        """Reset the confidence; a final decision stays final."""
        self.confidence = 0

    def extend(self, preference: C) -> "Snowflake[C]":
        """Return a decision among several choices with this preference and confidence."""
        return Snowflake(self.parameters, preference, self.confidence, self.finalized)

    def clone(self) -> "UnarySnowflake":
        """Return a copy."""
        return UnarySnowflake(self.parameters, self.confidence, self.finalized)


@dataclass(slots=True)
class Snowflake(Generic[C]):
    """Confidence in one of several choices; in the trie of siblings a choice is a bit, 0 or 1."""

    parameters: SnowParameters
    preference: C
    confidence: int = 0
    """Number of consecutive successful polls for the preference."""
    finalized: bool = False

    def record_poll(self, votes: int, choice: C) -> None:
        """Count the votes for one choice."""
        if self.finalized:
            return
        if votes < self.parameters.alpha_preference:
            self.confidence = 0
            return
        if choice != self.preference:
            self.confidence = 0
        self.preference = choice
        if votes < self.parameters.alpha_confidence:
            self.confidence = 0
            return
        self.confidence += 1
        self.finalized = self.confidence >= self.parameters.beta

    def record_unsuccessful_poll(self) -> None:
        """Reset the confidence; a final decision stays final."""
        self.confidence = 0
