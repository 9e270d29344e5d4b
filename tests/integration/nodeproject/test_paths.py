"""Paths of this process: the OpenAPI page, and WebSockets on paths without any."""

import html
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import URLResolver, get_resolver

from nodeproject.settings.formats import FIRST_PARTS
from tests.integration.patience import PatientCommunicator

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def client(db: None, node_settings: Any) -> Client:
    return Client(headers={"host": "localhost"})


def test_page_of_paths_has_the_common_style(client: Client) -> None:
    page = client.get("/ext/docs/paths")

    text = page.content.decode()
    assert page.status_code == 200
    assert "https://" not in text
    assert 'role="search"' in text
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style", text) == []


def test_the_page_of_paths_has_every_path_of_the_document(client: Client) -> None:
    text = html.unescape(client.get("/ext/docs/paths").content.decode())
    document = json.loads(client.get("/ext/openapi.json").content)

    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            shown = f'{method.upper()}</span> <(?:code|a) class="hex"[^>]*>{re.escape(path)}</'
            assert re.search(shown, text), path
            assert operation["summary"].split("`")[0] in text
    assert """-d '{"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}'""" in text


def test_the_openapi_document_shows_a_call_to_try(client: Client) -> None:
    document = json.loads(client.get("/ext/openapi.json").content)

    operation = document["paths"]["/ext/bc/C/rpc"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    answer = client.post("/ext/bc/C/rpc", example, content_type="application/json")
    assert answer.status_code == 200
    operations = [
        item["operationId"] for path in document["paths"].values() for item in path.values()
    ]
    assert len(operations) == len(set(operations))


def first_parts(resolver: URLResolver, before: str = "") -> set[str]:
    """Return the first part of each path of a URL configuration."""
    found = set()
    for url_pattern in resolver.url_patterns:
        path = before + str(url_pattern.pattern).lstrip("^")
        if "/" in path or not isinstance(url_pattern, URLResolver):
            found.add(re.split(r"[/?(]", path)[0])
        else:
            found |= first_parts(url_pattern, path)
    return found


@pytest.mark.usefixtures("client")
def test_base_path_must_not_start_with_a_path_of_the_node() -> None:
    assert first_parts(get_resolver()) | {"static"} == FIRST_PARTS | {""}


def test_the_openapi_page_and_the_reference_are_below_a_base_path(db: None) -> None:
    client = Client(headers={"host": "localhost"}, SCRIPT_NAME="/node")
    with override_script_prefix("/node/"):
        pages = [client.get(path) for path in ("/ext/docs/paths", "/ext/docs", "/ext/docs")]
        documents = [client.get(path) for path in ("/ext/openapi.json", "/ext/openrpc.json")]

    for page in pages:
        links = re.findall(r'(?:href|src|data-path)="([^"#][^"]*)"', page.content.decode())
        assert len(links) > 2
        assert [link for link in links if not link.startswith(("/node/", "data:"))] == []
        assert b"@base@" not in page.content
    openapi, openrpc = (json.loads(document.content) for document in documents)
    assert {path.split("/")[1] for path in openapi["paths"]} == {"node"}
    assert {path["url"].split("/")[1] for path in openrpc["servers"]} == {"node"}
    assert b"/node/" not in Client(headers={"host": "localhost"}).get("/ext/docs").content


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("path", ["/ext/bc/C/nope", "/ext/bc/C/rpc", "/admin/"])
async def test_websocket_on_a_path_without_one_is_refused(path: str) -> None:
    from nodeproject.asgi import application

    communicator = PatientCommunicator(application, path)

    connected, _ = await communicator.connect()

    assert not connected
