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
    supply_interval: float = flag(
        0.0,
        "Seconds between counts of all coins, which are the health check `supply`. A count reads whole tables. 0: only "
        "the command `check_supply` counts.",
        least=0,
    )
