"""What a process writes of figures that it does not have any more."""

import math
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import values

from health_app.metrics import files
from health_app.metrics.figures import Across, Family, Figure
from health_app.metrics.ledger import Ledger

FAMILIES = {
    across: Family(f"thing_{across.name.lower()}", "Of things.", labels=("name",), across=across)
    for across in Across
}


class Processes:
    """Ledgers of several processes in one directory."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self._place = place
        self._patch = patch
        self._patch.setenv(files.VARIABLE, str(place))
        self._made: dict[int, tuple[Ledger, Any]] = {}

    def write(self, pid: int, *figures: Figure) -> None:
        """Have a process write its figures."""
        untyped: Any = values.MultiProcessValue
        made: Any = (Ledger(), untyped(lambda: pid))
        ledger, kind = self._made.setdefault(pid, made)
        self._patch.setattr(values, "ValueClass", kind)
        ledger.write(figures)

    def read(self, across: Across) -> float:
        """Return what they say together."""
        (metric,) = (
            one
            for one in files.merge(self._place.glob("*.db"))
            if one.name == FAMILIES[across].full_name
        )
        return metric.samples[0].value


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    return Processes(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("across", "both", "one", "none"),
    [(Across.SUM, 12, 7, 0), (Across.LEAST, 5, 7, math.inf), (Across.LATEST, 7, 7, 7)],
)
def test_a_gauge_that_is_gone_says_nothing(
    processes: Processes, across: Across, both: float, one: float, none: float
) -> None:
    family = FAMILIES[across]
    processes.write(11, family.of(5, "a"))
    processes.write(12, family.of(7, "a"))
    assert processes.read(across) == both

    processes.write(11)
    assert processes.read(across) == one

    processes.write(12)
    assert processes.read(across) == none

    processes.write(11, family.of(5, "a"))
    assert processes.read(across) == max(5, none if across is Across.LATEST else 5)
