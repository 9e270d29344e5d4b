"""The settings of health checks."""

from dataclasses import dataclass

from primitives.settings import flag


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """The settings of health checks and their history."""

    history_health: int = flag(
        0,
        "Days for which changes of health checks are kept, among the last 10000. 0: unlimited.",
        least=0,
    )
    health_interval: float = flag(5.0, "Seconds between health checks.", least=0.05)
