"""The address at which a user reaches the node, and the base path that a proxy puts before its pages."""

from typing import Any

import pytest

from jsonrpc.limits.client_address import TrustedProxies
from nodeproject.settings.flags import BadSetting, read
from nodeproject.settings.formats import FIRST_PARTS, read_base_path
from nodeproject.settings.node import NodeSettings
from nodeproject.web.paths import BasePaths, BelowBasePath, reachable
from primitives.settings import FormError


@pytest.mark.parametrize(
    ("listens_on", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("192.168.7.7", "192.168.7.7"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("*", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("node.example", "node.example"),
        ("fd00::7", "[fd00::7]"),
    ],
)
def test_a_server_on_all_addresses_is_reachable_locally(listens_on: str, shown: str) -> None:
    assert reachable(listens_on) == shown


PROXY, STRANGER = "10.0.0.7", "192.0.2.1"


def scope(peer: str | None = PROXY, path: str = "/tx/0x1", *prefixes: bytes) -> dict[str, Any]:
    headers = [(b"x-forwarded-prefix", prefix) for prefix in prefixes]
    client = None if peer is None else (peer, 1234)
    return {"type": "http", "client": client, "headers": headers, "path": path, "raw_path": b"?"}


@pytest.fixture
def paths() -> BasePaths:
    return BasePaths("", TrustedProxies.of("10.0.0.0/8"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/node", "/node"),
        ("/node/", "/node"),
        ("/chains/local-1/v2.0_~x", "/chains/local-1/v2.0_~x"),
        ("/p", "/p"),
        ("/", ""),
        ("", ""),
        ("/" + "a" * 127, "/" + "a" * 127),
    ],
)
def test_paths(paths: BasePaths, text: str, path: str) -> None:
    assert read_base_path(text) == path
    assert paths.of(scope(PROXY, "/", text.encode())) == path


@pytest.mark.parametrize(
    "text",
    [
        "node",
        "//evil.example",
        "/node//evil",
        "/node//",
        "/\\evil.example",
        "https://evil.example",
        "/..",
        "/node/../admin",
        "/.hidden",
        "/node/.",
        '/"onload="x',
        "/<script>",
        "/a'b",
        "/a b",
        "/a?b",
        "/a#b",
        "/a%2F",
        "/a;b",
        "/a:b@c",
        "/node, /other",
        "/node\n",
        "/node\r\nset-cookie: x",
        "/n\u00f6de",
        "/" + "a" * 128,
    ],
)
def test_malformed_base_path_is_refused(paths: BasePaths, text: str) -> None:
    with pytest.raises(FormError):
        read_base_path(text)

    assert paths.of(scope(PROXY, "/", text.encode())) == ""
    with pytest.raises(BadSetting, match=r"^NODE_BASE_PATH is .* it must be a path like /node"):
        read(NodeSettings, {"NODE_BASE_PATH": f"{text}x"})


def test_only_a_trusted_proxy_names_the_path(paths: BasePaths) -> None:
    assert paths.of(scope(PROXY, "/", b"/node")) == "/node"
    assert paths.of(scope(STRANGER, "/", b"/node")) == ""
    assert paths.of(scope(None, "/", b"/node")) == ""
    assert paths.of(scope(PROXY, "/", b"/node", b"/other")) == ""


def test_a_proxy_on_this_machine_names_the_path() -> None:
    paths = BasePaths("", TrustedProxies())

    assert paths.of(scope("127.0.0.1", "/", b"/node")) == "/node"
    assert paths.of(scope("::1", "/", b"/node")) == "/node"
    assert paths.of(scope("127.0.0.1", "/", b"//evil.example")) == ""
    assert paths.of(scope(STRANGER, "/", b"/node")) == ""


def test_the_setting_wins_over_the_header() -> None:
    paths = BasePaths("/fixed/", TrustedProxies.of("10.0.0.0/8"))

    assert paths.of(scope(PROXY, "/", b"/node")) == "/fixed"
    assert paths.of(scope(STRANGER)) == "/fixed"


@pytest.mark.parametrize(
    ("path", "stripped"),
    [
        ("/fixed/tx/0x1", "/tx/0x1"),
        ("/fixed/", "/"),
        ("/fixed", "/"),
        ("/fixedly", "/fixedly"),
        ("/tx/fixed", "/tx/fixed"),
        ("/fixed/fixed", "/fixed"),
        ("/fixed//evil.example", "//evil.example"),
    ],
)
def test_a_proxy_may_leave_the_settings_path_where_it_is(path: str, stripped: str) -> None:
    found = BasePaths("/fixed", TrustedProxies()).stripped(scope(STRANGER, path))

    assert (found["path"], found["raw_path"]) == (
        stripped,
        b"?" if path == stripped else stripped.encode(),
    )


def test_a_headers_path_is_not_removed_from_the_nodes_own(paths: BasePaths) -> None:
    asked = scope(PROXY, "/p/txs", b"/p")

    assert paths.stripped(asked) is asked


async def test_django_receives_the_path_without_the_base_path(paths: BasePaths) -> None:
    given: list[Any] = []

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        given.append((scope["root_path"], scope["path"]))

    below = BelowBasePath(application, paths)
    await below(scope(PROXY, "/p/txs", b"/p"), None, None)
    await below({**scope(STRANGER, "/p/txs"), "root_path": "/of-a-header"}, None, None)

    assert given == [("/p", "/p/p/txs"), ("", "/p/txs")]


@pytest.mark.parametrize("part", sorted(FIRST_PARTS))
def test_base_path_equal_to_a_node_path_is_refused(part: str) -> None:
    for text in (f"/{part}", f"/{part}/", f"/{part}/below"):
        with pytest.raises(BadSetting, match="the node has pages of its own there"):
            read(NodeSettings, {"NODE_BASE_PATH": text})
    assert read(NodeSettings, {"NODE_BASE_PATH": f"/y/{part}"}).base_path == f"/y/{part}"
