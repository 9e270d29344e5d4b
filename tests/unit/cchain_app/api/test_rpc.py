"""The parts of the RPC context: the record of sent heads, and the turns of calls that trace.

Each head is sent once, in order, whatever the chain does meanwhile.
"""

import queue
import threading
from contextlib import closing

import pytest

from cchain_app.api.rpc import SentHeads, TraceTurns
from jsonrpc.errors import LIMIT_EXCEEDED, JsonRpcError


def begun(number: int) -> SentHeads:
    heads = SentHeads()
    heads.reset_to(number)
    return heads


def test_each_height_is_due_once_and_in_order() -> None:
    heads = begun(5)
    assert list(heads.due(8)) == [6, 7, 8]
    assert list(heads.due(8)) == []
    assert list(heads.due(9)) == [9]


def test_no_head_is_due_before_the_first_subscription() -> None:
    assert list(SentHeads().due(3)) == []


def test_head_being_sent_is_not_sent_twice() -> None:
    heads = begun(5)
    with closing(heads.due(6)) as due:
        assert next(due) == 6
        assert list(heads.due(8)) == []
        assert list(due) == [7, 8]


def test_a_height_whose_sending_was_left_is_due_again() -> None:
    heads = begun(5)
    with closing(heads.due(7)) as due:
        assert next(due) == 6
    assert list(heads.due(7)) == [6, 7]


def test_rewind_during_sending_sends_all_new_heights() -> None:
    heads = begun(6)
    with closing(heads.due(8)) as due:
        assert [next(due), next(due)] == [7, 8]
        heads.go_back(5)
        assert list(due) == []
    assert list(heads.due(7)) == [6, 7]


def test_a_request_without_a_turn_in_time_is_refused():
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


def test_exception_releases_the_trace_turn():
    turns = TraceTurns(1, patience=0.01)

    with pytest.raises(KeyError), turns.turn():
        raise KeyError
    with turns.turn():
        pass
