"""Peers and their stake, from the rows of the network process."""

from typing import Any

import pytest

from network_app import selectors
from network_app.selectors import HEARTBEAT_TOLERANCE, ConnectedStake, Uptimes
from platform_app.apps import platform_chain
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import stakers
from tests.builders import network_rows, own_node
from tests.integration.network_app.selectors.conftest import ALICE, BOB, OWN, STRANGER, WEIGHTS

pytestmark = pytest.mark.django_db


def connect(**uptimes: int) -> None:
    """Write a fresh report of connected peers, each with the uptime it observed of this node."""
    network_rows.report(connected=len(uptimes))
    named = {"alice": ALICE, "bob": BOB, "stranger": STRANGER}
    for name, percent in uptimes.items():
        network_rows.peer(named[name], observed_uptime=percent)


def test_connected_peers_are_listed_longest_first() -> None:
    network_rows.report(connected=2)
    network_rows.peer(BOB, connected_since=network_rows.ago(5))
    network_rows.peer(ALICE, connected_since=network_rows.ago(9))
    network_rows.peer(STRANGER, connected_since=None)

    assert [peer.node_id for peer in selectors.peers()] == [ALICE, BOB]
    assert [item.node_id for item in selectors.peers([BOB, STRANGER])] == [BOB]
    assert selectors.connected_ids() == {ALICE, BOB}
    assert selectors.has_peers()


@network_rows.still()
def test_peers_of_a_silent_process_are_not_connected() -> None:
    network_rows.peer(ALICE)
    assert selectors.peers() == []
    network_rows.report(heartbeat_at=network_rows.ago(HEARTBEAT_TOLERANCE + 1))
    assert selectors.peers() == []
    assert selectors.connected_ids() == frozenset()
    assert not selectors.has_peers()
    network_rows.report(heartbeat_at=network_rows.ago(HEARTBEAT_TOLERANCE))
    assert selectors.connected_ids() == {ALICE}


def test_stake_is_connected_through_its_validator(validators: None) -> None:
    assert selectors.connected_stake(platform_chain()) == ConnectedStake(2_000, 10_000)
    connect(alice=100, stranger=100)
    assert selectors.connected_stake(platform_chain()) == ConnectedStake(2_000 + 5_000, 10_000)
    assert selectors.connected_stake(platform_chain()).fraction == 0.7
    connect(bob=100)
    assert selectors.connected_stake(platform_chain()).fraction == 1.0


def test_a_node_that_does_not_validate_has_no_stake(
    validators: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node.be(monkeypatch, STRANGER)
    connect(bob=100)

    assert selectors.connected_stake(platform_chain()) == ConnectedStake(3_000, 10_000)
    assert selectors.uptime_of_self(platform_chain()) is None


def test_connected_stake_without_validators_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = CurrentSet((), {}, 0)
    monkeypatch.setattr(stakers, "current_validators", lambda _chain, _subnet_id: empty)
    own_node.be(monkeypatch, OWN)

    assert selectors.connected_stake(platform_chain()).fraction == 1.0
    assert selectors.uptime_of_self(platform_chain()) is None


@pytest.mark.parametrize(
    ("said", "rewarding", "average"),
    [
        ({}, 20.0, 20.0),
        ({"alice": 90}, 70.0, 20.0 + 45.0),
        ({"alice": 80, "bob": 79}, 70.0, 20.0 + 40.0 + 23.7),
        ({"alice": 100, "bob": 100, "stranger": 0}, 100.0, 100.0),
        ({"alice": 0, "stranger": 100}, 20.0, 20.0),
    ],
)
def test_reported_uptimes_are_weighted_by_stake(
    validators: None, said: dict[str, Any], rewarding: float, average: float
) -> None:
    connect(**said)

    found = selectors.uptime_of_self(platform_chain())

    assert found == Uptimes(pytest.approx(rewarding), pytest.approx(average))
    assert sum(WEIGHTS.values()) == 10_000
