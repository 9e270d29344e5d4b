"""Callers: web pages by origin, other machines by address and by the headers of proxies."""

import json

import pytest

from jsonrpc.dispatch.caller import (
    INTERNAL_CALLER,
    UNKNOWN_CALLER,
    Caller,
    caller_of,
    is_named,
    naming,
    shown,
)
from jsonrpc.dispatch.dialects import GETH
from jsonrpc.dispatch.gate import Gate, GateConfig, HttpConnection, RequestHead
from tests.builders.interface import Dispatcher

PAGE = b"https://a.example"


@pytest.mark.parametrize(
    ("peer", "is_remote"),
    [
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("10.0.0.7", True),
        ("::ffff:10.0.0.7", True),
        ("203.0.113.9", True),
        ("", True),
        ("localhost", True),
    ],
)
def test_loopback_alone_is_this_machine(peer: str, *, is_remote: bool) -> None:
    assert caller_of({}, peer) == Caller(b"", is_remote)


@pytest.mark.parametrize(
    "header",
    [
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-real-ip", "via",
    ],
)  # fmt: skip
def test_request_through_a_local_proxy_is_remote(header: str) -> None:
    assert caller_of({header.encode(): b"127.0.0.1"}, "127.0.0.1").is_remote


def test_a_page_is_known_by_any_origin() -> None:
    for origin in (b"null", PAGE, b"x" * 5000):
        assert caller_of({b"origin": origin}, "127.0.0.1").origin == origin


@pytest.mark.parametrize(
    ("origin", "pattern", "named"),
    [
        ("https://a.example", "https://a.example", True),
        ("https://A.example", "https://a.Example", True),
        ("http://localhost:3000", "http://localhost:*", True),
        ("http://[::1]:3000", "http://[::1]:3000", True),
        ("https://app.a.example", "https://*.a.example", True),
        ("chrome-extension://abc", "chrome-extension://abc", True),
        ("https://a.example", "*", False),
        ("null", "*", False),
        ("null", "null", False),
        ("https://a.example", "https://*", False),
        ("https://a.example", "https://*:*", False),
        ("https://a.example", "https://a.*", False),
        ("https://a.example.evil.example", "https://a.example*", False),
        ("https://a.example", "*://*", False),
        ("http://a.example", "https://a.example", False),
        ("https://b.example", "https://a.example", False),
        ("", "https://a.example", False),
    ],
)
def test_an_origin_is_named_by_its_host(origin: str, pattern: str, *, named: bool) -> None:
    assert is_named(origin.encode(), [pattern]) is named
    assert is_named(origin.encode(), ["https://other.example", pattern]) is named


def test_a_long_origin_is_not_named() -> None:
    host = "a" * 600
    assert not is_named(f"https://{host}".encode(), [f"https://{host}"])


def test_patterns_that_name_a_host() -> None:
    patterns = ["*", "http://localhost:*", "null", "https://*"]
    assert naming(patterns) == ["http://localhost:*"]


def test_an_origin_is_shown_in_one_short_line() -> None:
    said = shown(Caller(b"https://a\xe2\x80\xae\n" + b"x" * 1000, is_remote=False))
    assert said.isascii()
    assert "\n" not in said
    assert len(said) < 200


@pytest.mark.parametrize("form", ["%s", "[%s]", '[{"jsonrpc":"2.0","id":2,"method":"number"},%s]'])
def test_a_guard_refuses_calls_and_calls_in_batches(dispatcher: Dispatcher, form: str) -> None:
    body = (form % '{"jsonrpc":"2.0","id":1,"method":"guarded"}').encode()

    def answer(**headers: str) -> str:
        named = {name.encode(): value.encode() for name, value in headers.items()}
        head = RequestHead("POST", named, has_query=False, peer="127.0.0.1")
        connection = HttpConnection(Gate(GateConfig(), GETH), head)
        answered = dispatcher.answer(body, connection) or b"null"
        found = json.loads(answered)
        last = found[-1] if isinstance(found, list) else found
        return str(last.get("result") or last["error"]["message"])

    assert answer() == "0x10"
    assert answer(origin="https://a.example") == "not for https://a.example"
    assert answer(origin="null") == "not for null"


def test_calls_without_a_connection_are_the_processs_own(dispatcher: Dispatcher) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"guarded"}'
    assert b'"0x10"' in (dispatcher.answer(body) or b"")
    assert b"not for null" in (dispatcher.answer(body, object()) or b"")
    assert INTERNAL_CALLER == (b"", False)
    assert UNKNOWN_CALLER == (b"null", True)
