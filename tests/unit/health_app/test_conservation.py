"""The rule of conservation, and its result as a health check."""

import pytest

from health_app.conservation import COIN, CoinCount, coins_text
from health_app.supply import SupplyWatch, finding_of


@pytest.mark.parametrize(
    ("there", "may_destroy", "fault", "note"),
    [
        (10 * COIN, False, "", ""),
        (11 * COIN, False, "1 coin more than came into being", ""),
        (11 * COIN, True, "1 coin more than came into being", ""),
        (10 * COIN - 1, False, "0.000000000000000001 coins less than came into being", ""),
        (8 * COIN, True, "", "2 coins destroyed by contracts of the C-Chain (SELFDESTRUCT)"),
    ],
)
def test_existing_coins_must_equal_created_coins(
    there: int, *, may_destroy: bool, fault: str, note: str
) -> None:
    counted = CoinCount({"a": 7 * COIN, "b": 3 * COIN}, {"c": 0, "d": there}, may_destroy)
    assert counted.verdict() == (fault, note)
    finding = finding_of(counted)
    assert finding.error == (f"coins are not conserved reason: there are {fault}" if fault else "")
    assert isinstance(finding.message, dict)
    assert finding.message["differenceInWei"] == str(there - 10 * COIN)
    assert finding.message.get("note", "") == note


def test_amounts_are_exact() -> None:
    assert coins_text(1_234 * COIN + COIN // 2) == "1,234.5 coins"
    assert coins_text(-COIN) == "-1 coin"
    assert coins_text(0) == "0 coins"


def test_coins_that_cannot_be_counted_are_no_fault() -> None:
    assert finding_of("it is a fork") == ({"counted": False, "because": "it is a fork"}, "", None)


def test_a_count_runs_beside_the_check_and_once_an_interval() -> None:
    counts = []

    def count() -> CoinCount:
        counts.append(1)
        return CoinCount({}, {"a": 1})

    watch = SupplyWatch(count, 1_000)
    assert watch.measure().message == {"counted": False}
    watch.wait()
    for _ in range(2):
        assert "more than came into being" in watch.measure().error
        watch.wait()
    assert len(counts) == 1
    eager = SupplyWatch(count, 0)
    for _ in range(2):
        eager.measure()
        eager.wait()
    assert len(counts) == 3


def test_failed_count_is_reported() -> None:
    def count() -> CoinCount:
        raise KeyError

    watch = SupplyWatch(count, 1_000)
    watch.measure()
    watch.wait()
    assert watch.measure().error == "coins cannot be counted reason: KeyError"
