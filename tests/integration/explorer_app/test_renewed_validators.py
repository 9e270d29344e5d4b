"""Pages about auto-renewed validators: the validator, its transactions, supply and stake over time."""

from http import HTTPStatus

import pytest

from explorer_app.selectors import staking
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.txs.base import Tx
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.conftest import PChain, helicon_pchain
from tests.integration.platform_app.made import staker_of
from tests.integration.platform_app.renewed import HOUR, NODE, adding, changing

__all__ = ["helicon_pchain"]


@pytest.fixture
def renewed(helicon_pchain: PChain) -> Tx:
    """A validator in its third period, which restakes a quarter of its rewards."""
    tx = helicon_pchain.do(adding(helicon_pchain, shares=250_000))
    helicon_pchain.wait(2 * HOUR)
    return tx


def text_of(browse: Browse, path: str) -> str:
    page = browse(path)
    assert page.status == HTTPStatus.OK
    return page.text


def test_a_validator_is_shown_with_its_terms_and_its_periods(renewed: Tx, browse: Browse) -> None:
    text = text_of(browse, f"/p/validator/{NODE}")

    assert "then for 1 h, restaking 25 % of the rewards" in text
    assert "restaked so far" in text
    assert text.count("<td>renewed ") == text.count(", restaked ") == 2
    assert browse(f"/p/validator/{NODE}").slow_plans() == []
    row = staker_of(renewed)
    rows = staking.periods(platform_chain(), NODE, delegators=False, count=9)
    assert [period.row.start_time for period in rows] == [
        row.start_time, row.start_time - HOUR, row.start_time - 2 * HOUR,
    ]  # fmt: skip
    for period in rows[1:]:
        assert period.paid is not None
        assert period.paid + period.restaked == period.row.potential_reward
        assert period.restaked == period.row.potential_reward - 3 * period.row.potential_reward // 4
    assert len(staking.periods(platform_chain(), NODE, delegators=False, count=2)) == 2


def test_a_validator_that_leaves_is_shown_with_its_last_reward(
    helicon_pchain: PChain, renewed: Tx, browse: Browse
) -> None:
    helicon_pchain.do(changing(helicon_pchain, renewed, period=0))
    assert "leaves at the end of this period" in text_of(browse, f"/p/validator/{NODE}")
    helicon_pchain.wait(HOUR)
    row = staker_of(renewed)
    accrued = row.auto_renewal.accrued_validation_rewards
    (last, *_) = staking.periods(platform_chain(), NODE, delegators=False, count=1)

    assert (last.outcome, last.paid) == ("rewarded", row.potential_reward + accrued)
    assert "Not validating" in text_of(browse, f"/p/validator/{NODE}")


def test_transactions_have_sentences_and_outputs(
    helicon_pchain: PChain, renewed: Tx, browse: Browse
) -> None:
    kept = helicon_pchain.do(changing(helicon_pchain, renewed, shares=5, period=90 * 60))
    ended = helicon_pchain.do(changing(helicon_pchain, renewed, period=0))

    assert (
        f"{NODE} stakes 2,000 AVAX to validate the Primary Network in periods of 1 h and restakes "
        "25 % of its rewards"
    ) in text_of(browse, f"/p/tx/{renewed.tx_id}")
    assert (
        f"Renews the validator {renewed.tx_id} for periods of 1 h 30 min and restakes 0.0005 % of "
        "its rewards"
    ) in text_of(browse, f"/p/tx/{kept.tx_id}")
    assert f"Ends the renewal of the validator {renewed.tx_id}" in text_of(
        browse, f"/p/tx/{ended.tx_id}"
    )
    (period, *_) = models.RenewedPeriod.objects.all()
    text = text_of(browse, f"/p/tx/{period.reward_tx_id}")
    assert f"Ends the staking period of {renewed.tx_id} at " in text
    assert "and decides whether its reward is paid and the next period begins" in text
    (reward,) = models.RewardUTXO.objects.filter(tx_id=period.reward_tx_id)
    assert "reward" in text
    assert f"{reward.amount / 10**9:,.9f}".rstrip("0") in text


def test_stake_and_supply_change_with_each_period(renewed: Tx, browse: Browse) -> None:
    row = staker_of(renewed)
    times = {row.start_time - HOUR, row.start_time}
    points = {point.time: point.value for point in staking.stake_over_time(platform_chain())}
    now = models.Supply.objects.get().amount
    supplies = staking.supply_over_time(platform_chain())

    assert times <= set(points)
    first, second = sorted(times)
    periods = list(row.renewed_periods.order_by("joined_height"))
    assert points[second] - points[first] == row.weight - periods[1].weight > 0
    assert (supplies[-1].time, supplies[-1].value) == (row.start_time, now)
    assert text_of(browse, "/p/supply")
