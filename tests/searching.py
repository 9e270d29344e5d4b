"""How many cases a property test tries that wants another number than the profile's."""

from hypothesis import settings

QUICK = 15
"""Cases of a property in the profile `quick`, which is the default."""
THOROUGH = 1_000


def cases(count: int) -> int:
    """Return how many cases to try where a quick run tries so many: in a search as many times more."""
    return count * settings().max_examples // QUICK


def seeds(count: int, *, thorough: int) -> range:
    """Return the seeds of runs: so many in a quick run, and more in a search."""
    return range(thorough if settings().max_examples > QUICK else count)
