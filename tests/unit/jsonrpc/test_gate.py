"""The gate: hosts, methods, sizes, types, origins, addresses."""

import tracemalloc

import pytest

from jsonrpc.dispatch.dialects import GETH, GORILLA
from jsonrpc.dispatch.gate import (
    Gate,
    GateConfig,
    RequestHead,
    is_possible_host,
    is_possible_origin,
)
from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, client_key
from primitives.bearer import BearerTokens

JSON = {b"content-type": b"application/json"}


def head(method: str = "POST", *, query: bool = False, **headers: str) -> RequestHead:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return RequestHead(method, {**JSON, **named}, query, "127.0.0.1")


@pytest.fixture
def gate() -> Gate:
    return Gate(GateConfig(max_body=1000), GETH)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("localhost:9650", True),
        ("LocalHost:9650", True),
        ("127.0.0.1:9650", True),
        ("10.1.2.3", True),
        ("[::1]:9650", True),
        ("", True),
        ("node.example", False),
        ("localhost.example", False),
        ("evil:localhost", False),
        ("[::1].evil.example", False),
        ("[::1].evil.example:9650", False),
        ("[::1]evil.example", False),
        ("127.0.0.1:9650@evil.example", False),
        ("localhost:9650@evil.example", False),
        ("localhost@evil.example", False),
        ("localhost:evil.example", False),
        ("localhost:9650:1", False),
        ("localhost/evil.example", False),
        ("localhost#evil.example", False),
        ("localhost localhost", False),
        ("localhost,evil.example", False),
        ("evil.example,localhost", False),
        ("[::1", False),
        ("[127.0.0.1]", False),
        ("[localhost]", False),
        ("[::1%25eth0]", False),
        ("::1", False),
        ("127.0.0.1.", False),
        ("0x7f.1", False),
        (":9650", False),
        ("[::ffff:127.0.0.1]:9650", True),
    ],
)
def test_a_name_must_be_allowed_and_an_address_always_is(gate, host, allowed) -> None:
    assert gate.host_allowed(host.encode()) is allowed
    reply = gate.screen(head(host=host))
    assert (reply is None) is allowed
    if reply is not None:
        assert (reply.status, reply.body) == (403, b"invalid host specified\n")


def test_a_star_allows_every_host() -> None:
    gate = Gate(GateConfig(allowed_hosts=("*",)), GETH)
    assert gate.host_allowed(b"node.example:9650")
    assert gate.host_allowed(b"my_node")
    for none in (b"[::1].evil.example", b"a@b", b"a b", b"a/b", b"\xff"):
        assert not gate.host_allowed(none)


@pytest.mark.parametrize(
    ("origin", "pattern", "allowed"),
    [
        ("https://a.example", "https://*.example", True),
        ("HTTPS://A.example", "https://a.EXAMPLE", True),
        ("http://[::1]:3000", "http://[::1]:3000", True),
        ("http://localhost:3000", "http://localhost:*", True),
        ("http://:", "http://[::1]", False),
        ("https://evil.test/.example", "https://*.example", False),
        ("https://evil.test#.example", "https://*.example", False),
        ("https://a@b.example", "https://*.example", False),
        ("https://aXexample", "https://a?example", False),
        ("null", "https://*", False),
        ("null", "*", True),
    ],
)
def test_in_a_pattern_of_origins_only_the_star_is_special(origin, pattern, allowed) -> None:
    gate = Gate(GateConfig(websocket_origins=(pattern,), cors_origins=(pattern,)), GETH)
    assert gate.websocket_origin_allowed(origin.encode()) is allowed
    assert ("access-control-allow-origin" in cors(gate, origin)) is allowed


@pytest.mark.parametrize(
    "text", ["[::1].evil", "[::1]evil", "10.0.0.7:80@evil", "10.0.0.7:x", "[10.0.0.7]"]
)
def test_address_outside_the_proxy_ranges_is_not_trusted(text: str) -> None:
    proxies = TrustedProxies.of("10.0.0.0/8", "::1")
    forwarded = f"192.0.2.7, {text}".encode()
    assert client_key("10.0.0.1", forwarded, proxies) != "192.0.2.7"
    assert client_key("10.0.0.1", b"192.0.2.7, [::1]:80, 10.0.0.7:80", proxies) == "192.0.2.7"


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", None),
        ("application/json; charset=utf-8", None),
        ("Application/JSON;charset=UTF-8", None),
        ("application/json-rpc", None),
        ("application/jsonrequest", None),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
        ("application/jsonp", 415),
    ],
)
def test_content_types(gate: Gate, content_type: str, status: int | None) -> None:
    reply = gate.screen(head(content_type=content_type))
    assert (reply and reply.status) == status


