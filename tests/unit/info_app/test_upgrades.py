"""The upgrades that info.upgrades returns."""

from datetime import UTC, datetime

from info_app.version import activation_times


def test_all_upgrades_but_the_unscheduled_one_are_active() -> None:
    found = activation_times(30)
    times = {name: text for name, text in found.items() if name.endswith("Time")}
    later = {
        name for name, text in times.items()
        if datetime.fromisoformat(str(text)) > datetime.now(UTC)
    }  # fmt: skip

    assert later == {"heliconTime"}
    assert times["etnaTime"] == "2020-12-05T05:00:00Z"
    assert times["heliconTime"] == "9999-12-01T00:00:00Z"


def test_what_goes_with_them() -> None:
    found = activation_times(30)

    assert found["apricotPhase4MinPChainHeight"] == 0
    assert found["cortinaXChainStopVertexID"] == "11111111111111111111111111111111LpoYY"
    assert found["graniteEpochDuration"] == 30_000_000_000


def test_the_names_are_those_that_clients_read() -> None:
    assert set(activation_times(30)) == {
        "apricotPhase1Time", "apricotPhase2Time", "apricotPhase3Time", "apricotPhase4Time",
        "apricotPhase4MinPChainHeight", "apricotPhase5Time", "apricotPhasePre6Time",
        "apricotPhase6Time", "apricotPhasePost6Time", "banffTime", "cortinaTime",
        "cortinaXChainStopVertexID", "durangoTime", "etnaTime", "fortunaTime", "graniteTime",
        "graniteEpochDuration", "heliconTime",
    }  # fmt: skip
