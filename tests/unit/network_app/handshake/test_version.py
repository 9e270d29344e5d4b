"""Versions: their text, and the compatible ones."""

import pytest

from network_app.handshake.claims import HandshakeError, HandshakeReason
from network_app.handshake.handshake import PROTOCOL, ReleaseVersion, check_compatible
from network_app.wire.p2p_pb2 import Client
from tests.builders.reasons import raises


def test_the_text_is_name_and_number() -> None:
    assert str(PROTOCOL) == "avalanchego/1.14.2"
    assert str(ReleaseVersion("another", 1, 0, 10)) == "another/1.0.10"


def test_version_round_trips() -> None:
    assert ReleaseVersion.of(PROTOCOL.client()) == PROTOCOL
    assert ReleaseVersion.of(Client()) == ReleaseVersion("", 0, 0, 0)


def test_a_name_is_kept_short_and_printable() -> None:
    client = Client(name="a\0b\nc\u202ed" + "x" * 100, major=2**32 - 1)

    assert ReleaseVersion.of(client).name == "abcd" + "x" * 17
    assert len(str(ReleaseVersion.of(client))) < 64


@pytest.mark.parametrize(
    "number", [(1, 14, 0), (1, 14, 2), (1, 14, 99), (1, 15, 0), (1, 99, 0)], ids=str
)
def test_a_version_that_follows_the_upgrade_is_compatible(number: tuple[int, int, int]) -> None:
    check_compatible(ReleaseVersion("anything", *number))
    check_compatible(ReleaseVersion("anything", *number), upgraded=False)


@pytest.mark.parametrize("number", [(1, 13, 0), (1, 13, 99)], ids=str)
def test_an_older_version_is_compatible_until_the_upgrade(number: tuple[int, int, int]) -> None:
    version = ReleaseVersion("avalanchego", *number)

    check_compatible(version, upgraded=False)
    with raises(
        HandshakeReason.INCOMPATIBLE_VERSION,
        kind=HandshakeError,
        match=rf"^version {version} is not compatible$",
    ):
        check_compatible(version)


@pytest.mark.parametrize(
    "number", [(0, 0, 0), (0, 99, 99), (1, 12, 99), (2, 0, 0), (2, 14, 2)], ids=str
)
def test_the_oldest_and_the_next_major_versions_are_not_compatible(
    number: tuple[int, int, int],
) -> None:
    version = ReleaseVersion("avalanchego", *number)
    for upgraded in (True, False):
        with raises(
            HandshakeReason.INCOMPATIBLE_VERSION,
            kind=HandshakeError,
            match=rf"^version {version} is not compatible$",
        ):
            check_compatible(version, upgraded=upgraded)
