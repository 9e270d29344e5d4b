"""The reference of the RPC methods at its paths: the page, its assets, and the OpenRPC documents."""

import gzip
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from nodeproject.apps import this_node
from nodeproject.node import Node
from tests.unit.jsonrpc.test_endpoints import ask, elsewhere

pytestmark = pytest.mark.sqlite_only

PATHS = ("/ext/docs", "/ext/openrpc.json")


@pytest.fixture
def client(db: None, node_settings: Any) -> Client:
    return Client(headers={"host": "localhost"})


class Page(HTMLParser):
    """The names and the assets that a page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [one for name in ("href", "src") if (one := given.get(name))]
        self.styles += [name for name in given if name == "style" or name.startswith("on")]


@pytest.fixture
def page(client: Client) -> Page:
    return Page(client.get("/ext/docs").content.decode())


def test_every_method_has_an_anchor(page: Page) -> None:
    names = [
        method.name
        for endpoint in this_node().endpoints.all()
        for method in endpoint.dispatcher.registry
    ]

    assert set(names) - {"rpc.discover"} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_links_lead_somewhere_in_the_page_or_the_node(client: Client, page: Page) -> None:
    inner = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    others = {item for item in page.links if item[0] != "#" and not item.startswith("data:")}

    assert inner <= set(page.ids)
    assert others == {
        "/", "/ext/openrpc.json", "/ext/docs/paths", "/static/nodeproject/reference.css",
        "/static/nodeproject/reference.js", "/static/explorer/theme.css", "/static/explorer/theme.js",
    }  # fmt: skip
    for other in others - {"/"}:
        answer = client.get(other)
        assert answer.status_code == 200, other
        answer.close()


def test_policy_allows_own_scripts_only(client: Client, page: Page) -> None:
    text = client.get("/ext/docs").content.decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)

    assert client.get("/ext/docs").headers["x-frame-options"] == "DENY"
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    assert page.styles == []
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style", text) == []
    assert "https://" not in text


def test_examples_are_escaped(client: Client) -> None:
    text = client.get("/ext/docs").content.decode()

    assert "&quot;method&quot;:&quot;eth_getBalance&quot;" in text
    assert '"method":' not in text


def test_the_document_names_every_method_of_the_node(client: Client) -> None:
    document = client.get("/ext/openrpc.json")
    names = {method["name"] for method in json.loads(document.content)["methods"]}

    assert document.headers["content-type"] == "application/json"
    assert names == {
        method.name
        for endpoint in this_node().endpoints.all()
        for method in endpoint.dispatcher.registry
        if method.name != "rpc.discover"
    }


@pytest.mark.parametrize("path", PATHS)
def test_page_is_compressed_if_accepted(client: Client, path: str) -> None:
    plain = client.get(path)
    compressed = client.get(path, headers={"accept-encoding": "br, gzip"})

    assert "content-encoding" not in plain.headers
    assert compressed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(compressed.content) == plain.content
    assert len(compressed.content) * 5 < len(plain.content)


@pytest.fixture
def app(client: Client) -> Iterator[Any]:
    from nodeproject.web.get_pages import GetPagesMiddleware

    plain = this_node().plain
    yield GetPagesMiddleware(plain.front, elsewhere, plain.workers)
    plain.workers.close()


@pytest.mark.parametrize("path", PATHS)
async def test_both_endpoints_return_the_same_bytes(app: Any, path: str) -> None:
    raw = await ask(app, "GET", path, {"host": "localhost"})
    head = await ask(app, "HEAD", path, {"host": "localhost"})
    posted = await ask(app, "POST", path, {"host": "localhost"})
    stranger = await ask(app, "GET", path, {"host": "evil.example"})

    plain = shown(path)
    assert (raw.status, raw.body) == (plain.status_code, plain.content)
    assert (head.status, head.body, head.headers) == (200, b"", raw.headers)
    assert posted.status == HTTPStatus.METHOD_NOT_ALLOWED
    assert stranger.status == HTTPStatus.FORBIDDEN


def shown(path: str) -> HttpResponse:
    """Return Django's response; safe inside an event loop, since the page is already cached."""
    client = Client(headers={"host": "localhost"})
    answer: HttpResponse = client.get(path)
    return answer


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/ext/bc/C/rpc",
        "/ext/bc/P",
        "/ext/P",
        "/ext/keystore",
        "/ext/bc/X",
        "/ext/info",
        "/ext/health",
    ],
)
def test_each_interface_reports_its_methods(client: Client, path: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}
    answer = client.post(path, body, content_type="application/json")

    document = answer.json()["result"]
    (first, *_) = document["methods"]
    assert document["openrpc"] == "1.3.2"
    asked = client.post(
        document["servers"][0]["url"], body | {"method": first["name"]}, "application/json"
    )
    assert asked.status_code == 200


def test_page_is_rendered_once(node_settings: Any) -> None:
    node = Node(node_settings)

    assert node.plain.front._pages["/ext/docs"].show({}, "").body is (
        node.plain.front._pages["/ext/docs"].show({}, "").body
    )
