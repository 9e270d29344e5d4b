"""Error pages: the reason in the style of the pages for browsers; a line of text for programs."""

import re
from http import HTTPStatus
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from explorer_app.selectors import cchain
from tests.integration.cchain_app.traced_chain import TracedChain
from tests.integration.platform_app.conftest import PChain

FRAME = 'role="search"'
HASH = "0x" + "12" * 32
ADDRESS = "0x" + "aa" * 20
ID = "11111111111111111111111111111111LpoYY"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (f"/tx/{HASH}", "It was never sent to this node, or was dropped or replaced"),
        ("/tx/0x12", "Not a transaction hash"),
        ("/block/9999999", "no block with this height or hash"),
        ("/address/0x1234", "Not an EVM address"),
        (f"/address/{ADDRESS}?tab=nothing", "no such tab"),
        (f"/token/{ADDRESS}", "No token is known at this address"),
        ("/p/tx/abc", "Not a P-Chain transaction ID"),
        (f"/p/tx/{ID}", "knows no P-Chain transaction with this ID"),
        ("/p/block/9999999", "no block with this height or ID"),
        ("/p/address/abc", "Not a P-Chain address"),
        ("/p/validator/abc", "Not a node ID"),
        (f"/p/validator/{ADDRESS}", "No node with this ID has ever been a validator"),
        (f"/p/subnet/{ID}", "no subnet with this ID"),
        ("/no/such/page", "no page at this address"),
        ("/tx", "no page at this address"),
        ("/tx/0x12/more", "no page at this address"),
    ],
)
def test_the_page_shows_the_reason_by_kind(
    made: TracedChain, client: Client, path: str, words: str
) -> None:
    answer = client.get(path)

    text = answer.content.decode()
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert "<h1>Not found</h1>" in text
    assert words in text
    assert FRAME in text
    assert "script-src 'self'" in answer["Content-Security-Policy"]


@pytest.mark.node_settings(chains=("P",))
def test_absent_c_chain_is_reported(pchain: PChain, client: Client) -> None:
    assert "does not run the C-Chain" in client.get("/blocks").content.decode()


@pytest.mark.parametrize(
    "path", ["/ext/nothing", "/static/nothing.js", "/api/x", "/v2/x", "/server/x"]
)
def test_paths_of_programs_and_files_have_no_frame(
    made: TracedChain, client: Client, path: str
) -> None:
    answer = client.get(path)

    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert answer.content.decode().rstrip("\n") == "404 page not found"
    assert answer["Content-Type"].startswith("text/plain")


def test_the_admin_has_a_page_in_the_same_style(made: TracedChain, admin_client: Client) -> None:
    answer = admin_client.get("/admin/no/such/page/")

    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert_styled(answer, "Not found")


def assert_styled(answer: Any, heading: str) -> None:
    text = answer.content.decode()
    assert f"<h1>{heading}</h1>" in text
    for name in ("theme.css", "explorer.css", "theme.js", "icon.svg"):
        assert f"/static/explorer/{name}" in text
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style| style=", text) == []
    assert 'href="/admin/"' in text


def test_a_user_without_a_permission_gets_a_page(
    made: TracedChain, client: Client, django_user_model: Any
) -> None:
    client.force_login(django_user_model.objects.create_user("reader", is_staff=True))
    answer = client.get("/admin/auth/user/")

    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert_styled(answer, "Not allowed")


def test_form_without_csrf_token_gets_an_error_page(made: TracedChain) -> None:
    answer = Client(headers={"host": "localhost"}, enforce_csrf_checks=True).post("/admin/login/")

    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert_styled(answer, "Form not accepted")


def test_a_fault_gets_a_page(
    made: TracedChain, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.raise_request_exception = False
    monkeypatch.setattr(cchain, "blocks", Mock(side_effect=RuntimeError("a fault")))
    answer = client.get("/blocks")

    assert answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    assert_styled(answer, "The page cannot be shown")
    assert "a fault" not in answer.content.decode()


def test_unavailable_page_is_styled_for_browsers(
    db: None, node_settings: object, client: Client
) -> None:
    text = client.get("/")
    page = client.get("/", headers={"accept": "text/html,*/*;q=0.8"})

    assert text.status_code == page.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert text["Retry-After"] == page["Retry-After"] == "1"
    assert text.content == b"the chain has no genesis yet\n"
    assert_styled(page, "Not available now")
    assert "The chain has no genesis yet." in page.content.decode()


def test_a_post_to_an_unknown_path_gets_no_page(made: TracedChain, client: Client) -> None:
    answer = client.post("/no/such/page")

    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert FRAME not in answer.content.decode()


def test_unknown_path_takes_no_statement(made: TracedChain, client: Client) -> None:
    with CaptureQueriesContext(connection) as asked:
        client.get("/no/such/page")

    assert len(asked) == 0


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/blocks/", "/blocks"),
        (f"/tx/{HASH}/?tab=calls", f"/tx/{HASH}?tab=calls"),
        ("/p/validators//", "/p/validators"),
        (f"/address/{ADDRESS}/read/", f"/address/{ADDRESS}/read"),
    ],
)
def test_a_slash_at_the_end_leads_to_the_page(
    made: TracedChain, client: Client, path: str, page: str
) -> None:
    answer = client.get(path)

    assert answer.status_code == HTTPStatus.MOVED_PERMANENTLY
    assert answer["Location"] == page


@pytest.mark.parametrize("path", ["//elsewhere.example/blocks/", "//blocks/", "///"])
def test_double_slashes_redirect_to_no_other_host(
    made: TracedChain, client: Client, path: str
) -> None:
    assert client.get("/", PATH_INFO=path).status_code == HTTPStatus.NOT_FOUND
