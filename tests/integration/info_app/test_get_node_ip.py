"""info.getNodeIP."""

from typing import Any

import pytest

from tests.builders import network_rows
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import Rpc

pytestmark = pytest.mark.sqlite_only


def test_ip_is_the_address_announced_to_peers(rpc: Rpc) -> None:
    network_rows.report(ip="203.0.113.7:9651")

    assert rpc("info.getNodeIP") == {"ip": "203.0.113.7:9651"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"staking_host": "127.0.0.1", "staking_port": 9777}, "127.0.0.1:9777"),
        ({"public_ip": "198.51.100.1"}, "198.51.100.1:9651"),
        ({"public_ip": "2001:db8::1"}, "[2001:db8::1]:9651"),
    ],
)
def test_ip_before_network_start_comes_from_the_settings(
    rpc: Rpc, settings: Any, given: dict[str, Any], shown: str
) -> None:
    settings.NODE = updated(settings.NODE, **{"staking_port": 9651, **given})

    assert rpc("info.getNodeIP") == {"ip": shown}
