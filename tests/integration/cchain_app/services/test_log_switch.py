"""The switch of the transaction log, with one process and with several that share a cache."""

import pytest
from django.core.cache import caches

from cchain_app.services.log_switch import LogSwitch
from chaindb.servers import ServerAway


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_another_process_sees_it_a_second_later(node_settings, clock) -> None:
    here, there = (LogSwitch("C", is_shared=True, clock=clock) for _ in range(2))
    here.turn(on=False)
    there.look()
    assert (here.is_on, there.is_on) == (False, True)

    clock.now = 1.0
    there.look()
    assert there.is_on is False
    there.turn(on=True)
    clock.now = 2.0
    here.look()
    assert here.is_on is True


def test_a_process_alone_asks_no_cache(node_settings, clock) -> None:
    alone = LogSwitch("C", is_shared=False, clock=clock)
    alone.turn(on=False)
    clock.now = 10.0
    alone.look()

    assert not alone.is_on
    assert caches["default"].get("transaction-log-off-C") is None


def test_chains_have_switches_of_their_own(node_settings, clock) -> None:
    LogSwitch("C", is_shared=True, clock=clock).turn(on=False)
    other = LogSwitch("D", is_shared=True, clock=clock)
    clock.now = 1.0
    other.look()

    assert other.is_on


def test_without_the_cache_it_stays_as_it_was(node_settings, clock, monkeypatch) -> None:
    class Away:
        def get(self, *_: object, **__: object) -> None:
            raise ServerAway("Redis is away")

        set = get

    switch = LogSwitch("C", is_shared=True, clock=clock)
    switch.turn(on=False)
    monkeypatch.setattr("cchain_app.services.log_switch.caches", {"default": Away()})
    clock.now = 5.0
    switch.look()
    assert not switch.is_on

    with pytest.raises(ServerAway):
        switch.turn(on=True)
    assert not switch.is_on
