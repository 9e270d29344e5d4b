"""Pages of L1s and their validators, and the sentences about their transactions."""

import re
from http import HTTPStatus

import pytest

from platform_app import models
from primitives.ids import ID
from tests.builders import platform
from tests.integration.admin_pages import Browse
from tests.integration.conftest import Chain
from tests.integration.explorer_app.conftest import browse, chain, node_settings, pchain
from tests.integration.explorer_app.l1_chain import GONE, MANAGER, POOR, L1Chain, make_l1
from tests.integration.platform_app.conftest import PChain

__all__ = ["browse", "chain", "node_settings", "pchain"]

MAX_STATEMENTS = 16


@pytest.fixture
def l1(pchain: PChain, chain: Chain, monkeypatch: pytest.MonkeyPatch) -> L1Chain:
    return make_l1(pchain, monkeypatch)


def words_of(text: str) -> str:
    """Return a page's text without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def test_an_l1_is_shown_with_its_manager_and_its_validators(
    pchain: PChain, l1: L1Chain, browse: Browse
) -> None:
    listed = browse("/p/subnets")
    assert re.search(rf"{l1.subnet} L1 2 0 its validator manager", words_of(listed.text))
    assert listed.slow_plans() == []

    page = browse(f"/p/subnet/{l1.subnet}")
    words = words_of(page.text)
    assert f"0x{MANAGER.hex()}" in page.text.lower()
    assert str(models.L1Conversion.objects.get().conversion_id) in words
    assert re.search(r"1,050 98\.1 % active 29\.99999\d in 347 d", words)
    assert re.search(r"20 1\.9 % inactive 0 –", words)
    assert f"justification is 0x{bytes(l1.subnet).hex()}" in words
    assert str(l1.gone) not in page.text
    assert len(page.chain_statements) <= MAX_STATEMENTS
    assert [plan for plan in page.slow_plans() if "platform_app_l1" in plan] == []


def test_an_l1_validator_has_a_page(pchain: PChain, l1: L1Chain, browse: Browse) -> None:
    page = browse(f"/p/l1-validator/{l1.own}")
    words = words_of(page.text)
    for part in (str(pchain.node_id), str(l1.subnet), "Weight 1,050", "Next nonce 1"):
        assert part in words
    assert "Registration message" in words
    assert "Weight message" in words
    assert re.search(r"From block Weight State \d+ 1,050 active \d+ 100 active", words)
    assert page.slow_plans() == []

    assert "until somebody adds to its balance" in browse(f"/p/l1-validator/{l1.poor}").text
    removed = words_of(browse(f"/p/l1-validator/{l1.gone}").text)
    assert "Removed in block" in removed
    assert "message" not in removed


def test_the_validators_of_all_l1s_are_listed_by_the_end_of_their_balance(
    l1: L1Chain, browse: Browse
) -> None:
    page = browse("/p/l1-validators")
    words = words_of(page.text)
    assert "1 active validator pays 0.000001 AVAX a second" in words
    assert str(l1.own) in page.text
    assert str(l1.poor) not in page.text
    assert page.slow_plans() == []
    assert str(l1.own) not in browse("/p/l1-validators", after=1).text


def test_a_node_shows_the_l1s_that_it_validates(l1: L1Chain, browse: Browse) -> None:
    browse("/p/validators")  # the validators are cached from then on
    for node_id, validation in ((POOR, l1.poor), (GONE, l1.gone)):
        page = browse(f"/p/validator/{node_id}")
        assert page.status == HTTPStatus.OK
        assert str(validation) in page.text
        assert page.slow_plans() == []


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("convert", "Converts the subnet {subnet} to an L1 with 1 validator, managed on the blockchain "),
        ("register", f"Registers {POOR} as a validator of the L1 {{subnet}} with weight 20 and a balance of 0.000002 AVAX"),
        ("increase", "Adds 0.000007 AVAX to the balance of the L1 validator {gone}"),
        ("weight", "Sets the weight of the L1 validator {own} to 1,050"),
        ("disable", "Disables the L1 validator {gone} and returns the rest of its balance"),
        ("remove", "Removes the L1 validator {gone} and returns its balance"),
    ],
)  # fmt: skip
def test_transaction_has_a_description(l1: L1Chain, browse: Browse, step: str, words: str) -> None:
    page = browse(f"/p/tx/{l1.txs[step]}")

    assert words.format(**l1._asdict()) in page.text
    assert 'href="/p/l1-validator/' in page.text
    assert page.slow_plans() == []


@pytest.mark.parametrize("name", ["own", "gone"])
def test_a_validation_is_found_by_its_id(l1: L1Chain, browse: Browse, name: str) -> None:
    validation: ID = getattr(l1, name)

    found = browse("/search", q=str(validation)).response

    assert found.status_code == HTTPStatus.FOUND
    assert found["Location"] == f"/p/l1-validator/{validation}"


def test_a_node_that_validates_l1s_only_is_found(l1: L1Chain, browse: Browse) -> None:
    found = browse("/search", q=str(POOR)).response
    assert found["Location"] == f"/p/validator/{POOR}"


@pytest.mark.parametrize("name", [str(platform.some_id("nothing")), "nothing"])
def test_unknown_object_is_not_found(pchain: PChain, browse: Browse, name: str) -> None:
    assert browse(f"/p/l1-validator/{name}").status == HTTPStatus.NOT_FOUND
