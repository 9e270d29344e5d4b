"""The explorer's forms for L1s: for users of the admin, on a local network; a creation that failed continues, or is deleted."""

import re
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from explorer_app.apps import explorer
from explorer_app.services.l1_terms import PAYER
from explorer_app.store import l1_requests as rows
from explorer_app.views import l1_forms
from primitives.hexadecimal import checksum_address
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.integration.explorer_app.l1_chain import make_l1
from tests.integration.nodeproject.test_l1_command import give_chain
from tests.integration.platform_app.conftest import PChain

pytestmark = [pytest.mark.node_settings(http_port=1)]

NEW = "/chains/new"
FORM = {
    "name": "Mine",
    "chain_id": "9009",
    "manager": "poa",
    "owner": checksum_address(PAYER),
    "weight": "100",
    "balance": "1",
    "validator": "",
    "genesis": "",
}


@pytest.fixture
def admin(pchain: PChain, client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A browser of a staff user with the permission; creations run in the thread of the request."""
    person = User.objects.create_user("operator", password="x", is_staff=True)
    needed = Permission.objects.get(
        codename="change_keystoreuser", content_type__app_label="platform_app"
    )
    person.user_permissions.add(needed)
    client.force_login(person)
    monkeypatch.setattr(explorer().creating, "start", explorer().creating.run)
    return client


def text_of(answer: Any, status: int = HTTPStatus.OK) -> str:
    assert answer.status_code == status, answer.content[:500]
    content: bytes = answer.content
    return content.decode()


def row(name: str = "Mine") -> rows.L1RequestRow | None:
    return rows.row_of(explorer().platform.db, name)


@pytest.mark.parametrize("path", [NEW, "/chains/l1/Mine"])
def test_strangers_are_sent_to_the_login(pchain: PChain, client: Client, path: str) -> None:
    for answer in (client.get(path), client.post(path, FORM)):
        assert answer.status_code == HTTPStatus.FOUND
        assert answer["Location"] == f"/admin/login/?next={quote(path)}"
    assert row() is None


def test_staff_without_the_permission_is_refused(pchain: PChain, client: Client) -> None:
    client.force_login(User.objects.create_user("reader", password="x", is_staff=True))

    assert "may not change keystore users" in text_of(client.get(NEW), HTTPStatus.FORBIDDEN)
    assert text_of(client.post(NEW, FORM), HTTPStatus.FORBIDDEN)
    assert row() is None


def test_a_post_needs_the_token_of_the_form(admin: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="operator"))

    assert strict.post(NEW, FORM).status_code == HTTPStatus.FORBIDDEN
    assert row() is None
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text_of(strict.get(NEW)))
    assert token is not None
    answer = strict.post(NEW, FORM | {"csrfmiddlewaretoken": token[1]})
    assert answer["Location"] == "/chains/l1/Mine"


def test_the_form_begins_a_creation_and_its_page_shows_it(admin: Client) -> None:
    shown = text_of(admin.get(NEW))
    assert 'value="9001"' in shown
    assert admin.get(NEW)["Cache-Control"].startswith("max-age=0")

    answer = admin.post(NEW, FORM)

    assert (answer.status_code, answer["Location"]) == (HTTPStatus.FOUND, "/chains/l1/Mine")
    begun = row()
    assert begun is not None
    assert begun.has_failed, "no node answers here"
    page = text_of(admin.get("/chains/l1/Mine"))
    assert "no answer to keystore.createUser" in page
    assert "Continue" in page
    assert "Delete Mine" in page
    assert 'href="/chains/l1/Mine"' in text_of(admin.get(NEW))

    again = admin.post("/chains/l1/Mine", {"action": "continue"})
    assert again["Location"] == "/chains/l1/Mine"
    deleted = admin.post("/chains/l1/Mine", {"action": "delete"})
    assert deleted["Location"] == "/chains"
    assert row() is None
    assert text_of(admin.get("/chains/l1/Mine"), HTTPStatus.NOT_FOUND)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a/b"}, "The name of a chain has letters, digits and spaces, 128 at most."),
        ({"name": ""}, "This field is required."),
        ({"chain_id": ""}, "An EVM chain ID or a genesis file is needed."),
        ({"chain_id": "0"}, "greater than or equal to 1"),
        (
            {"owner": "0x" + "0" * 40},
            "The owner must not be 0x0000000000000000000000000000000000000000",
        ),
        ({"owner": "0x12"}, "An address has 0x and 40 hexadecimal digits."),
        ({"weight": "4"}, "greater than or equal to 5"),
        ({"balance": "x"}, "Enter a number."),
        ({"manager": "all"}, "Select a valid choice."),
        ({"validator": "me"}, "a validator is NodeID-"),
        ({"genesis": "{"}, "The genesis file is not JSON"),
        ({"genesis": "{}"}, "The genesis file has no object `alloc`."),
    ],
)
def test_wrong_values_are_refused_by_the_form(
    admin: Client, changes: dict[str, str], words: str
) -> None:
    page = text_of(admin.post(NEW, FORM | changes), HTTPStatus.BAD_REQUEST)

    assert words in page
    assert row() is None


def test_a_creation_under_way_is_shown_and_left_alone(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = explorer()
    monkeypatch.setattr(site.creating, "start", lambda work: False)
    admin.post(NEW, FORM)
    with site.l1_tools.alone():
        page = text_of(admin.get("/chains/l1/Mine"))
        assert "being created" in page
        assert 'hx-trigger="every 2s"' in page
        assert "Delete Mine" not in page
        refused = admin.post("/chains/l1/Mine", {"action": "delete"})
        assert "another L1 is created or deleted now" in text_of(refused, HTTPStatus.CONFLICT)
    page = text_of(admin.get("/chains/l1/Mine"))
    assert "interrupted" in page
    assert "every 2s" not in page


def test_an_l1_of_other_tools_can_be_deleted(
    admin: Client, pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_l1(pchain, monkeypatch)
    give_chain("Yours", made.subnet)
    page = text_of(admin.get(f"/chains/l1/{made.subnet}"))
    assert "Yours" in page
    assert "Continue" not in page
    monkeypatch.setattr(explorer().l1_tools, "call", lambda *_: {"status": "Created"})

    answer = admin.post(f"/chains/l1/{made.subnet}", {"action": "delete"})

    assert answer["Location"] == "/chains"
    assert "deleted here" in text_of(admin.get(f"/chains/l1/{made.subnet}"))
    chains = text_of(admin.get("/chains"))
    assert "deleted on this node" in chains
    assert f"/chains/l1/{made.subnet}" not in chains
    for other in (platform.some_id("unknown"), PRIMARY_NETWORK_ID):
        for answer in (admin.get(f"/chains/l1/{other}"), admin.post(f"/chains/l1/{other}")):
            assert "no subnet with chains" in text_of(answer, HTTPStatus.NOT_FOUND)


def test_other_networks_have_no_such_pages(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l1_forms, "LOCAL", 5)

    for path in (NEW, "/chains/l1/Mine"):
        assert "Only a local network" in text_of(admin.get(path), HTTPStatus.NOT_FOUND)
