"""Names and address prefixes of networks."""

import pytest

from primitives.networks import hrp_of, name_of


@pytest.mark.parametrize(
    ("network_id", "name", "hrp"),
    [
        (1, "mainnet", "lux"),
        (5, "testnet", "test"),
        (12345, "local", "local"),
        (0, "network-0", "custom"),
        (2, "network-2", "custom"),
        (4294967295, "network-4294967295", "custom"),
    ],
)
def test_a_network_has_a_name_and_a_prefix(network_id: int, name: str, hrp: str) -> None:
    assert name_of(network_id) == name
    assert hrp_of(network_id) == hrp
