"""Who is let in, by how many there are and who came lately."""

import re
from dataclasses import replace
from typing import Any

import pytest

from network_app.config import NetworkConfig
from network_app.peers import errors
from network_app.peers.arrivals import Arrivals, is_loopback

CONFIG = NetworkConfig(
    network_id=1,
    max_half_open=3,
    max_inbound=10,
    inbound_per_second=5,
    inbound_cooldown=10.0,
)
HOST = "192.0.2.1"


def arrivals(**changes: Any) -> Arrivals:
    return Arrivals(replace(CONFIG, **changes), 0.0)


def refused(error: type[errors.NotWanted], words: str) -> Any:
    return pytest.raises(error, match=f"^{re.escape(words)}$")


def test_the_first_may_come() -> None:
    arrivals().admit(HOST, 0.0, half_open=2, inbound=12)


def test_so_many_without_tls() -> None:
    with refused(errors.TooManyHalfOpen, "more than 3 connections without TLS"):
        arrivals().admit(HOST, 0.0, half_open=3, inbound=0)


def test_so_many_from_others_and_some_more_that_may_be_validators() -> None:
    with refused(errors.TooManyInbound, "more than 10 inbound connections"):
        arrivals().admit(HOST, 0.0, half_open=0, inbound=13)


def test_one_host_comes_once_in_a_while() -> None:
    door = arrivals()
    door.admit(HOST, 0.0, half_open=0, inbound=0)

    with refused(errors.CameTooSoon, f"{HOST} connected less than 10 s ago"):
        door.admit(HOST, 9.9, half_open=0, inbound=0)
    door.admit("192.0.2.2", 9.9, half_open=0, inbound=0)
    door.admit(HOST, 10.0, half_open=0, inbound=0)


def test_a_host_that_is_refused_does_not_wait_longer_for_it() -> None:
    door = arrivals()
    door.admit(HOST, 0.0, half_open=0, inbound=0)
    for _ in range(100):
        with pytest.raises(errors.CameTooSoon):
            door.admit(HOST, 9.0, half_open=0, inbound=0)

    door.admit(HOST, 10.0, half_open=0, inbound=0)
    door.admit("192.0.2.2", 10.0, half_open=0, inbound=0)  # nor do others, for its attempts


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_may_always_come(host: str) -> None:
    door = arrivals()

    for _ in range(5):
        door.admit(host, 0.0, half_open=0, inbound=0)
    assert len(door) == 0


def test_so_many_in_a_second() -> None:
    door = arrivals()
    for number in range(5):
        door.admit(f"198.51.100.{number}", 0.0, half_open=0, inbound=0)

    with refused(errors.TooManyArrivals, "more than 5 inbound connections a second"):
        door.admit(HOST, 0.0, half_open=0, inbound=0)
    door.admit(HOST, 0.2, half_open=0, inbound=0)


def test_hosts_are_forgotten_after_their_time() -> None:
    door = arrivals(inbound_per_second=1000)
    for number in range(250):
        door.admit(f"192.0.2.{number}", number / 8, half_open=0, inbound=0)

    assert len(door) == 80


@pytest.mark.parametrize("host", ["192.0.2.1", "fe80::1%eth0", "2001:db8::1", "", "name"])
def test_other_hosts_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_loopback_may_have_a_scope() -> None:
    assert is_loopback("::1%lo")
