"""The admin's page of an auto-renewed validator, and of the transactions about it."""

import pytest

from platform_app import models
from platform_app.admin import auto_renewal
from platform_app.txs.base import Tx
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.paths import detail, listing
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import staker_of
from tests.integration.platform_app.renewed import HOUR, NODE, adding, changing


@pytest.fixture
def renewed(helicon_pchain: PChain) -> Tx:
    """A validator in its third period, which restakes a quarter of its rewards."""
    tx = helicon_pchain.do(adding(helicon_pchain, shares=250_000))
    helicon_pchain.wait(2 * HOUR)
    return tx


def test_a_validator_has_its_terms_and_periods(renewed: Tx, browse: Browse) -> None:
    page = browse(detail("validator", renewed.tx_id))
    row = staker_of(renewed)

    assert "Renewal" in page.text
    for words in ("1 h", "25 %", "Renewed periods"):
        assert words in page.text, words
    assert page.text.count("100.00 %") == 2  # the uptimes of the finished periods
    assert f"{row.auto_renewal.accrued_validation_rewards:,}" in page.text
    for period in row.renewed_periods.all():
        assert f"{period.weight:,}" in page.text
        (reward,) = models.RewardUTXO.objects.filter(tx_id=period.reward_tx_id)
        assert str(reward.pk) in page.text


def test_a_page_says_that_it_leaves_out_earlier_periods(
    helicon_pchain: PChain, renewed: Tx, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "Earlier periods are left out"
    whole = browse(detail("validator", renewed.tx_id)).text
    assert "Paid rewards (latest 50 periods)" in whole
    assert "Renewed periods (latest 50)" in whole
    assert note not in whole
    helicon_pchain.do(changing(helicon_pchain, renewed, shares=0, period=0))
    helicon_pchain.wait(HOUR)
    last = staker_of(renewed).auto_renewal.reward_tx_id
    periods = staker_of(renewed).renewed_periods.order_by("-joined_height")
    ends = [last, *(period.reward_tx_id for period in periods)]

    monkeypatch.setattr(auto_renewal, "MAX_PERIODS", 2)
    text = browse(detail("validator", renewed.tx_id)).text
    # Three periods paid rewards, and two of them were followed by another one.
    assert text.count(note) == 1
    paid = [str(models.RewardUTXO.objects.filter(tx_id=end)[0].pk) in text for end in ends]
    assert paid == [True, True, False]

    monkeypatch.setattr(auto_renewal, "MAX_PERIODS", 1)
    text = browse(detail("validator", renewed.tx_id)).text
    assert text.count(note) == 2
    paid = [str(models.RewardUTXO.objects.filter(tx_id=end)[0].pk) in text for end in ends]
    assert paid == [True, False, False]


def test_a_validator_that_leaves_has_no_next_period(
    helicon_pchain: PChain, renewed: Tx, browse: Browse
) -> None:
    helicon_pchain.do(changing(helicon_pchain, renewed, period=0))
    page = browse(detail("validator", renewed.tx_id))
    assert "none: it leaves at the end of this period" in page.text
    helicon_pchain.wait(HOUR)
    row = staker_of(renewed)
    paid = row.potential_reward + row.auto_renewal.accrued_validation_rewards
    listed = browse(listing("validator"), q=str(NODE), show="past").text
    assert f'title="{paid:,} ' in listed


def test_other_validators_have_no_renewal(helicon_pchain: PChain, browse: Browse) -> None:
    founder = models.Staker.objects.order_by("position").first()
    assert founder is not None
    page = browse(detail("validator", founder.pk))
    assert "Renewed periods" not in page.text


def test_transactions_lead_to_the_validator(
    helicon_pchain: PChain, renewed: Tx, browse: Browse
) -> None:
    change = helicon_pchain.do(changing(helicon_pchain, renewed))
    end = models.RenewedPeriod.objects.all()[0].reward_tx_id
    page = detail("validator", renewed.tx_id)
    for tx_id, words in (
        (renewed.tx_id, "Validator"),
        (change.tx_id, "changes the renewal of"),
        (end, "decides the reward of"),
    ):
        row = models.Tx.objects.get(tx_id=tx_id)
        text = browse(detail("tx", row.pk)).text
        assert words in text
        assert f'href="{page}"' in text
    row = models.Tx.objects.get(tx_id=end)
    (reward,) = models.RewardUTXO.objects.filter(tx_id=end)
    text = browse(detail("tx", row.pk)).text
    assert f"{reward.amount:,}" in text
    shown = browse(listing("tx"), show="rewards").rows
    assert {one.kind for one in shown} == {models.TxKind.REWARD_AUTO_RENEWED_VALIDATOR}
