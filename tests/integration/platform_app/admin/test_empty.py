"""The P-Chain's admin before a chain exists."""

import pytest
from django.test import Client

from tests.integration.platform_app.admin.paths import ADMIN, MODELS, export, listing

pytestmark = pytest.mark.sqlite_only


def test_first_page_without_chain_explains_it(admin_client: Client) -> None:
    assert "There is no chain yet" in admin_client.get(ADMIN).content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_a_list_is_empty(admin_client: Client, model: str) -> None:
    answer = admin_client.get(listing(model))
    assert answer.status_code == 200
    assert answer.context["cl"].result_list == []
    assert "No rows yet." in answer.content.decode()


@pytest.mark.parametrize("model", ["utxo", "sharedoutput", "subnet", "validator"])
def test_a_search_finds_nothing(admin_client: Client, model: str) -> None:
    answer = admin_client.get(
        listing(model), {"q": "P-local1q2gxhgdalzlt57yvutvjpva8ly0zm9rt2w9zuh"}
    )
    assert answer.status_code == 200
    assert answer.context["cl"].result_list == []


def test_export_without_rows_is_available(admin_client: Client) -> None:
    assert admin_client.get(export("validator")).status_code == 200
