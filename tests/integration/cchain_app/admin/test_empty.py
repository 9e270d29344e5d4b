"""The admin before a chain exists."""

import pytest
from django.test import Client

from tests.integration.cchain_app.admin.paths import ADMIN, MODELS, listing

pytestmark = pytest.mark.sqlite_only


def test_first_page_without_chain_explains_it(admin_client: Client) -> None:
    answer = admin_client.get(ADMIN)
    assert answer.status_code == 200
    assert "There is no chain yet" in answer.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_a_list_is_empty(admin_client: Client, model: str) -> None:
    answer = admin_client.get(listing(model))
    assert answer.status_code == 200
    assert answer.context["cl"].result_list == []
    assert "No rows yet." in answer.content.decode()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("forkedaccount", "This chain is not a fork"),
        ("forkedslot", "This chain is not a fork"),
        ("forkedhash", "This chain is not a fork"),
        ("developmentsettings", "No overrides"),
        ("impersonation", "No account is impersonated"),
        ("impersonatedsignature", "ecrecover returns the real signers"),
        ("createdaccount", "No accounts were created"),
    ],
)
def test_empty_development_list_is_explained(admin_client: Client, model: str, words: str) -> None:
    assert words in admin_client.get(listing(model)).content.decode()
