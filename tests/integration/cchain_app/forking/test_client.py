"""Requests to a remote node: retries, rotation of URLs, refused responses, and keys that stay secret."""

import gzip

import pytest

from cchain_app.forking import questions
from cchain_app.forking.client import AnswerLimits, ClientSettings, Upstream
from cchain_app.forking.errors import (
    BadUpstreamAnswer,
    UpstreamAway,
    UpstreamError,
    UpstreamReason,
    UpstreamRefused,
)
from cchain_app.forking.origin import servers_of
from primitives.evm import Address
from tests.builders.reasons import raises
from tests.servers.upstream import RemoteChain, UpstreamServer, error

pytestmark = pytest.mark.sqlite_only

ADDRESS = Address(b"\x11" * 20)
SECRETS = ("s3cr3tk3y", "sesame")


@pytest.fixture
def server():
    with UpstreamServer(RemoteChain()) as running:
        yield running


class Waits(list):
    """Records waiting times without waiting."""

    def __call__(self, seconds):
        self.append(seconds)


def client(*urls, waits=None, **settings):
    return Upstream(urls, ClientSettings(**settings), sleep=waits if waits is not None else Waits())


def failing(*failures):
    """Raise the failures one after the other, then succeed."""
    left = list(failures)
    return lambda _: left.pop(0) if left else None


@pytest.mark.parametrize(
    "failure",
    [
        (429, {}, b""),
        (503, {}, b"busy"),
        (200, {}, error(-32005, "too many")),
        (200, {}, error(-32000, "header not found")),
    ],
)
def test_a_failure_that_may_pass_is_tried_again(server, failure):
    server.fails = failing(failure, failure)
    waits = Waits()
    assert client(server.url, waits=waits, backoff=0.5).ask("eth_chainId", []) == "0x309"
    assert waits == [0.5, 0.5]
    assert server.counts == {"eth_chainId": 3}


def test_requests_wait_for_their_compute_units(server):
    waits = Waits()
    asking = client(server.url, waits=waits, compute_units=1)
    for _ in range(3):
        asking.ask("eth_chainId", [])

    # 17 units for each, the first of which may use those of one second before it.
    second, third = waits
    assert 0 < second <= 16
    assert 16 < third <= 33
    assert third - second > 10


def test_without_a_limit_no_request_waits(server):
    waits = Waits()
    asking = client(server.url, waits=waits)
    for _ in range(100):
        asking.ask("eth_chainId", [])

    assert waits == []


def test_retry_after_of_the_server_is_respected(server):
    server.fails = failing((429, {"Retry-After": "7"}, b""))
    waits = Waits()
    client(server.url, waits=waits).ask("eth_chainId", [])
    assert waits == [7.0]


def test_retries_are_limited_by_the_timeout(server):
    server.fails = lambda _: (429, {"Retry-After": "30"}, b"")
    waits = Waits()
    with pytest.raises(UpstreamAway, match="HTTP status 429"):
        client(server.url, waits=waits, timeout=20).ask("eth_chainId", [])
    assert waits == []


def test_retries_end(server):
    server.fails = lambda _: (200, {}, error(-32005, "rate limit"))
    with pytest.raises(UpstreamRefused, match="rate limit"):
        client(server.url, retries=2).ask("eth_chainId", [])
    assert server.counts == {"eth_chainId": 3}


def test_permanent_error_is_not_retried(server):
    server.fails = lambda _: (200, {}, error(-32000, "no such thing", "0x12"))
    with pytest.raises(UpstreamRefused, match=r"^no such thing$") as refusal:
        client(server.url).ask("eth_chainId", [])
    assert (refusal.value.code, refusal.value.data) == (-32000, "0x12")
    assert server.counts == {"eth_chainId": 1}


def test_next_url_is_used_after_a_failure(server):
    with UpstreamServer(RemoteChain()) as first:
        first.fails = lambda _: (502, {}, b"")
        asked = client(first.url, server.url)
        assert asked.ask("eth_chainId", []) == "0x309"
        assert asked.ask("eth_chainId", []) == "0x309"
        assert (first.counts.total(), server.counts.total()) == (1, 2)


def test_absent_upstream_is_requested_once_without_retries(server):
    waits = Waits()
    asked = client(server.url, waits=waits, retries=3)
    server.stop()
    with pytest.raises(UpstreamAway, match="does not answer: no connection"):
        asked.ask("eth_chainId", [])
    assert len(waits) == 3
    assert asked.is_away
    with pytest.raises(UpstreamAway):
        asked.ask("eth_chainId", [])
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("answer", "refusal", "words"),
    [
        ((200, {}, b"<html>"), BadUpstreamAnswer, "other than JSON-RPC"),
        ((200, {}, [1]), BadUpstreamAnswer, "other than JSON-RPC"),
        (
            (200, {}, b'{"result":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
            BadUpstreamAnswer,
            "other than JSON-RPC",
        ),
        (
            (200, {}, b'{"result":[' + b"[]," * 2_000 + b"[]]}"),
            BadUpstreamAnswer,
            "other than JSON-RPC",
        ),
        (
            (200, {}, b'{"error":[' + b"[]," * 2_000 + b"[]]}"),
            BadUpstreamAnswer,
            "other than JSON-RPC",
        ),
        (
            (200, {"Content-Encoding": "gzip"}, gzip.compress(b'{"result":"0x1"}')),
            BadUpstreamAnswer,
            "other than JSON-RPC",
        ),
        ((401, {}, b"who are you"), UpstreamRefused, "HTTP status 401"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), BadUpstreamAnswer, "other than JSON-RPC"),
    ],
)
def test_malformed_upstream_answer_is_refused(server, answer, refusal, words):
    server.fails = lambda _: answer
    with pytest.raises(refusal, match=words):
        client(server.url, retries=0).ask("eth_chainId", [])