@pytest.mark.parametrize(
    ("length", "status"), [("1000", None), ("1001", 413), ("x", 413), ("9" * 5000, 413)]
)
def test_a_declared_length_over_the_limit_is_refused(gate, length: str, status) -> None:
    reply = gate.screen(head(content_length=length))
    assert (reply and reply.status) == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_are_not_allowed(gate: Gate, method: str) -> None:
    reply = gate.screen(head(method))
    assert reply is not None
    assert (reply.status, reply.body) == (405, b"method not allowed\n")
    assert (b"allow", b"POST, GET, OPTIONS") in reply.headers


def test_a_get_without_query_and_body_is_a_probe(gate: Gate) -> None:
    for method in ("GET", "HEAD"):
        reply = gate.screen(head(method))
        assert reply is not None
        assert (reply.status, reply.body) == (200, b"")
    for other in (head("GET", query=True), head("GET", content_length="5")):
        reply = gate.screen(other)
        assert reply is not None
        assert reply.status == 405


def test_gorilla_dialect_has_its_own_messages() -> None:
    gate = Gate(GateConfig(), GORILLA)
    reply = gate.screen(head("GET"))
    assert reply is not None
    assert (reply.status, reply.body) == (405, b"rpc: POST method required, received GET\n")
    for given, shown in (("text/plain; charset=utf-8", b"text/plain"), ("", b"")):
        reply = gate.screen(head(content_type=given))
        assert reply is not None
        assert (reply.status, reply.body) == (415, b"rpc: unrecognized Content-Type: %b\n" % shown)
    assert gate.screen(head(content_type="application/json-rpc")) is not None
    assert gate.screen(head(content_type="Application/JSON;charset=UTF-8")) is None
    assert gate.accept(head(), b"").headers == (
        (b"content-type", b"application/json; charset=utf-8"),
        (b"x-content-type-options", b"nosniff"),
    )


def cors(gate: Gate, origin: str, method: str = "OPTIONS") -> dict[str, str]:
    reply = gate.screen(head(method, origin=origin, access_control_request_headers="x-a,b"))
    headers = reply.headers if reply else gate.accept(head(origin=origin), b"").headers
    return {
        name.decode(): value.decode()
        for name, value in headers
        if name.startswith(b"access-control") or name == b"vary"
    }


def test_any_origin_may_ask_by_default(gate: Gate) -> None:
    allowed = {
        "access-control-allow-origin": "*",
        "access-control-allow-credentials": "true",
    }
    assert cors(gate, "https://dapp.example", "POST") == allowed
    assert cors(gate, "https://dapp.example") == allowed | {
        "access-control-allow-methods": "POST, GET, OPTIONS",
        "access-control-allow-headers": "x-a,b",
        "access-control-max-age": "600",
    }
    assert gate.screen(head("OPTIONS")) == (204, (), b"")


def test_cors_headers_name_listed_origins_only() -> None:
    config = GateConfig(
        cors_origins=("https://a.example", "https://*.b.example"), cors_credentials=False
    )
    gate = Gate(config, GETH)
    for origin in ("https://a.example", "https://x.b.example"):
        allowed = {"access-control-allow-origin": origin, "vary": "origin"}
        assert cors(gate, origin, "POST") == allowed
    for origin in ("https://evil.example", "https://b.example", "https://a.example.evil"):
        assert cors(gate, origin) == cors(gate, origin, "POST") == {"vary": "origin"}


def test_a_refusal_can_be_read_by_the_page_that_caused_it(gate: Gate) -> None:
    reply = gate.screen(head(content_type="text/plain", origin="https://dapp.example"))
    assert reply is not None
    assert (b"access-control-allow-origin", b"*") in reply.headers


def test_node_id_header_is_sent_if_configured() -> None:
    gate = Gate(GateConfig(node_id="NodeID-1"), GETH)
    assert (b"node-id", b"NodeID-1") in gate.accept(head(), b"").headers


