"""Lists and pages of validators and delegators: content and links."""

import pytest
from django.utils.html import escape

from adminkit.formats import format_time
from chaindb import clock
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.store import uptime
from tests.builders import platform_history as past
from tests.builders.platform_history import COIN, DAY, NOW
from tests.integration.admin_pages import Browse
from tests.integration.platform_app.admin.conftest import SIZES
from tests.integration.platform_app.admin.paths import detail, listing
from tests.integration.platform_app.admin.shown import address

pytestmark = pytest.mark.usefixtures("history")

VALIDATOR = past.validator_tx(3)
DELEGATOR = past.delegator_tx(3, SIZES.validators)


def _leads_to(text: str, path: str) -> bool:
    return f'href="{escape(path)}"' in text


def test_current_stakers_are_listed_first_the_latest_in_front(browse: Browse) -> None:
    rows = browse(listing("validator")).rows
    assert {row.phase for row in rows} == {models.Phase.CURRENT}
    assert not any(row.is_delegator for row in rows)
    assert [row.position for row in rows] == sorted((row.position for row in rows), reverse=True)
    assert rows[0].subnet_id == past.subnet_tx(SIZES.members - 1).tx_id


@pytest.mark.parametrize("model", ["validator", "delegator"])
@pytest.mark.parametrize("phase", list(models.Phase))
def test_a_phase_can_be_chosen(browse: Browse, model: str, phase: models.Phase) -> None:
    page = browse(listing(model), show=phase.label)
    assert {(row.phase, row.is_delegator) for row in page.rows} == {(phase, model == "delegator")}
    assert f'<a href="?show={phase.label}" aria-current="true">' in page.text


def test_all_phases_are_one_list_in_order(browse: Browse) -> None:
    rows = browse(listing("delegator"), show="all").rows
    everybody = models.Staker.objects.filter(is_delegator=True).order_by("-position")
    assert [row.pk for row in rows] == [row.pk for row in everybody[:50]]


def test_unknown_filter_redirects_to_the_list(browse: Browse) -> None:
    page = browse(listing("validator"), show="future")
    assert page.response.headers["Location"] == listing("validator")


def test_a_search_looks_in_all_phases_unless_one_is_chosen(browse: Browse) -> None:
    left = past.past_node(0)
    assert [row.node_id for row in browse(listing("validator"), q=str(left)).rows] == [left]
    assert browse(listing("validator"), q=str(left), show="current").rows == []


def test_a_validator_is_listed_with_stake_period_uptime_and_reward(browse: Browse) -> None:
    text = browse(listing("validator"), q=str(past.node(3)), show="current").text
    for shown in (
        "2,291 AVAX",
        "2 delegators",
        "2026-06-01 14:13:20 UTC to 2027-04-27 14:13:20 UTC",
        "width:33%",
        "218 d left of 330 d",
        "not observed",
        "45.82 AVAX",
        ">2 %<",
        "Primary Network",
    ):
        assert shown in text, shown


def test_delegations_of_a_node_are_summed(browse: Browse) -> None:
    text = browse(listing("validator"), q=str(past.node(3)), show="current").text
    assert f"{25 + 3 + 25 + 63:,} AVAX" in text
    assert _leads_to(text, f"{listing('delegator')}?q={past.node(3)}&show=current")


def test_a_validator_that_was_offline_is_below_the_requirement(browse: Browse) -> None:
    uptime.claim(platform_chain().db, NOW - 100 * DAY)
    row = models.Staker.objects.get(pk=VALIDATOR.tx_id)
    # Set the observed uptime to half the time until tracking began, plus a day.
    half = NOW - 100 * DAY - row.start_time
    seen = models.ValidatorUptime.objects.filter(staker_id=VALIDATOR.tx_id)
    seen.update(up_duration=half + DAY, last_updated=NOW)
    text = browse(listing("validator"), q=str(past.node(3)), show="current").text
    share = 100 * (half + DAY) // (NOW - row.start_time)
    assert f'<span class="nd-bar nd-bad"><span style="width:{share}%">' in text


def test_unobserved_validator_has_no_uptime(browse: Browse) -> None:
    uptime.claim(platform_chain().db, NOW - 100 * DAY)
    row = models.Staker.objects.get(pk=VALIDATOR.tx_id)
    counted = NOW - 100 * DAY - row.start_time
    seen = models.ValidatorUptime.objects.filter(staker_id=VALIDATOR.tx_id)
    seen.update(up_duration=counted, last_updated=NOW)
    for page in (
        browse(listing("validator"), q=str(past.node(3)), show="current"),
        browse(detail("validator", VALIDATOR.tx_id)),
    ):
        assert "not observed" in page.text
        assert '<span class="nd-bar nd-bad">' not in page.text


def test_validator_page_before_the_first_peer_explains_uptime(browse: Browse) -> None:
    text = browse(detail("validator", VALIDATOR.tx_id)).text
    assert "no peers yet: all validators count as online" in text


