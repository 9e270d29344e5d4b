"""Counters, and averages that decay over time."""

import pytest

from network_app.peers.counters import Counters, RunningAverage
from network_app.peers.errors import PeerError, PeerReason
from network_app.ports import NetworkTotals


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_before_anything_happened_there_is_nothing() -> None:
    assert Counters().totals() == NetworkTotals(0, 0, 0, 0, 0, None, None, 0, 0, 0.0)


def test_messages_and_bytes_are_counted_by_kind() -> None:
    clock = Clock()
    counters = Counters(clock, lambda: 5000.0 + clock.now)
    counters.message_sent("ping", 10)
    counters.message_sent("ping", 20)
    counters.message_sent("put", 5)
    clock.now = 107.0
    counters.received.count("pong", 7)
    counters.send_failed("put")
    counters.send_failed("queued", 3)

    assert counters.sent.messages == {"ping": 2, "put": 1}
    assert counters.sent.bytes == {"ping": 30, "put": 5}
    assert counters.send_failures == {"put": 1, "queued": 3}
    totals = counters.totals()
    assert totals[:5] == (3, 1, 35, 7, 4)
    assert (totals.last_sent, totals.last_received) == (5100.0, 5107.0)


def test_the_rate_of_failures_forgets() -> None:
    clock = Clock()
    counters = Counters(clock)
    for _ in range(20):
        counters.send_failed("ping")
    assert counters.totals().send_fail_rate > 0.9

    clock.now += 100
    for _ in range(20):
        counters.message_sent("ping", 1)

    assert counters.totals().send_fail_rate < 0.01


def test_endings_are_counted_by_reason() -> None:
    counters = Counters()
    for reason in (
        PeerError(PeerReason.CONNECTION_LOST),
        PeerError(PeerReason.TLS_FAILED, cause="x"),
        PeerError(PeerReason.CONNECTION_LOST),
    ):
        counters.connection_ended(reason)

    assert counters.ended == {"ConnectionLost": 2, "TlsFailed": 1}


def test_an_observation_weighs_half_after_a_half_life() -> None:
    average = RunningAverage(0.0, 10.0, 0.0)

    average.observe(1.0, 10.0)

    assert average.value == pytest.approx(1 / 1.5)


def test_initial_value_has_the_given_weight() -> None:
    average = RunningAverage(0.5, 10.0, 0.0, weight=3.0)
    assert average.value == 0.5

    average.observe(1.0, 0.0)

    assert average.value == pytest.approx(2.5 / 4)


def test_clock_going_back_adds_no_weight() -> None:
    average = RunningAverage(0.0, 10.0, 50.0)

    average.observe(1.0, 0.0)
    average.observe(1.0, 50.0)

    assert average.value == pytest.approx(2 / 3)
