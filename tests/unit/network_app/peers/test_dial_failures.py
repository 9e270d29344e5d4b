"""Reasons why a bootstrapper is unreachable: message, label for metrics, and log lines."""

import logging

import pytest

from network_app.bloom import BloomError, BloomReason
from network_app.handshake.claims import (
    HandshakeError,
    HandshakeReason,
)
from network_app.peers.dial_failures import GRACE, OUTDATED, DialFailures, explain
from network_app.peers.errors import (
    NotWanted,
    PeerError,
    PeerReason,
    TimedOut,
)
from network_app.wire.errors import WireError, WireReason
from primitives.identity import CertificateError, CertificateReason

ADDRESS = "203.0.113.7:9651"
OTHER = "203.0.113.8:9651"


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000), "clock", "clock is 90 s ahead of the bootstrapper's, at most 60 s"),
        (HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=1000, ours=910), "clock", "clock is 90 s behind the bootstrapper's, at most 60 s"),
        (HandshakeError(HandshakeReason.SIGNED_IN_THE_FUTURE, timestamp=1090, now=1000), "clock", "signed its address 90 s ahead of this node's clock"),
        (HandshakeError(HandshakeReason.WRONG_NETWORK, theirs=1, ours=12345), "network_id", "is on network 1, this node is on network 12345"),
        (HandshakeError(HandshakeReason.INCOMPATIBLE_VERSION, version="avalanchego/1.13.9"), "version", "version avalanchego/1.13.9"),
        (HandshakeError(HandshakeReason.KNOWN_PEERS, cause=BloomError(BloomReason.NO_ENTRIES)), "handshake", "known peers: bloom filter has no entries"),
        (PeerError(PeerReason.HTTP_INSTEAD_OF_TLS), "wrong_port", "an HTTP server answers: NODE_BOOTSTRAP needs the staking port"),
        (WireError(WireReason.FRAME_TOO_LARGE, size=1 << 30, limit=1 << 21), "wrong_port", "does not speak the peer protocol"),
        (PeerError(PeerReason.TLS_FAILED, cause="wrong version number"), "tls", "not that of a node (TLS failed: wrong version number)"),
        (CertificateError(CertificateReason.EVEN_MODULUS), "tls", "(RSA modulus is an even number)"),
        (PeerError(PeerReason.NOT_REACHED, cause="Connection refused"), "unreachable", "not reached: Connection refused"),
        (PeerError(PeerReason.CONNECTION_LOST), "closed", "closed the connection before the handshake was finished"),
        (TimedOut(PeerReason.TLS_TOO_SLOW, seconds=15), "timeout", "TLS was not up in 15 s"),
        (TimedOut(PeerReason.HANDSHAKE_TOO_SLOW, seconds=15), "timeout", "handshake was not finished in 15 s"),
        (KeyError("x"), "other", "'x'"),
    ],
)  # fmt: skip
def test_dial_failure_is_explained_with_address_and_reason(
    error: Exception, reason: str, words: str
) -> None:
    failure = explain(ADDRESS, error)

    assert failure.reason == reason
    assert words in failure.message
    assert str(failure) == f"bootstrapper {ADDRESS}: {failure.message}"


def test_the_offset_of_the_clock_is_a_figure_of_its_own() -> None:
    assert (
        explain(
            ADDRESS, HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000)
        ).clock_offset
        == 90
    )
    assert (
        explain(
            ADDRESS, HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=1000, ours=910)
        ).clock_offset
        == -90
    )
    assert (
        explain(
            ADDRESS, HandshakeError(HandshakeReason.WRONG_NETWORK, theirs=1, ours=2)
        ).clock_offset
        is None
    )


class Dialled:
    """The failures of dials at given times, and their log lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now = 0.0
        self.failures = DialFailures(lambda: self.now)
        self.caplog = caplog

    def fail(self, error: Exception, address: str = ADDRESS, *, after: float = 0.0) -> None:
        self.now += after
        self.failures.ended(address, error, finished=False)

    def reasons(self) -> list[str]:
        return [failure.reason for failure in self.failures.latest().values()]

    def lines(self) -> int:
        assert {record.levelno for record in self.caplog.records} <= {logging.WARNING}
        return len(self.caplog.messages)


@pytest.fixture
def dialled(caplog: pytest.LogCaptureFixture) -> Dialled:
    return Dialled(caplog)


def test_a_line_a_minute_for_each_bootstrapper_and_reason(dialled: Dialled) -> None:
    for _ in range(60):
        dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000), after=1)
    assert dialled.lines() == 1
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000), after=1)
    assert dialled.lines() == 2
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000), OTHER)
    dialled.fail(HandshakeError(HandshakeReason.WRONG_NETWORK, theirs=1, ours=2))
    assert dialled.lines() == 4
    assert dialled.caplog.messages[0].startswith(f"cannot connect to bootstrapper {ADDRESS}: this")


def test_a_node_that_is_not_up_yet_is_logged_after_a_while_only(dialled: Dialled) -> None:
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"))
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"), after=GRACE - 1)
    assert (dialled.lines(), dialled.reasons()) == (0, ["unreachable"])
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"), after=1)
    assert dialled.lines() == 1


def test_a_closed_connection_does_not_hide_a_known_reason(dialled: Dialled) -> None:
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000))
    dialled.fail(PeerError(PeerReason.CONNECTION_LOST), after=1)
    assert dialled.reasons() == ["clock"]
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"), after=1)
    assert dialled.reasons() == ["unreachable"]
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000))
    dialled.fail(PeerError(PeerReason.CONNECTION_LOST), after=OUTDATED)
    assert dialled.reasons() == ["closed"]


def test_measured_clock_offset_keeps_the_message(dialled: Dialled) -> None:
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1000))
    before = dialled.failures.latest()
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1001), after=1)
    assert dialled.failures.latest() == before
    dialled.fail(HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=910, ours=1005), after=1)
    assert dialled.failures.latest()[ADDRESS].clock_offset == 95


@pytest.mark.parametrize(
    ("error", "finished"),
    [
        (PeerError(PeerReason.CONNECTION_LOST), True),
        (NotWanted(PeerReason.ALREADY_CONNECTED), False),
    ],
)
def test_a_bootstrapper_that_was_reached_has_no_failure(
    dialled: Dialled, error: Exception, *, finished: bool
) -> None:
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"))

    dialled.failures.ended(ADDRESS, error, finished=finished)

    assert dialled.failures.latest() == {}
    dialled.fail(PeerError(PeerReason.NOT_REACHED, cause="Connection refused"), after=GRACE)
    assert dialled.lines() == 0  # the grace period starts again
