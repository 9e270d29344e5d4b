"""One decision by snowball: a snowflake whose preference is the choice with most polls (snowman.md 3).

The reference contains it beside snowflake but no longer uses it for any block, and neither does this node.
The tests use it to execute the reference's vectors, and so to compare the two.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from network_app.snowman.parameters import SnowParameters
from network_app.snowman.trie import Snowflake, UnarySnowflake

C = TypeVar("C")


@dataclass(slots=True)
class UnarySnowball:
    """Confidence in the only choice, and the number of polls for it."""

    parameters: SnowParameters
    strength: int = 0
    """Polls with at least alphaPreference votes, consecutive or not."""
    snowflake: UnarySnowflake = field(init=False)

    def __post_init__(self) -> None:
        self.snowflake = UnarySnowflake(self.parameters)

    def record_poll(self, votes: int) -> None:
        """Count a poll with at least alphaPreference votes."""
        self.strength += 1
        self.snowflake.record_poll(votes)

    def extend(self, preference: C) -> "Snowball[C]":
        """Return a decision among several choices with this preference, strength and confidence."""
        return Snowball(self.snowflake.extend(preference), Counter({preference: self.strength}))


class Snowball(Generic[C]):
    """Confidence in one of several choices, and the number of polls for each.

    Args:
        snowflake: The confidence.
        strength: Polls with at least alphaPreference votes by choice, consecutive or not.
    """

    def __init__(self, snowflake: Snowflake[C], strength: Counter[C] | None = None) -> None:
        self.snowflake = snowflake
        self.strength = Counter(strength or {})
        self._strongest = snowflake.preference

    @property
    def preference(self) -> C:
        """The choice with most polls, on a tie the earlier one; the final choice after finalisation."""
        return self.snowflake.preference if self.snowflake.finalized else self._strongest

    def record_poll(self, votes: int, choice: C) -> None:
        """Count the votes for one choice."""
        if votes >= self.snowflake.parameters.alpha_preference:
            self.strength[choice] += 1
            if self.strength[choice] > self.strength[self._strongest]:
                self._strongest = choice
        self.snowflake.record_poll(votes, choice)