def test_websocket_origins() -> None:
    gate = Gate(GateConfig(websocket_origins=("https://a.example",)), GETH)
    assert gate.websocket_origin_allowed(b"")
    assert gate.websocket_origin_allowed(b"https://a.example")
    assert not gate.websocket_origin_allowed(b"https://b.example")
    assert Gate(GateConfig(), GETH).websocket_origin_allowed(b"null")


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "client"),
    [
        ("1.2.3.4", "", NO_PROXIES, "1.2.3.4"),
        ("1.2.3.4", "9.9.9.9", NO_PROXIES, "1.2.3.4"),
        ("10.0.0.1", "9.9.9.9", TrustedProxies.of("10.0.0.0/8"), "9.9.9.9"),
        ("10.0.0.1", "6.6.6.6, 9.9.9.9, 10.0.0.2", TrustedProxies.of("10.0.0.0/8"), "9.9.9.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", TrustedProxies.of("10.0.0.0/8"), "10.0.0.3"),
        ("10.0.0.1", "9.9.9.9:555", TrustedProxies.of("10.0.0.1"), "9.9.9.9"),
        ("1.2.3.4", "9.9.9.9", TrustedProxies.of("10.0.0.0/8"), "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6,9.9.9.9", TrustedProxies.of(hops=1), "9.9.9.9"),
        ("10.0.0.1", "6.6.6.6,9.9.9.9", TrustedProxies.of(hops=2), "6.6.6.6"),
        ("10.0.0.1", "9.9.9.9", TrustedProxies.of(hops=5), "9.9.9.9"),
        ("10.0.0.1", "", TrustedProxies.of(hops=1), "10.0.0.1"),
        ("::ffff:1.2.3.4", "", NO_PROXIES, "1.2.3.4"),
        ("2001:db8:1:2:3:4:5:6", "", NO_PROXIES, "2001:db8:1:2::/64"),
        ("::1", "[2001:db8::7]:80", TrustedProxies.of("::1"), "2001:db8::/64"),
        ("10.0.0.1", "unknown", TrustedProxies.of("10.0.0.0/8"), "unknown"),
        ("", "", NO_PROXIES, ""),
    ],
)
def test_client_key_respects_trusted_proxies(
    peer: str, forwarded: str, proxies, client: str
) -> None:
    assert client_key(peer, forwarded.encode(), proxies) == client


@pytest.mark.parametrize(
    "header",
    ["host", "content_type", "origin", "x_forwarded_for", "x_forwarded_for behind a proxy"],
)
def test_long_headers_are_not_remembered(header: str) -> None:
    proxies = TrustedProxies.of("127.0.0.1") if "proxy" in header else NO_PROXIES
    gate = Gate(GateConfig(allowed_hosts=("*",), cors_credentials=False, proxies=proxies), GETH)
    name = header.partition(" ")[0]
    tracemalloc.start()
    try:
        for number in range(300):
            asked = head(**{name: f"{number:05}" + "a" * 60_000})
            gate.screen(asked)
            gate.accept(asked, b"{}")
            gate.preflight(asked)
            gate.client(asked)
        del asked
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()


def test_overlong_header_value_is_ignored() -> None:
    gate = Gate(GateConfig(allowed_hosts=("*",)), GETH)
    assert gate.host_allowed(b"a" * 256 + b":65535")
    assert not gate.host_allowed(b"a" * 257 + b":65535")
    json = "application/json;"
    assert gate.screen(head(content_type=json.ljust(256))) is None
    refused = gate.screen(head(content_type=json.ljust(257)))
    assert refused is not None
    assert refused.status == 415
    gate = Gate(GateConfig(cors_origins=("https://*",)), GETH)
    assert "access-control-allow-origin" in cors(gate, "https://".ljust(512, "a"))
    assert "access-control-allow-origin" not in cors(gate, "https://".ljust(513, "a"))


def test_only_the_last_of_many_proxies_are_read() -> None:
    proxies = TrustedProxies.of("10.0.0.0/8")
    far = b"9.9.9.9" + b", 10.0.0.2" * 200
    assert client_key("10.0.0.1", far, proxies) == "10.0.0.2"
    assert client_key("10.0.0.1", b"a" * 5000 + b", 9.9.9.9", proxies) == "9.9.9.9"
    assert client_key("10.0.0.1", b"a" * 5000, proxies) == "10.0.0.1"
    cut = b"19.9.9.9" + b", 10.0.0.2".ljust(1017)  # the last part has all but its first digit
    assert client_key("10.0.0.1", cut, proxies) == "10.0.0.2"


