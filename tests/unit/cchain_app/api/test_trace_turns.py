"""The turns of tracing calls."""

import queue
import threading

import pytest

from cchain_app.api.rpc import TraceTurns
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError


def test_who_cannot_have_a_turn_in_time_is_refused():
    turns = TraceTurns(1, patience=0.01)

    with turns.turn(), pytest.raises(JsonRpcError) as refused, turns.turn():
        pytest.fail("two at once")
    assert refused.value.code == LIMIT_EXCEEDED
    with turns.turn():
        pass


def test_one_waits_for_each_that_traces_and_the_next_is_refused():
    turns = TraceTurns(1, patience=60)
    outcomes: queue.Queue[str] = queue.Queue()

    def take_a_turn() -> None:
        try:
            with turns.turn():
                outcomes.put("traced")
        except JsonRpcError:
            outcomes.put("refused")

    threads = [threading.Thread(target=take_a_turn) for _ in range(2)]
    with turns.turn():
        for thread in threads:
            thread.start()
        assert outcomes.get(timeout=60) == "refused"
    assert outcomes.get(timeout=60) == "traced"
    for thread in threads:
        thread.join(60)


def test_a_turn_ends_with_what_goes_wrong_in_it():
    turns = TraceTurns(1, patience=0.01)

    with pytest.raises(KeyError), turns.turn():
        raise KeyError
    with turns.turn():
        pass
