"""URLs, heights and headers of a fork, and their public parts."""

import pytest

from cchain_app.forking.errors import MalformedForkSetting
from cchain_app.forking.origin import (
    read_headers,
    read_wanted,
    server_of,
    servers_of,
    shown,
)


@pytest.mark.parametrize(
    ("urls", "block", "wanted"),
    [
        (["https://a.example/v2/key"], "", (("https://a.example/v2/key",), None)),
        (["https://a.example/v2/key@123"], "", (("https://a.example/v2/key",), 123)),
        (["https://a.example/v2/key@0x10"], "16", (("https://a.example/v2/key",), 16)),
        (["https://a.example@-3"], "", (("https://a.example",), -3)),
        (["https://me:pass@a.example:8545"], "0", (("https://me:pass@a.example:8545",), 0)),
        (
            ["http://a.example", "http://b.example"],
            "-1",
            (("http://a.example", "http://b.example"), -1),
        ),
        ([], "", ((), None)),
    ],
)
def test_a_url_may_name_the_block(urls, block, wanted):
    assert tuple(read_wanted(urls, block)) == (*wanted, None)


def test_fork_point_can_be_a_transaction_hash():
    wanted = read_wanted(["http://a.example"], transaction="0x" + "aB" * 32)
    assert tuple(wanted) == (("http://a.example",), None, b"\xab" * 32)


@pytest.mark.parametrize(("url", "block"), [("http://a.example@1", ""), ("http://a.example", "1")])
def test_a_block_and_a_transaction_exclude_each_other(url, block):
    with pytest.raises(MalformedForkSetting, match="remove either setting"):
        read_wanted([url], block, "0x" + "ab" * 32)


@pytest.mark.parametrize("text", ["ab" * 32, "0x" + "ab" * 31, "0x" + "zz" * 32, "0x" + "ab" * 33])
def test_an_invalid_hash_is_refused(text):
    with pytest.raises(MalformedForkSetting, match="0x and 64 hexadecimal digits"):
        read_wanted(["http://a.example"], transaction=text)


@pytest.mark.parametrize(
    ("urls", "block", "words"),
    [
        (["ftp://a.example/sesame"], "", "NODE_FORK_URL must be a URL"),
        (["a.example/sesame"], "", "NODE_FORK_URL must be a URL"),
        (["http://"], "", "NODE_FORK_URL must be a URL"),
        (["http://a.example:sesame"], "", "NODE_FORK_URL must be a URL"),
        (["http://a.example/sesame@1"], "2", "name two blocks"),
        (["http://a.example"], "sesame", "NODE_FORK_BLOCK_NUMBER must be a whole number"),
    ],
)
def test_unreadable_input_is_refused_without_its_text(urls, block, words):
    with pytest.raises(MalformedForkSetting, match=words) as refusal:
        read_wanted(urls, block)
    assert "sesame" not in str(refusal.value)


def test_headers_have_names_and_values():
    assert read_headers(["X-Key: open:sesame", "A:b"]) == {"X-Key": "open:sesame", "A": "b"}


@pytest.mark.parametrize("text", ["sesame", "X Key: sesame", "K: se\nsame", ": sesame"])
def test_malformed_http_header_is_refused_without_repeating_it(text):
    with pytest.raises(MalformedForkSetting, match="NODE_FORK_HEADERS") as refusal:
        read_headers([text])
    assert "sesame" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:pass@eth.example:8545/v2/key?token=1#x", "https://eth.example:8545"),
        ("http://[::1]:8545/key", "http://[::1]:8545"),
        ("https://eth.example", "https://eth.example"),
        ("http://a.example:port", "the upstream"),
    ],
)
def test_only_scheme_host_and_port_of_a_url_are_shown(url, said):
    assert shown(url) == said


@pytest.mark.parametrize(
    ("url", "is_the_same"),
    [
        ("https://rpc.example/v2/key", True),
        ("https://RPC.example:443/other?key=1", True),
        ("https://me:pass@rpc.example", True),
        ("http://rpc.example/v2/key", False),
        ("https://rpc.example:8443/v2/key", False),
        ("https://rpc.example.evil.example/", False),
        ("https://evil.example/rpc.example", False),
        ("https://evil.example#@rpc.example/", False),
        ("https://rpc.example@evil.example/", False),
        ("https://rpc.example\\@evil.example/", False),
        ("https://evil.example\\@rpc.example/", True),
        ("https://evil.example\\.rpc.example/", False),
        ("https://[::1]/", False),
    ],
)
def test_a_server_is_scheme_host_and_port(url, is_the_same):
    assert (server_of(url) in servers_of(["https://rpc.example/v2/key"])) is is_the_same


def test_an_address_of_ipv6_is_a_server_too():
    assert server_of("http://[::1]:8545/a") == server_of("http://[::1]:8545")
    assert server_of("http://[::1]") != server_of("http://[::2]")


def test_unparsable_url_has_no_server_name():
    assert server_of("http://rpc.example\\x/") is None
    assert servers_of(["http://rpc.example\\x/"]) == frozenset()
