"""Value transfers inserted among the logs of contracts, in order of execution."""

from cchain_app.evm.engine import Log
from cchain_app.evm.tracing import Frame, FrameLog
from cchain_app.simulation.assembly import TRANSFER_ADDRESS, TRANSFER_TOPIC, logs_with_transfers
from tests.builders.traces import CALLEE, CALLER, OTHER, frame, selfdestruct


def said(number: int) -> Log:
    return Log(CALLEE, (), bytes([number]))


def emitted(*positions: int) -> tuple[FrameLog, ...]:
    """Return logs, each after the given number of calls in its frame; the data is the log's index."""
    return tuple(FrameLog(said(place), place, position) for place, position in enumerate(positions))


UNDONE = "undone"


def read_logs(*frames: Frame) -> list[int | str | tuple[bytes, bytes, int]]:
    """Return the first byte of each log; (sender, recipient, wei) of a transfer; `UNDONE` if reverted."""
    found: list[int | str | tuple[bytes, bytes, int]] = []
    for log in logs_with_transfers(frames):
        if log is None:
            found.append(UNDONE)
        elif log.address == TRANSFER_ADDRESS:
            topic, sender, recipient = log.topics
            assert topic == TRANSFER_TOPIC
            found.append((sender[12:], recipient[12:], int.from_bytes(log.data, "big")))
        else:
            found.append(log.data[0])
    return found


def test_the_call_itself_moves_value() -> None:
    assert read_logs(frame(value=5)) == [(CALLER, CALLEE, 5)]
    assert read_logs(frame(value=0)) == []


def test_transfer_logs_are_interleaved_with_call_logs() -> None:
    top = frame(value=1, logs=emitted(0, 1, 1, 2))
    inner = frame(1, sender=CALLEE, to=OTHER, value=7)
    last = frame(1, sender=CALLEE, to=CALLER, value=9)
    assert read_logs(top, inner, last) == [
        (CALLER, CALLEE, 1), 0, (CALLEE, OTHER, 7), 1, 2, (CALLEE, CALLER, 9), 3,
    ]  # fmt: skip


def test_logs_of_inner_calls_are_reported_before_those_after_them() -> None:
    top = frame(logs=emitted(0, 1))
    inner = frame(1, logs=(FrameLog(said(8), 1, 0), FrameLog(said(9), 2, 1)))
    deepest = frame(2, value=3)
    assert read_logs(top, inner, deepest) == [0, 8, (CALLER, CALLEE, 3), 9, 1]


def test_reverted_logs_are_counted_but_not_returned() -> None:
    undone = frame(1, value=5, error="execution reverted")
    inside = frame(2, value=6)
    after = frame(1, value=7)
    assert read_logs(frame(logs=emitted(1, 2)), undone, inside, after) == [
        UNDONE, UNDONE, 0, (CALLER, CALLEE, 7), 1,
    ]  # fmt: skip
    assert read_logs(frame(value=1, error="out of gas"), frame(1, value=2)) == [UNDONE, UNDONE]
    assert read_logs(frame(error="out of gas"), frame(1, type="DELEGATECALL", value=2)) == []


def test_delegated_calls_move_nothing_and_the_end_of_a_contract_does() -> None:
    delegated = frame(1, type="DELEGATECALL", value=4)
    copied = frame(1, type="CALLCODE", value=4)
    created = frame(1, type="CREATE2", to=OTHER, value=2)
    assert read_logs(frame(), delegated, copied, created, selfdestruct(1)) == [
        (CALLER, OTHER, 2), (CALLEE, OTHER, 12),
    ]  # fmt: skip