def test_validator_page_shows_connection_and_uptime(
    browse: Browse,
) -> None:
    row = models.Staker.objects.get(pk=VALIDATOR.tx_id)
    half = (row.start_time + NOW) // 2
    uptime.claim(platform_chain().db, half)
    uptime.settle_all(platform_chain().db, NOW, tracking=True)
    away = browse(detail("validator", VALIDATOR.tx_id)).text
    assert ">offline</span>" in away
    assert "not observed" in away

    models.ValidatorUptime.objects.filter(pk=VALIDATOR.tx_id).update(last_updated=row.start_time)
    uptime.connect(platform_chain().db, [row.node_id], half)
    text = browse(detail("validator", VALIDATOR.tx_id)).text

    assert ">connected</span>" in text
    assert format_time(half) in text
    assert "50.00 %" in text
    assert "50.00 %" in browse(listing("validator"), q=str(past.node(3)), show="current").text


def test_a_past_validator_keeps_the_uptime_with_which_it_left(browse: Browse) -> None:
    left = models.Staker.objects.get(pk=past.past_tx(4).tx_id)
    stay = left.end_time - left.start_time
    seen = models.ValidatorUptime.objects.filter(pk=left.pk)
    assert seen.get().up_duration == stay

    assert "not observed" in browse(detail("validator", left.pk)).text

    uptime.claim(platform_chain().db, left.start_time)
    seen.update(up_duration=stay // 4)

    assert "25.00 %" in browse(detail("validator", left.pk)).text


def test_staking_progress_follows_the_nodes_clock(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW + 218 * DAY)
    text = browse(detail("validator", VALIDATOR.tx_id)).text
    assert "330 d, due" in text
    assert "width:100%" in text


def test_pending_staker_shows_its_start_and_no_reward(browse: Browse) -> None:
    text = browse(detail("validator", past.pending_tx(3).tx_id)).text
    assert "30 d, starts in 4 d" in text
    assert "width:0%" in text
    assert "pending" in text


def test_past_staker_shows_its_reward_or_none(browse: Browse) -> None:
    rewarded = browse(detail("validator", past.past_tx(4).tx_id)).text
    assert ">rewarded</span>" in rewarded
    assert "60 AVAX" in rewarded
    unrewarded = browse(detail("delegator", past.past_tx(3).tx_id)).text
    assert ">not rewarded</span>" in unrewarded
    assert "30 d, over" in unrewarded


def test_paid_reward_links_to_its_unspent_utxo(browse: Browse) -> None:
    paid = models.RewardUTXO.objects.get(tx_id=past.past_tx(4).tx_id).utxo_id
    path = detail("validator", past.past_tx(4).tx_id)
    assert _leads_to(browse(path).text, detail("utxo", paid))
    models.UTXO.objects.filter(pk=paid)._raw_delete("default")
    text = browse(path).text
    assert not _leads_to(text, detail("utxo", paid))
    assert "spent" in text


def test_removed_validator_shows_its_elapsed_period(browse: Browse) -> None:
    left = past.past_tx(4).tx_id
    staker = models.Staker.objects.get(pk=left)
    models.Staker.objects.filter(pk=left).update(
        outcome=models.Outcome.REMOVED, left_time=staker.start_time + 6 * DAY
    )
    text = browse(detail("validator", left)).text
    assert "left after 6 d" in text
    assert "width:20%" in text


def test_validator_page_links_to_related_objects(browse: Browse) -> None:
    text = browse(detail("validator", VALIDATOR.tx_id)).text
    for path in (
        detail("tx", VALIDATOR.tx_id),
        f"{listing('validator')}?q={past.node(3)}",
        f"{listing('delegator')}?q={past.node(3)}&show=current",
        f"{listing('utxo')}?q={address(past.person(3))}",
        f"{listing('utxo')}?q={address(past.platform.ADDRESS)}",
        detail("block", models.Staker.objects.get(pk=VALIDATOR.tx_id).added_height),
    ):
        assert _leads_to(text, path), path
    assert "0x97f1d3a7" in text  # its BLS key


def test_delegator_page_links_to_its_validator(browse: Browse) -> None:
    text = browse(detail("delegator", DELEGATOR.tx_id)).text
    assert _leads_to(text, f"{listing('validator')}?q={past.node(3)}")
    assert "28 AVAX" in text


def test_a_delegation_has_no_page_among_validators(browse: Browse) -> None:
    assert browse(detail("validator", DELEGATOR.tx_id)).status == 302
    assert browse(detail("delegator", VALIDATOR.tx_id)).status == 302


def test_permissioned_validator_has_weight_and_no_reward(browse: Browse) -> None:
    member = past.subnet_validator_tx(3, SIZES.subnets).tx_id
    text = browse(detail("validator", member)).text
    assert '20 <span class="nd-muted">weight</span>' in text
    assert _leads_to(text, detail("subnet", past.subnet_tx(3).tx_id))


def test_stakes_of_an_address_are_found_while_they_are_locked(browse: Browse) -> None:
    owner = past.platform.ADDRESS
    assert len(browse(listing("delegator"), q=address(owner)).rows) == 50
    models.StakeOutput.objects.exclude(staker_id=DELEGATOR.tx_id)._raw_delete("default")
    found = browse(listing("delegator"), q=address(owner)).rows
    assert [row.pk for row in found] == [DELEGATOR.tx_id]


def test_large_stakes_are_exact(browse: Browse) -> None:
    models.Staker.objects.filter(pk=VALIDATOR.tx_id).update(weight=2**64 - 1)
    text = browse(detail("validator", VALIDATOR.tx_id)).text
    assert f"{2**64 - 1:,} units" in text
    assert f"{(2**64 - 1) // COIN:,}.551615 AVAX" in text
