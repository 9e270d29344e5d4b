"""Addresses on which a user can click."""

import pytest

from nodeproject.web.paths import reachable


@pytest.mark.parametrize(
    ("listens_on", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("192.168.7.7", "192.168.7.7"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("*", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("node.example", "node.example"),
        ("fd00::7", "[fd00::7]"),
    ],
)
def test_what_listens_everywhere_is_found_on_this_machine(listens_on: str, shown: str) -> None:
    assert reachable(listens_on) == shown
