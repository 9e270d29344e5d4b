"""One decision by snowball: a snowflake that prefers what most polls of its life were for (snowman.md 3).

The reference has it beside snowflake and decides on no block by it any more, and neither does this node:
it is here since the reference's vectors hold it, and to compare the two.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from network_app.snowman.parameters import Parameters
from network_app.snowman.snowflake import Snowflake, UnarySnowflake

C = TypeVar("C")


@dataclass(slots=True)
class UnarySnowball:
    """Confidence in the only choice, and how many polls were for it."""

    parameters: Parameters
    strength: int = 0
    """Polls with at least alphaPreference votes, in a row or not."""
    snowflake: UnarySnowflake = field(init=False)

    def __post_init__(self) -> None:
        self.snowflake = UnarySnowflake(self.parameters)

    def record_poll(self, votes: int) -> None:
        """Count a poll with at least alphaPreference votes."""
        self.strength += 1
        self.snowflake.record_poll(votes)

    def extend(self, preference: C) -> "Snowball[C]":
        """Return a decision among several that prefers this choice, as strong and as confident."""
        return Snowball(self.snowflake.extend(preference), Counter({preference: self.strength}))


class Snowball(Generic[C]):
    """Confidence in one of several choices, and how many polls were for each.

    Args:
        snowflake: The confidence.
        strength: Polls with at least alphaPreference votes by choice, in a row or not.
    """

    def __init__(self, snowflake: Snowflake[C], strength: Counter[C] | None = None) -> None:
        self.snowflake = snowflake
        self.strength = Counter(strength or {})
        self._strongest = snowflake.preference

    @property
    def preference(self) -> C:
        """The choice that most polls were for, of several the one before; once final, what is final."""
        return self.snowflake.preference if self.snowflake.finalized else self._strongest

    def record_poll(self, votes: int, choice: C) -> None:
        """Count the votes for one choice."""
        if votes >= self.snowflake.parameters.alpha_preference:
            self.strength[choice] += 1
            if self.strength[choice] > self.strength[self._strongest]:
                self._strongest = choice
        self.snowflake.record_poll(votes, choice)
