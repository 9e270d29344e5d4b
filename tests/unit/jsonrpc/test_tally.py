"""The counts of a tally from any number of threads, including threads that have ended."""

import threading

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.tally import BOUNDS, Durations, Tally
from tests.unit.jsonrpc.test_hot import body


def in_thread(work, *arguments: object) -> None:
    thread = threading.Thread(target=work, args=arguments)
    thread.start()
    thread.join()


def test_a_duration_counts_in_the_first_range_that_reaches_it() -> None:
    tally = Tally((0.001, 0.1))
    for seconds in (0.0, 0.001, 0.002, 0.1, 0.5, 7.0):
        tally.observe("a", seconds)
    assert tally.read().durations == {"a": Durations((2, 2, 2), 7.603)}
    assert tally.read().durations["a"].number == 6


def test_bounds_rise() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))


def test_errors_count_by_name_and_code() -> None:
    tally = Tally()
    tally.observe("a", 0.1)
    tally.observe("a", 0.1, -32000)
    tally.observe("a", 0.1, -32000)
    tally.observe("b", 0.1, "OperationalError")
    counted = tally.read()
    assert counted.errors == {("a", -32000): 2, ("b", "OperationalError"): 1}
    assert counted.durations["a"].number == 3


def test_all_threads_count_together() -> None:
    tally = Tally()
    started = threading.Barrier(4)

    def work() -> None:
        started.wait()
        for number in range(5000):
            tally.observe("a" if number % 2 else "b", 0.001, number % 10 == 0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = tally.read()
    assert {name: duration.number for name, duration in counted.durations.items()} == {
        "a": 10_000,
        "b": 10_000,
    }
    assert sum(counted.errors.values()) == 2000


def test_counts_of_ended_threads_are_merged() -> None:
    tally = Tally()
    for _ in range(50):
        in_thread(tally.observe, "a", 0.5, -1)
    assert len(tally._tables) <= 2  # of the last thread and of this one
    tally.observe("a", 0.5)
    counted = tally.read()
    assert (counted.durations["a"].number, counted.durations["a"].seconds) == (51, 25.5)
    assert counted.errors == {("a", -1): 50}
    assert tally.read() == counted


def test_tally_can_be_reset() -> None:
    tally = Tally()
    tally.observe("a", 0.1, -1)
    in_thread(tally.observe, "a", 0.1)
    tally.reset()
    assert tally.read() == ({}, {})
    tally.observe("a", 0.1)
    assert tally.read().durations["a"].number == 1


def test_unknown_methods_share_one_name(registry) -> None:
    tally = Tally()
    dispatcher = Dispatcher(registry, observer=tally.observe)
    for number in range(500):
        dispatcher.answer_hot(body(f"no_such_method_{number}"))
        dispatcher.answer(body("x" * (3000 + number)))
        dispatcher.answer(b"[%b,%b]" % (body(f"nor_this_{number}"), body("number")))
    assert set(tally.read().durations) == {"unknown", "number"}
    assert len(tally.read().errors) <= 3
