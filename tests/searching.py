"""The number of cases of property tests that need another number than the Hypothesis profile has."""

from hypothesis import settings

QUICK = 15
"""Cases of a property in the profile `quick`, which is the default."""
THOROUGH = 1_000


def cases(count: int) -> int:
    """Scale a quick run's number of cases to the active profile."""
    return count * settings().max_examples // QUICK


def seeds(count: int, *, thorough: int) -> range:
    """Return the seeds of runs: `count` seeds in a quick run, `thorough` seeds in a search."""
    return range(thorough if settings().max_examples > QUICK else count)
