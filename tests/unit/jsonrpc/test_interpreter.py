"""Few threads run CPU-bound calls at the same time, and an event loop pauses for the other threads."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.limits.interpreter import (
    AT_ONCE,
    NEEDED_SECONDS,
    PAUSE_SECONDS,
    WORK_SECONDS,
    Interpreter,
)
from tests.unit.jsonrpc.test_hot import body

THREADS = 8


class Inside:
    """A method that counts the threads in which it runs."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Run long enough for other threads to enter."""
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        with self._lock:
            self.now -= 1
        return 1


@pytest.mark.parametrize("batch", [True, False])
def test_computing_threads_are_limited_across_interfaces(*, batch: bool) -> None:
    inside = Inside()
    registry = MethodRegistry()
    registry.add("compute", inside, computes=True)
    interpreter = Interpreter(patience=60.0)
    dispatchers = [Dispatcher(registry, interpreter=interpreter) for _ in range(2)]
    call = body("compute")
    asked = b"[%b]" % b",".join([call] * 10) if batch else call

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(lambda at: dispatchers[at % 2].answer(asked), range(5 * THREADS)))

    assert inside.most == AT_ONCE
    assert set(answers) == {asked.replace(call, b'{"jsonrpc":"2.0","id":1,"result":1}')}


def test_long_waiting_thread_computes_despite_the_limit() -> None:
    registry = MethodRegistry()
    end = threading.Event()
    registry.add("hang", lambda: end.wait(60), computes=True)
    registry.add("compute", lambda: 1, computes=True)
    dispatcher = Dispatcher(registry, interpreter=Interpreter(at_once=1, patience=0.01))

    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(dispatcher.answer, body("hang"))
        assert dispatcher.answer(body("compute")) == b'{"jsonrpc":"2.0","id":1,"result":1}'
        assert not hanging.done()
        end.set()
        assert hanging.result() == b'{"jsonrpc":"2.0","id":1,"result":true}'


class Clock:
    """A clock that advances only during sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def interpreter(clock: Clock) -> Interpreter:
    return Interpreter(clock=clock.time, sleep=clock.sleep)


async def answer(interpreter: Interpreter, count: int) -> None:
    """Answer `count` requests in one turn of the loop, then let the turn end."""
    for _ in range(count):
        interpreter.give_way(asyncio.get_running_loop())
    await asyncio.sleep(0)


async def test_event_loop_pauses_once_per_turn_while_a_thread_needs_it(
    interpreter: Interpreter, clock: Clock
) -> None:
    before = clock.now
    await answer(interpreter, 3)
    assert clock.now == before

    with interpreter.needed(), interpreter.needed():
        await answer(interpreter, 3)
        assert clock.now == before + PAUSE_SECONDS
    await answer(interpreter, 3)
    assert clock.now == before + PAUSE_SECONDS


async def test_between_two_pauses_it_works(interpreter: Interpreter, clock: Clock) -> None:
    with interpreter.needed():
        await answer(interpreter, 1)
        for spent, pauses in ((0.0, 0), (WORK_SECONDS / 2, 0), (WORK_SECONDS, 1)):
            clock.now += spent
            before = clock.now
            await answer(interpreter, 2)
            assert clock.now == pytest.approx(before + pauses * PAUSE_SECONDS, abs=1e-9)


async def test_loop_does_not_pause_while_answers_are_unsent(
    interpreter: Interpreter, clock: Clock
) -> None:
    with interpreter.needed():
        before = clock.now
        interpreter.give_way(asyncio.get_running_loop())
        assert clock.now == before


async def test_a_thread_that_fails_needs_it_no_more(interpreter: Interpreter, clock: Clock) -> None:
    with pytest.raises(ValueError, match="failed"), interpreter.needed():
        raise ValueError("failed")
    before = clock.now
    await answer(interpreter, 1)
    assert clock.now == before


async def test_a_thread_that_takes_long_needs_it_for_a_while(
    interpreter: Interpreter, clock: Clock
) -> None:
    with interpreter.needed():
        clock.now += NEEDED_SECONDS
        before = clock.now
        await answer(interpreter, 1)
        assert clock.now == before
        with interpreter.needed():
            await answer(interpreter, 1)
            assert clock.now == before + PAUSE_SECONDS


def test_a_loop_that_ended_before_its_pause_keeps_none_from_its_own(
    interpreter: Interpreter, clock: Clock
) -> None:
    before = clock.now
    with interpreter.needed():
        ended = asyncio.new_event_loop()
        interpreter.give_way(ended)
        ended.close()
        asyncio.run(answer(interpreter, 1))
    assert clock.now == before + PAUSE_SECONDS


@pytest.mark.parametrize(("computes", "pauses"), [(True, 0), (False, 1)])
async def test_calls_that_wait_need_it(
    interpreter: Interpreter, clock: Clock, *, computes: bool, pauses: int
) -> None:
    registry = MethodRegistry()
    begun, end = threading.Event(), threading.Event()
    registry.add("call", lambda: begun.set() or end.wait(60), computes=computes)
    dispatcher = Dispatcher(registry, interpreter=interpreter)
    running = asyncio.get_running_loop().run_in_executor(None, dispatcher.answer, body("call"))
    await asyncio.to_thread(begun.wait, 60)
    before = clock.now
    await answer(interpreter, 1)
    end.set()
    await running
    assert clock.now == pytest.approx(before + pauses * PAUSE_SECONDS, abs=1e-9)
