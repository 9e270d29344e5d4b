"""The nodes at the addresses of the bootstrappers, and the number that is sufficient."""

import pytest

from network_app.sync.witnesses import Beacons
from primitives.ids import NodeID

OWN, A, B, C = (NodeID(bytes([at]) * 20) for at in range(4))


@pytest.mark.parametrize(
    ("addresses", "found", "connected", "configured"),
    [
        (0, [], [], 0),
        (1, [OWN], [], 0),
        (2, [OWN, A], [A], 1),
        (2, [A, A], [A], 1),
        (3, [A, A, OWN], [A], 1),
        (4, [A, B, A], [A, B], 3),  # no node was reached at the fourth
        (3, [A, B], [B, C], 3),
    ],
)
def test_each_beacon_counts_once_and_the_own_node_not_at_all(
    addresses: int, found: list[NodeID], connected: list[NodeID], configured: int
) -> None:
    beacons = Beacons.of(addresses, found, connected, OWN)
    assert beacons.configured == configured
    assert beacons.connected == frozenset(found) & frozenset(connected)


@pytest.mark.parametrize(
    ("connected", "configured", "words"),
    [
        ([], 0, "None"),
        ([A], 1, "None"),
        ([], 1, "connected to 0 of 1 bootstrappers, 1 needed"),
        ([A, B], 4, "connected to 2 of 4 bootstrappers, 3 needed"),
        ([A, B, C], 4, "None"),
    ],
)
def test_missing_beacons_are_reported(connected: list[NodeID], configured: int, words: str) -> None:
    assert str(Beacons(frozenset(connected), configured).lacking) == words
