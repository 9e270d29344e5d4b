"""The activation times of a network's upgrades as one value (etna.md 1).

An upgrade is active at times at or after its own. Rules of transactions compare it with chain time, rules of blocks
with the block's time.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from primitives.ids import EMPTY_ID, ID
from primitives.reasons import ErrorWithReason

ACTIVE: Final = 1_607_144_400
"""2020-12-05 05:00 UTC, before the start of any network of one's own; on those all upgrades up to Granite are active."""
NEVER: Final = 253_399_622_400
"""9999-12-01, the reference's time of an upgrade that is not scheduled."""

_NANOSECONDS: Final = 1_000_000_000
_MAX_FILE: Final = 65_536
"""Bytes."""


class InvalidUpgrades(ValueError):
    """A description of upgrades that no network can have."""


@dataclass(frozen=True, slots=True)
class UpgradeTimes:
    """The activation times, in Unix seconds, in their order, and three values that go with them."""

    apricot_phase1: int = ACTIVE
    apricot_phase2: int = ACTIVE
    apricot_phase3: int = ACTIVE
    apricot_phase4: int = ACTIVE
    apricot_phase5: int = ACTIVE
    apricot_phase_pre6: int = ACTIVE
    apricot_phase6: int = ACTIVE
    apricot_phase_post6: int = ACTIVE
    banff: int = ACTIVE
    cortina: int = ACTIVE
    durango: int = ACTIVE
    etna: int = ACTIVE
    fortuna: int = ACTIVE
    granite: int = ACTIVE
    helicon: int = NEVER
    granite_epoch_duration: int = 30
    """Seconds."""
    apricot_phase4_min_p_chain_height: int = 0
    cortina_x_chain_stop_vertex: ID = EMPTY_ID

    def __post_init__(self) -> None:
        times = [(name, getattr(self, name)) for name in _TIMES]
        for place, ((_, before), (_, after)) in enumerate(pairwise(times)):
            if before > after:
                raise InvalidUpgrades(
                    f"invalid upgrade configuration: upgrade {place} ({_text(before)}) is after "
                    f"upgrade {place + 1} ({_text(after)})"
                )
        if self.granite_epoch_duration <= 0:
            raise InvalidUpgrades("graniteEpochDuration must be positive")

    @property
    def latest(self) -> int:
        """The time of the last upgrade that is scheduled, which nodes compare when they connect."""
        times: list[int] = [getattr(self, name) for name in _TIMES]
        return max(time for time in times if time < NEVER)

    def as_json(self) -> dict[str, object]:
        """Return the values under their names in info.upgrades; the duration is in nanoseconds there."""
        times: dict[str, object] = {_json_name(name): _text(getattr(self, name)) for name in _TIMES}
        return times | {
            "apricotPhase4MinPChainHeight": self.apricot_phase4_min_p_chain_height,
            "cortinaXChainStopVertexID": str(self.cortina_x_chain_stop_vertex),
            "graniteEpochDuration": self.granite_epoch_duration * _NANOSECONDS,
        }


_TIMES: Final = tuple(field.name for field in fields(UpgradeTimes))[:15]


def _json_name(name: str) -> str:
    """Return the name of a time in info.upgrades: `apricot_phase_pre6` is `apricotPhasePre6Time`."""
    first, *others = name.split("_")
    return "".join([first, *(part.capitalize() for part in others), "Time"])


def _text(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"


OWN_NETWORK: Final = UpgradeTimes()
"""Networks other than the public ones."""

MAINNET: Final = UpgradeTimes(
    apricot_phase1=1_617_199_200,
    apricot_phase2=1_620_644_400,
    apricot_phase3=1_629_813_600,
    apricot_phase4=1_632_344_400,
    apricot_phase5=1_638_468_000,
    apricot_phase_pre6=1_662_341_400,
    apricot_phase6=1_662_494_400,
    apricot_phase_post6=1_662_519_600,
    banff=1_666_108_800,
    cortina=1_682_434_800,
    durango=1_709_740_800,
    etna=1_734_368_400,
    fortuna=1_744_124_400,
    granite=1_763_568_000,
    granite_epoch_duration=300,
    apricot_phase4_min_p_chain_height=793_005,
    cortina_x_chain_stop_vertex=ID.parse("jrGWDh5Po9FMj54depyunNixpia5PN4aAYxfmNzU8n752Rjga"),
)

FUJI: Final = UpgradeTimes(
    apricot_phase1=1_616_767_200,
    apricot_phase2=1_620_223_200,
    apricot_phase3=1_629_140_400,
    apricot_phase4=1_631_826_000,
    apricot_phase5=1_637_766_000,
    apricot_phase_pre6=1_662_494_400,
    apricot_phase6=1_662_494_400,
    apricot_phase_post6=1_662_530_400,
    banff=1_664_805_600,
    cortina=1_680_793_200,
    durango=1_707_840_000,
    etna=1_732_550_400,
    fortuna=1_741_878_000,
    granite=1_761_750_000,
    granite_epoch_duration=300,
    apricot_phase4_min_p_chain_height=47_437,
    cortina_x_chain_stop_vertex=ID.parse("2D1cmbiG36BqQMRyHt4kFhWarmatA1ighSpND3FeFgz3vFVtCZ"),
)


def read_upgrades(path: Path) -> UpgradeTimes:
    """Read the upgrades of a network from a JSON file.

    Raises:
        OSError: The file cannot be read.
        InvalidUpgrades: It is too large or no JSON object, or see `parse_upgrades`.
    """
    with path.open("rb") as file:
        raw = file.read(_MAX_FILE + 1)
    if len(raw) > _MAX_FILE:
        raise InvalidUpgrades(f"more than {_MAX_FILE} bytes")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidUpgrades(f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidUpgrades("not a JSON object")
    return parse_upgrades(content)


def parse_upgrades(content: Mapping[str, Any]) -> UpgradeTimes:
    """Read the upgrades of a network of one's own, with the names and formats of info.upgrades; missing ones are active.

    Raises:
        InvalidUpgrades: A name or value is unknown, or the times are not in order.
    """
    names = {_json_name(name): name for name in _TIMES}
    values: dict[str, Any] = {}
    for key, value in content.items():
        try:
            if key in names:
                values[names[key]] = _seconds(value)
            elif key == "graniteEpochDuration":
                values["granite_epoch_duration"] = int(value) // _NANOSECONDS
            elif key == "apricotPhase4MinPChainHeight":
                values["apricot_phase4_min_p_chain_height"] = int(value)
            elif key == "cortinaXChainStopVertexID":
                values["cortina_x_chain_stop_vertex"] = ID.parse(value)
            else:
                raise InvalidUpgrades(f"unknown upgrade {key!r}")
        except (TypeError, AttributeError, ErrorWithReason, ValueError) as error:
            if isinstance(error, InvalidUpgrades):
                raise
            raise InvalidUpgrades(f"{key}: {value!r} is not a valid value") from error
    return UpgradeTimes(**values)


def _seconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise InvalidUpgrades(f"{text!r} has no offset from UTC")
    return int(moment.timestamp())
