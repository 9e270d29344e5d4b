"""The upgrades of a network: as info.upgrades returns them, and read from a file."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from primitives.settings import UPGRADES_FILE, FormError
from primitives.upgrades import OWN_NETWORK, InvalidUpgrades, UpgradeTimes, parse_upgrades
from primitives.upgrades import read_upgrades as read


def test_all_upgrades_but_the_unscheduled_one_are_active() -> None:
    found = OWN_NETWORK.as_json()
    times = {name: text for name, text in found.items() if name.endswith("Time")}
    later = {
        name
        for name, text in times.items()
        if datetime.fromisoformat(str(text)) > datetime.now(UTC)
    }

    assert later == {"heliconTime"}
    assert times["etnaTime"] == "2020-12-05T05:00:00Z"
    assert times["heliconTime"] == "9999-12-01T00:00:00Z"
    assert OWN_NETWORK.latest == 1_607_144_400


def test_upgrade_parameters_are_in_the_json() -> None:
    found = OWN_NETWORK.as_json()

    assert found["apricotPhase4MinPChainHeight"] == 0
    assert found["cortinaXChainStopVertexID"] == "11111111111111111111111111111111LpoYY"
    assert found["graniteEpochDuration"] == 30_000_000_000


def test_the_names_are_those_that_clients_read() -> None:
    assert set(OWN_NETWORK.as_json()) == {
        "apricotPhase1Time", "apricotPhase2Time", "apricotPhase3Time", "apricotPhase4Time",
        "apricotPhase4MinPChainHeight", "apricotPhase5Time", "apricotPhasePre6Time",
        "apricotPhase6Time", "apricotPhasePost6Time", "banffTime", "cortinaTime",
        "cortinaXChainStopVertexID", "durangoTime", "etnaTime", "fortunaTime", "graniteTime",
        "graniteEpochDuration", "heliconTime",
    }  # fmt: skip


def test_result_of_info_upgrades_can_be_parsed() -> None:
    assert parse_upgrades(OWN_NETWORK.as_json()) == OWN_NETWORK
    assert parse_upgrades({}) == UpgradeTimes()
    later = "2030-01-01T00:00:00Z"
    found = parse_upgrades({"heliconTime": later, "graniteEpochDuration": 60_000_000_000})
    assert (found.helicon, found.granite_epoch_duration) == (1_893_456_000, 60)
    assert found.latest == 1_893_456_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"etna": "2030-01-01T00:00:00Z"}, "unknown upgrade 'etna'"),
        ({"etnaTime": "soon"}, "etnaTime: 'soon' is not a valid value"),
        ({"etnaTime": 7}, "etnaTime: 7 is not a valid value"),
        ({"etnaTime": "2030-01-01T00:00:00"}, "'2030-01-01T00:00:00' has no offset from UTC"),
        ({"graniteEpochDuration": 0}, "graniteEpochDuration must be positive"),
        ({"cortinaXChainStopVertexID": "x"}, "cortinaXChainStopVertexID: 'x' is not a valid"),
        (
            {"etnaTime": "2030-01-01T00:00:00Z"},
            "invalid upgrade configuration: upgrade 11 .2030-01-01T00:00:00Z. is after upgrade 12",
        ),
    ],
)
def test_other_descriptions_are_refused(content: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidUpgrades, match=f"^{message}"):
        parse_upgrades(content)


def test_the_file_of_the_setting_is_checked_with_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "upgrades.json"
    path.write_text(json.dumps({"heliconTime": "2030-01-01T00:00:00Z"}))

    assert read(path).helicon == 1_893_456_000
    UPGRADES_FILE.read(str(path))
    path.write_text("[]")
    with pytest.raises(FormError, match=r"^not a JSON object$"):
        UPGRADES_FILE.read(str(path))
    with pytest.raises(InvalidUpgrades, match=r"^not a JSON object$"):
        read(path)
    path.write_text(" " * 70_000)
    with pytest.raises(InvalidUpgrades, match=r"^more than 65536 bytes$"):
        read(path)
