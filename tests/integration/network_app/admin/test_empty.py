"""The network's admin before the network process has run."""

import pytest
from django.test import Client

from tests.builders import network_rows
from tests.builders.platform import NODE_ID
from tests.integration.network_app.admin.paths import ADMIN, MODELS, detail, listing

pytestmark = pytest.mark.sqlite_only


@pytest.mark.parametrize("model", MODELS)
def test_a_list_is_empty(admin_client: Client, model: str) -> None:
    answer = admin_client.get(listing(model))
    assert answer.status_code == 200
    assert answer.context["cl"].result_list == []
    assert "No rows yet." in answer.content.decode()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", ["7", "x", "é", "C", "1" * 500, str(NODE_ID)])
def test_a_search_finds_nothing(admin_client: Client, model: str, text: str) -> None:
    answer = admin_client.get(listing(model), {"q": text})
    assert answer.status_code == 200
    assert answer.context["cl"].result_list == []


def test_a_peer_of_a_node_without_a_chain_has_a_page(admin_client: Client) -> None:
    network_rows.peer(NODE_ID)
    assert "not a validator" in admin_client.get(detail("peer", NODE_ID)).content.decode()


def test_index_page_omits_a_network_that_never_ran(admin_client: Client) -> None:
    assert 'aria-label="Network"' not in admin_client.get(ADMIN).content.decode()


def test_index_page_before_genesis_omits_the_network(
    admin_client: Client,
) -> None:
    network_rows.report()

    text = admin_client.get(ADMIN).content.decode()

    assert 'aria-label="Network"' not in text
    assert "There is no chain yet" in text
