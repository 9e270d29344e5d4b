"""Addresses in the settings: invalid ones are rejected with a message that names the setting."""

from typing import Any

import pytest
from django.conf import settings

from network_app import addresses
from network_app.addresses import MalformedAddress, NodeAddress
from tests.builders.node_settings import updated


@pytest.fixture
def node(settings: Any) -> Any:
    """Return a function that changes settings of the node."""

    def change(**changes: Any) -> None:
        settings.NODE = updated(settings.NODE, **changes)

    return change


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9651", NodeAddress("127.0.0.1", 9651)),
        ("[::1]:1", NodeAddress("::1", 1)),
        ("[2001:db8::7]:65535", NodeAddress("2001:db8::7", 65535)),
    ],
)
def test_an_address_is_read_and_shown(text: str, address: NodeAddress) -> None:
    assert NodeAddress.parse("NODE_BOOTSTRAP", text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "host:1",
     "127.0.0.1:+1", "127.0.0.1:١", "1.2.3:4"],
)  # fmt: skip
def test_malformed_bootstrap_address_is_refused(node: Any, text: str) -> None:
    node(bootstrap=("10.0.0.1:1", text))

    with pytest.raises(MalformedAddress, match=r"^NODE_BOOTSTRAP has .*, which is not IP:PORT"):
        addresses.bootstrappers(settings.NODE.common)


def test_the_name_of_a_host_is_quoted_as_it_was_written(node: Any) -> None:
    node(bootstrap=("localhost:9651",))

    words = (
        r"^NODE_BOOTSTRAP has 'localhost:9651', which is not IP:PORT \(names are not looked up\)$"
    )
    with pytest.raises(MalformedAddress, match=words):
        addresses.bootstrappers(settings.NODE.common)


def test_an_address_that_is_named_twice_counts_once(node: Any) -> None:
    node(bootstrap=("10.0.0.1:1", "[2001:db8::7]:2", "10.0.0.1:1", "[2001:DB8:0::7]:2"))

    found = [str(address) for address in addresses.bootstrappers(settings.NODE.common)]
    assert found == ["10.0.0.1:1", "[2001:db8::7]:2"]


@pytest.mark.parametrize(
    ("public", "host", "told"),
    [
        ("", "127.0.0.1", "127.0.0.1:9651"),
        ("", "0.0.0.0", "127.0.0.1:9651"),
        ("", "::1", "[::1]:9651"),
        ("203.0.113.7", "0.0.0.0", "203.0.113.7:9651"),
        ("203.0.113.7:9700", "0.0.0.0", "203.0.113.7:9700"),
        ("2001:db8::7", "::", "[2001:db8::7]:9651"),
        ("[2001:db8::7]:9700", "::", "[2001:db8::7]:9700"),
    ],
)
def test_advertised_address_follows_settings(node: Any, public: str, host: str, told: str) -> None:
    node(public_ip=public, staking_host=host, staking_port=9651)

    assert str(addresses.advertised(settings.NODE.peers)) == told


@pytest.mark.parametrize("public", ["a.name", "a.name:1", "203.0.113.7:99999"])
def test_malformed_public_ip_is_refused(node: Any, public: str) -> None:
    node(public_ip=public)

    with pytest.raises(MalformedAddress, match=r"^NODE_PUBLIC_IP has "):
        addresses.advertised(settings.NODE.peers)


def test_a_name_to_listen_on_is_refused(node: Any) -> None:
    node(staking_host="localhost", public_ip="")
    words = r"^NODE_STAKING_HOST has 'localhost', which is not an IP$"

    with pytest.raises(MalformedAddress, match=words):
        addresses.listening(settings.NODE.peers)
