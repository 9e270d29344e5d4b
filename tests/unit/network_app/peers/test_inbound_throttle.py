"""The admission of connections, by their number and by recent arrivals of the same host."""

import re
from dataclasses import replace
from typing import Any

import pytest

from network_app.config import NetworkConfig
from network_app.peers import errors
from network_app.peers.listener import LOOPBACK, InboundThrottle, prefix_of
from tests.builders.reasons import raises

CONFIG = NetworkConfig(
    network_id=1,
    max_half_open=3,
    max_inbound=10,
    inbound_per_prefix=4,
    inbound_per_second=5,
    inbound_cooldown=10.0,
)
HOST = "192.0.2.1"


def arrivals(**changes: Any) -> InboundThrottle:
    return InboundThrottle(replace(CONFIG, **changes), 0.0)


def refused(reason: errors.PeerReason, words: str) -> Any:
    return raises(reason, kind=errors.NotWanted, match=f"^{re.escape(words)}$")


def test_first_inbound_connection_is_admitted() -> None:
    arrivals().admit(HOST, 0.0, inbound=12)


def test_inbound_connections_are_limited_with_a_validator_reserve() -> None:
    with refused(errors.PeerReason.TOO_MANY_INBOUND, "more than 10 inbound connections"):
        arrivals().admit(HOST, 0.0, inbound=13)


def test_host_is_admitted_once_per_cooldown() -> None:
    limits = arrivals()
    limits.admit(HOST, 0.0, inbound=0)

    with refused(errors.PeerReason.CAME_TOO_SOON, f"{HOST} connected less than 10 s ago"):
        limits.admit(HOST, 9.9, inbound=0)
    limits.admit("192.0.2.2", 9.9, inbound=0)
    limits.admit(HOST, 10.0, inbound=0)


def test_a_host_that_is_refused_does_not_wait_longer_for_it() -> None:
    limits = arrivals()
    limits.admit(HOST, 0.0, inbound=0)
    for _ in range(100):
        with raises(errors.PeerReason.CAME_TOO_SOON, kind=errors.NotWanted):
            limits.admit(HOST, 9.0, inbound=0)

    limits.admit(HOST, 10.0, inbound=0)
    limits.admit("192.0.2.2", 10.0, inbound=0)  # other hosts do not wait for its attempts either


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_not_throttled(host: str) -> None:
    limits = arrivals()

    for _ in range(5):
        limits.admit(host, 0.0, inbound=0)
    assert len(limits) == 0


@pytest.mark.parametrize("network", ["192.0.2.{}", "2001:db8:0:1::{}"])
def test_hosts_of_one_prefix_are_limited_per_cooldown(network: str) -> None:
    limits = arrivals()
    for number in range(1, 5):
        limits.admit(network.format(number), float(number), inbound=0)

    with refused(
        errors.PeerReason.CAME_TOO_SOON,
        f"{prefix_of(network.format(9))} connected less than 10 s ago",
    ):
        limits.admit(network.format(9), 10.9, inbound=0)
    limits.admit("198.51.100.1", 10.9, inbound=0)
    limits.admit("2001:db8:0:2::1", 10.9, inbound=0)
    limits.admit(network.format(9), 11.0, inbound=0)


def test_inbound_connections_per_second_are_limited() -> None:
    limits = arrivals(inbound_per_prefix=10)
    for number in range(5):
        limits.admit(f"198.51.100.{number}", 0.0, inbound=0)

    with refused(errors.PeerReason.TOO_MANY_ARRIVALS, "more than 5 inbound connections a second"):
        limits.admit(HOST, 0.0, inbound=0)
    limits.admit(HOST, 0.2, inbound=0)


def test_expired_hosts_are_dropped() -> None:
    limits = arrivals(inbound_per_second=1000)
    for number in range(250):
        limits.admit(f"192.0.{number}.1", number / 8, inbound=0)

    assert len(limits) == len(limits._of_prefix) == 80


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.1", "192.0.2.0/24"),
        ("::ffff:192.0.2.9", "192.0.2.0/24"),
        ("fe80::1%eth0", "fe80::/64"),
        ("2001:db8::1:0:0:1", "2001:db8::/64"),
        ("127.3.2.1", LOOPBACK),
        ("::1%lo", LOOPBACK),
        ("::ffff:127.0.0.1", LOOPBACK),
        ("", ""),
        ("name", "name"),
    ],
)
def test_hosts_are_counted_by_network(host: str, network: str) -> None:
    assert prefix_of(host) == network
