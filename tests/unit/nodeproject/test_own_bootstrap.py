"""A node that is configured to follow itself: recognition of its own addresses."""

import pytest

from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated


@pytest.mark.parametrize(
    ("host", "public", "named", "own"),
    [
        ("127.0.0.1", "", "127.0.0.1:9651", True),
        ("127.0.0.1", "", "127.0.0.1:9652", False),
        ("127.0.0.1", "", "127.0.0.2:9651", False),
        ("0.0.0.0", "", "127.0.0.7:9651", True),
        ("::", "", "[::1]:9651", True),
        ("0.0.0.0", "", "203.0.113.7:9651", False),
        ("0.0.0.0", "203.0.113.7", "203.0.113.7:9651", True),
        ("0.0.0.0", "203.0.113.7", "203.0.113.8:9651", False),
        ("0.0.0.0", "203.0.113.7:9700", "203.0.113.7:9700", True),
        ("0.0.0.0", "203.0.113.7:9700", "203.0.113.7:9651", False),
        ("::", "[2001:db8::7]:9700", "[2001:DB8:0::7]:9700", True),
        ("127.0.0.1", "", "no address", False),
        ("no address", "", "127.0.0.1:9651", False),
    ],
)
def test_a_node_knows_its_own_address(host: str, public: str, named: str, *, own: bool) -> None:
    other = "198.51.100.4:9651"
    node = updated(NodeSettings(), staking_host=host, public_ip=public, bootstrap=(other, named))
    assert node.own_bootstrap == ((named,) if own else ())
