"""Few threads at once run calls that do nothing but compute."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jsonrpc.dispatch import Dispatcher
from jsonrpc.interpreter import AT_ONCE, Interpreter
from jsonrpc.registry import MethodRegistry
from tests.unit.jsonrpc.test_hot import body

THREADS = 8


class Inside:
    """A method that counts in how many threads it runs."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Stay for a moment, in which others would come."""
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        with self._lock:
            self.now -= 1
        return 1


@pytest.mark.parametrize("batch", [True, False])
def test_so_many_threads_compute_at_once_for_all_interfaces(*, batch: bool) -> None:
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


def test_who_has_waited_for_long_computes_all_the_same() -> None:
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