def test_pruned_state_is_refused(server):
    server.fails = failing((200, {}, error(-32000, "missing trie node ab (path )")))
    with raises(UpstreamReason.ARCHIVE_NEEDED, kind=UpstreamError, match="needs an archive node"):
        client(server.url, retries=0).ask("eth_chainId", [])


def test_response_size_limit_is_per_request(server):
    server.fails = failing((200, {}, b'{"result":"0x' + b"0" * 3_000_000 + b'"}'))
    asked = client(server.url)
    limits = AnswerLimits(100_000, 0)
    with pytest.raises(BadUpstreamAnswer, match="eth_chainId with more than 100000 bytes"):
        asked.ask("eth_chainId", [], limits=limits)
    assert asked.ask("eth_chainId", [], limits=limits) == "0x309"
    assert server.counts == {"eth_chainId": 2}


def test_forwarded_result_has_no_value_limit(server):
    result = b"[" + b"[]," * 2_000 + b"[]]"
    server.fails = lambda _: (200, {}, b'{"result":' + result + b"}")
    assert bytes(client(server.url).pass_on("eth_getLogs", [])) == result


def test_headers_and_passwords_are_sent_and_never_shown(server):
    url = server.url.replace("http://", "http://me:sesame1@")
    server.fails = lambda _: (
        200,
        {},
        error(-32000, f"{url} with sesame2 and sesame1 is not known"),
    )
    asked = client(url, headers={"X-Key": "sesame2"}, servers=servers_of([url]))
    with pytest.raises(UpstreamRefused) as refusal:
        asked.ask("eth_chainId", [])
    assert server.headers[-1]["X-Key"] == "sesame2"
    assert server.headers[-1]["authorization"].startswith("Basic ")
    said = f"{refusal.value} {asked.host}"
    assert not any(secret in said for secret in SECRETS)
    assert "is not known" in said


def test_headers_are_sent_to_named_servers_only(server):
    with UpstreamServer(RemoteChain()) as other:
        keys = {"headers": {"X-Key": "sesame2"}, "servers": servers_of([server.url])}
        for url in (server.url, server.url.replace("127.0.0.1", "localhost"), other.url):
            client(url, **keys).ask("eth_chainId", [])
        assert ["X-Key" in headers for headers in server.headers] == [True, False]
        assert ["X-Key" in headers for headers in other.headers] == [False]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server, status):
    with UpstreamServer(RemoteChain()) as other:
        server.fails = lambda _: (status, {"Location": other.url}, b"")
        with pytest.raises(BadUpstreamAnswer):
            client(server.url).ask("eth_chainId", [])
        assert other.headers == []


def test_account_takes_three_requests_unless_cached(server):
    server.chain.accounts["0x" + "11" * 20] = (5, 1, "0x60")
    asked = client(server.url)
    for _ in range(2):
        assert questions.account(asked, ADDRESS, 7).code == b"\x60"
    assert server.counts == {
        "eth_getAccountInfo": 1, "eth_getBalance": 2, "eth_getTransactionCount": 2, "eth_getCode": 2,
    }  # fmt: skip
    assert {tuple(params) for _, params in server.asked} == {("0x" + "11" * 20, "0x7")}
    server.chain.has_account_info = True
    server.asked.clear()
    other = client(server.url)
    for _ in range(2):
        assert questions.account(other, ADDRESS, 7).state.balance == 5
    assert server.counts == {"eth_getAccountInfo": 2}


def test_account_without_content_does_not_exist(server):
    assert questions.account(client(server.url), ADDRESS, 7) == (None, b"")


@pytest.mark.parametrize(("number", "height"), [(None, 20), (-3, 17), (0, 0), (4, 4)])
def test_the_pin(server, number, height):
    found = questions.block_of(questions.pinned_block(client(server.url), number)).header
    assert (found.number, found.base_fee, found.requests_hash) == (
        height,
        server.chain.base_fee,
        None,
    )


@pytest.mark.parametrize(
    ("number", "reason", "words"),
    [
        (21, UpstreamReason.NO_SUCH_BLOCK, "does not have block 21"),
        (-21, UpstreamReason.TOO_FEW_BLOCKS, "fewer blocks"),
    ],
)
def test_a_pin_that_is_not_there(server, number, reason, words):
    with raises(reason, kind=UpstreamError, match=words):
        questions.pinned_block(client(server.url), number)


@pytest.mark.parametrize("member", ["number", "hash", "gasLimit", "timestamp", "stateRoot"])
def test_a_block_of_another_form(server, member):
    told = dict(server.chain.block(3), **{member: "?"})
    with pytest.raises(BadUpstreamAnswer):
        questions.block_of(told)
