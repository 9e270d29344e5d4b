"""Pages of the P-Chain with a history of many stakers, subnets and transactions, in a bounded number of statements."""

import json
from http import HTTPStatus

import pytest
from django.utils.html import escape

from chaindb import clock
from chaindb.database import Database
from network_app.store import outer
from nodeproject.apps import this_node
from platform_app import models
from platform_app.store import uptime
from tests.builders import platform_history as past
from tests.integration.admin_pages import Browse
from tests.integration.conftest import Chain
from tests.integration.explorer_app.conftest import browse
from tests.integration.network_app.admin.past import wrapping
from tests.integration.platform_app.admin.conftest import (
    SIZES,
    history,
    nothing_remembered,
    written_history,
)
from tests.integration.platform_app.admin.shown import address

__all__ = ["browse", "history", "nothing_remembered", "written_history"]

pytestmark = pytest.mark.usefixtures("history")

MAX_STATEMENTS = 14


@pytest.mark.parametrize(
    "path",
    [
        "/p/blocks",
        "/p/txs",
        "/p/block/1",
        "/p/validators",
        "/p/calendar",
        "/p/supply",
        "/p/subnets",
    ],
)
def test_page_takes_few_statements(browse: Browse, path: str) -> None:
    browse("/p/validators")  # the validators are cached from then on
    page = browse(path)

    assert page.status == HTTPStatus.OK
    assert len(page.chain_statements) <= MAX_STATEMENTS
    assert page.slow_plans() == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (past.validator_tx(3), "to validate the Primary Network until"),
        (past.delegator_tx(3, SIZES.validators), "Delegates"),
        (past.subnet_tx(3), "Creates a subnet that"),
        (past.blockchain_tx(3, SIZES.subnets), "Creates the blockchain “"),
        (past.transfer_tx(3), "Moves"),
        (past.export_tx(3), "Exports"),
    ],
)
def test_transaction_has_a_description(browse: Browse, made, words: str) -> None:
    page = browse(f"/p/tx/{made.tx_id}")

    assert page.status == HTTPStatus.OK
    assert words in page.text
    assert str(made.tx_id) in page.text
    assert len(page.chain_statements) <= MAX_STATEMENTS
    assert page.slow_plans() == []


def test_outputs_show_whether_they_are_spent(browse: Browse) -> None:
    transfer = browse(f"/p/tx/{past.transfer_tx(3).tx_id}").text
    export = browse(f"/p/tx/{past.export_tx(3).tx_id}").text

    assert ">unspent<" in transfer
    assert ">export<" in export
    assert ">exported<" in export


def test_transaction_without_block_shows_its_status(browse: Browse) -> None:
    waiting = browse(f"/p/tx/{past.waiting_tx(3).tx_id}").text
    dropped = browse(f"/p/tx/{past.dropped_id(3)}").text
    reason = models.DroppedTx.objects.get(tx_id=past.dropped_id(3)).reason

    assert "waits" in waiting
    assert "dropped" in dropped
    assert escape(reason) in dropped


def test_validators_are_listed_the_greatest_stake_first(browse: Browse) -> None:
    text = browse("/p/validators").text
    stakes = [
        int(row.weight)
        for row in models.Staker.objects.filter(phase=2, is_delegator=False)
        if str(row.subnet_id) == "11111111111111111111111111111111LpoYY"
    ]

    assert f"{len(stakes):,} validators stake" in text
    assert text.count('href="/p/validator/NodeID-') == len(stakes)


def test_validator_page_shows_staking_periods_and_delegators(browse: Browse) -> None:
    page = browse(f"/p/validator/{past.node(3)}")

    for words in (">Validating<", "Staking periods", "Potential reward", "Own stake", "rank "):
        assert words in page.text
    assert str(past.validator_tx(3).tx_id) in page.text
    assert len(page.chain_statements) <= MAX_STATEMENTS


def test_past_validator_page_shows_its_outcome(browse: Browse) -> None:
    text = browse(f"/p/validator/{past.past_node(5)}").text

    assert "Not validating" in text
    assert ">past<" in text


def test_validator_never_online_has_no_uptime(browse: Browse) -> None:
    db = this_node().platform_chain.db
    assert "not observed yet" in browse(f"/p/validator/{past.node(3)}").text
    now = clock.now()
    since = now - 60

    uptime.claim(db, since)
    uptime.settle_all(db, since, tracking=False)
    uptime.connect(db, [past.node(4)], since)

    assert "not observed yet" in browse(f"/p/validator/{past.node(3)}").text
    assert "not observed yet" not in browse(f"/p/validator/{past.node(4)}").text


def test_the_calendar_begins_with_the_next_end(browse: Browse) -> None:
    first = browse("/p/calendar").text
    soonest = (
        models.Staker.objects.filter(phase=2).order_by("end_time", "priority", "tx_id").first()
    )

    assert soonest is not None
    assert first.index(str(soonest.tx_id)) < first.index("after=50")
    second = browse("/p/calendar", after=50).text
    assert str(soonest.tx_id) not in second


def test_the_supply_chart_ends_at_the_current_supply(browse: Browse) -> None:
    found = json.loads(browse("/p/supply.json").response.content)
    supply = int(models.Supply.objects.order_by("amount").last().amount)
    times, values = found["supply"]

    assert values[-1] == pytest.approx(supply / past.COIN)
    assert times == sorted(set(times))
    assert len(found["stake"][0]) == len(found["stake"][1]) > 10


def test_address_page_shows_portfolio_and_outputs(browse: Browse) -> None:
    page = browse(f"/p/address/{address(past.person(0))}")
    owned = models.UTXOOwner.objects.filter(address=past.person(0)).order_by("utxo_id")

    assert page.status == HTTPStatus.OK
    assert "Spendable now" in page.text
    last = list(owned.values_list("utxo_id", flat=True)[:25])[-1]
    assert f"after={last}" in page.text
    assert page.slow_plans() == []
    older = browse(f"/p/address/{address(past.person(0))}", after=str(last))
    assert "Newest" in older.text


def test_subnet_page_shows_keys_blockchains_and_validators(browse: Browse) -> None:
    text = browse(f"/p/subnet/{past.subnet_tx(3).tx_id}").text

    assert "Controlled by" in text
    assert "Blockchains" in text
    assert "/p/address/P-" in text


@pytest.mark.parametrize("letter", ["P", "C"])
def test_block_page_shows_its_proposer(browse: Browse, chain: Chain, letter: str) -> None:
    made = wrapping(letter, 1)
    chain.mine()
    path = "/p/block/1" if letter == "P" else "/block/1"
    assert "Proposed by" not in browse(path).text
    outer.add(Database(), letter, [made])

    page = browse(path)

    assert f'Proposed by</dt><dd><a class="hex" href="/p/validator/{made.proposer}">' in page.text
    assert browse(f"/p/validator/{made.proposer}").status == HTTPStatus.OK


@pytest.mark.parametrize(
    "path",
    [
        "/p/block/999999", "/p/block/x", f"/p/tx/{past.dropped_id(9_999)}", "/p/tx/0", "/p/address/nobody",
        "/p/validator/NodeID-1", f"/p/validator/{past.node(9_999)}", f"/p/subnet/{past.dropped_id(1)}",
    ],
)  # fmt: skip
def test_unknown_object_is_not_found(client, path: str) -> None:
    assert client.get(path).status_code == HTTPStatus.NOT_FOUND
