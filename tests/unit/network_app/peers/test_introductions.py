"""The addresses at which validators are dialled."""

from ipaddress import ip_address

import pytest

from network_app.config import NetworkConfig
from network_app.handshake.claims import NodeClaim, claimed_ip_port
from network_app.peers.introductions import Introductions
from network_app.settings import NetworkSettings
from network_app.wire.p2p_pb2 import PeerList
from tests.builders.nodes import NOW, node
from tests.builders.peers import Validators

PUBLIC = ["1.2.3.4", "100.64.0.1", "192.0.2.1", "172.15.255.255", "172.32.0.0", "2001:db8::1"]
PRIVATE = [
    "10.0.0.7",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "127.0.0.1",
    "169.254.169.254",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fd00::1",
    "fe80::1",
    "ff02::1",
]


def dialled(ip: str, config: NetworkConfig) -> list[str]:
    """Return the addresses dialled for a validator whose address another node gossips."""
    own, other = node(0), node(1)
    introductions = Introductions(
        NodeClaim(own.identity.node_id, own.identity.certificate_der, own.claim()),
        config,
        Validators.of(own, other),
        is_tracked=lambda _: False,
        news=lambda: None,
        wall=lambda: NOW,
    )
    claim = claimed_ip_port(other.identity.certificate_der, other.claim(ip_address(ip)))
    introductions.learn(PeerList(claimed_ip_ports=[claim]))
    assert len(introductions) == 1, "the claim is known, whatever becomes of it"
    return [address.host for address in introductions.addresses().values()]


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_are_dialled(ip: str) -> None:
    assert dialled(ip, NetworkConfig(1, dials_private=False)) == [ip]


@pytest.mark.parametrize("ip", PRIVATE)
def test_private_addresses_are_dialled_if_allowed(ip: str) -> None:
    assert dialled(ip, NetworkConfig(1, dials_private=False)) == []
    assert dialled(ip, NetworkConfig(1, dials_private=True)) == [ip]


@pytest.mark.parametrize(
    ("network_id", "setting", "allowed"),
    [
        (1, "auto", False),
        (5, "auto", False),
        (12345, "auto", True),
        (777, "auto", True),
        (1, "true", True),
        (5, "true", True),
        (12345, "false", False),
    ],
)
def test_private_addresses_are_allowed_by_network_or_setting(
    network_id: int, setting: str, *, allowed: bool
) -> None:
    settings = NetworkSettings(network_allow_private_ips=setting)
    assert settings.dials_private(network_id) is allowed