@pytest.mark.parametrize(
    "entry",
    [
        "*",
        "localhost",
        "Node.Example.com",
        "node.example.com.",
        "a_b",
        "10.0.0.1",
        "::1",
        "[::1]",
        "xn--bcher-kva.example",
    ],
)
def test_an_entry_that_a_host_can_match_is_possible_and_matches(entry: str) -> None:
    gate = Gate(GateConfig(allowed_hosts=(entry,)), GETH)
    host = {"*": "any", "::1": "[::1]"}.get(entry, entry)

    assert is_possible_host(entry)
    assert gate.host_allowed(host.encode())
    assert gate.host_allowed(f"{host}:9650".encode())


@pytest.mark.parametrize(
    "entry",
    ["https://a.example", "a.example:9650", "a.example/", "*.a.example", ".a.example", "a..example", "a b", "bücher.example",
     "user@a.example", "a" * 300],
)  # fmt: skip
def test_an_entry_that_no_host_can_match_is_found(entry: str) -> None:
    gate = Gate(GateConfig(allowed_hosts=(entry,)), GETH)

    assert not is_possible_host(entry)
    assert not gate.host_allowed(b"a.example")
    assert not gate.host_allowed(b"a.example:9650")


@pytest.mark.parametrize(
    "entry", ["*", "null", "https://a.example", "HTTPS://A.example:8443", "http://localhost:*", "chrome-extension://*", "https://*.a.example", "http://[::1]:3000"]
)  # fmt: skip
def test_an_entry_that_an_origin_can_match_is_possible_and_matches(entry: str) -> None:
    gate = Gate(GateConfig(websocket_origins=(entry,)), GETH)

    assert is_possible_origin(entry)
    assert gate.websocket_origin_allowed(entry.replace("*", "3").encode())


@pytest.mark.parametrize(
    "entry",
    ["a.example", "*.a.example", "https://a.example/", "https://a.example/app", "https://a.example:443", "http://a.example:80", "://a", "https://bücher.example"],
)  # fmt: skip
def test_an_entry_that_no_origin_can_match_is_found(entry: str) -> None:
    assert not is_possible_origin(entry)


TOKEN = "token-of-these-tests"


@pytest.mark.parametrize(
    "refused",
    [
        head(),
        head(authorization="Bearer another-token-of-some-length"),
        head("GET"),
        head("HEAD"),
        head("PUT"),
        # before everything that is in the body, or about it
        head(content_type="text/plain"),
        head(content_length="9" * 5000),
    ],
)
def test_a_request_without_the_token_is_refused_first(refused: RequestHead) -> None:
    gate = Gate(GateConfig(tokens=BearerTokens((TOKEN,))), GETH)

    reply = gate.screen(refused)

    assert reply is not None
    assert (reply.status, reply.body) == (
        401,
        b"a token is needed: Authorization: Bearer TOKEN\n",
    )
    wrong = b', error="invalid_token"' if b"authorization" in refused.headers else b""
    assert (b"www-authenticate", b'Bearer realm="node"' + wrong) in reply.headers


def test_with_the_token_a_request_is_like_any_other() -> None:
    gate = Gate(GateConfig(tokens=BearerTokens((TOKEN,)), max_body=1000), GETH)
    authorization = f"Bearer {TOKEN}"

    assert gate.screen(head(authorization=authorization)) is None
    wrong_type = gate.screen(head(authorization=authorization, content_type="text/plain"))
    assert wrong_type is not None
    assert wrong_type.status == 415
    wrong_host = gate.screen(head(authorization=authorization, host="evil.example"))
    assert wrong_host is not None
    assert wrong_host.status == 403


def test_preflight_needs_no_token() -> None:
    gate = Gate(GateConfig(tokens=BearerTokens((TOKEN,))), GETH)
    asked = head(
        "OPTIONS",
        origin="https://dapp.example",
        access_control_request_headers="authorization,content-type",
    )

    reply = gate.screen(asked)

    assert reply is not None
    assert reply.status == 204
    assert (b"access-control-allow-headers", b"authorization,content-type") in reply.headers
