"""The embedded broker wakes a waiting worker, and reports when no message has come."""

import threading

import pytest
from kombu import Connection, Consumer, Producer, Queue

from nodeproject.processes.broker import Transport


@pytest.fixture
def connection() -> Connection:
    return Connection("memory://localhost", transport=Transport)


def test_a_put_wakes_a_waiting_worker(connection: Connection) -> None:
    queue = Queue("wakes", routing_key="wakes")
    got: list[str] = []
    with (
        connection.channel() as channel,
        Consumer(channel, queue, callbacks=[lambda body, _: got.append(body)], no_ack=True),
    ):

        def put() -> None:
            with Connection("memory://localhost", transport=Transport) as other:
                Producer(other.channel()).publish("hello", routing_key="wakes", declare=[queue])

        # Without a wake-up the worker would wait for its ten minutes.
        timer = threading.Timer(0.05, put)
        timer.start()
        connection.drain_events(timeout=600)
        timer.join()

    assert got == ["hello"]


def test_earlier_message_is_delivered_immediately(connection: Connection) -> None:
    queue = Queue("before", routing_key="before")
    got: list[str] = []
    with connection.channel() as channel:
        Producer(channel).publish("early", routing_key="before", declare=[queue])
        with Consumer(channel, queue, callbacks=[lambda body, _: got.append(body)], no_ack=True):
            connection.drain_events(timeout=600)

    assert got == ["early"]


def test_a_spurious_wakeup_checks_for_the_end(connection: Connection) -> None:
    with (
        connection.channel() as channel,
        Consumer(channel, Queue("woken"), no_ack=True, accept=None),
    ):
        ended = threading.Event()

        def wake() -> None:
            while not ended.wait(0.05):  # the first wake-up may come before the worker waits
                Transport.wake()

        waking = threading.Thread(target=wake)
        waking.start()
        # The worker treats this like the end of its wait, after which it checks whether to stop.
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=600)
        ended.set()
        waking.join()


def test_nothing_in_time_is_a_time_out(connection: Connection) -> None:
    with (
        connection.channel() as channel,
        Consumer(channel, Queue("empty"), no_ack=True, accept=None),
        pytest.raises(TimeoutError),
    ):
        connection.drain_events(timeout=0.01)
