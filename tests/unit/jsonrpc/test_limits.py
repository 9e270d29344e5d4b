"""Limits of all unknown clients together: values of a body, bytes of bodies, connections."""

import threading
import time

import pytest

from jsonrpc.dispatch import envelope
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import Overloaded
from jsonrpc.limits.client_address import TrustedProxies
from jsonrpc.limits.connections import MAX_LOOKED_AT, ConnectionLimits, Connections
from jsonrpc.limits.memory import SMALL, MemoryLimits, MemoryShare, RequestMemory, UnreadMemory
from jsonrpc.limits.throttle import SILENCE_SECONDS
from primitives.json_limits import MAX_VALUES, TooDeep, TooManyValues, bounded, nesting

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"number"}'
ECHO = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":[%b]}'
TOO_MANY = b'{"code":-32600,"message":"more than 100000 values"}'


class Counted:
    """A counter of the objects parsed from texts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        original = envelope._read_object

        def count(text: bytes) -> object:
            self.made += 1
            return original(text)

        monkeypatch.setattr(envelope, "_read_object", count)


@pytest.mark.parametrize("element", [b"1", b"{}", b"[]", b"null", b'"a,b"', b"[1,{}]", b"1.5e3"])
def test_overlong_batch_is_read_to_its_limit_only(
    dispatcher: Dispatcher, element: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    body = b"[" + b",".join([element] * 50_000) + b"]"
    answer = dispatcher.answer(body)
    assert answer is not None
    assert b'"message":"batch too large"' in answer
    assert len(answer) < 200
    assert counted.made <= 1002


def test_a_batch_up_to_the_limit_is_read_whole(dispatcher: Dispatcher) -> None:
    exactly = b"[" + b",".join(CALL % i for i in range(1000)) + b"]"
    answer = dispatcher.answer(exactly)
    assert answer is not None
    assert answer.count(b'"result"') == 1000
    refused = dispatcher.answer(exactly[:-1] + b"," + CALL % 1000 + b"]")
    error = b'{"code":-32600,"message":"batch too large"}'
    assert refused == b'[{"jsonrpc":"2.0","id":0,"error":%b}]' % error


@pytest.mark.parametrize(
    "value", [b"[" + b"1," * MAX_VALUES + b"1]", b"[" + b"[]," * MAX_VALUES + b"[]]",
              b'{"a":[' + b'"",' * MAX_VALUES + b'""]}', b"[" + b"{}" * (MAX_VALUES + 1) + b"]"],
)  # fmt: skip
def test_a_call_with_too_many_values_is_refused(dispatcher: Dispatcher, value: bytes) -> None:
    answer = dispatcher.answer(ECHO % value)
    assert answer == b'{"jsonrpc":"2.0","id":null,"error":%b}' % TOO_MANY


def test_brackets_in_strings_do_not_count_as_values(dispatcher: Dispatcher) -> None:
    text = b'"' + b'[{,\\"' * MAX_VALUES + b'"'
    answer = dispatcher.answer(ECHO % text)
    assert answer is not None
    assert b'"result"' in answer


@pytest.mark.parametrize(
    "params",
    [b'"0x' + b"ab" * 500_000 + b'"',
     b"[" + b",".join([b'"0x' + b"ab" * 20 + b'"'] * 10_000) + b"]",
     b'{"stateDiff":{' + b",".join(b'"0x%064x":"0x%064x"' % (i, i) for i in range(10_000)) + b"}}"],
    ids=["a megabyte of hex", "ten thousand addresses", "ten thousand slots"],
)  # fmt: skip
def test_ordinary_params_are_accepted(dispatcher: Dispatcher, params: bytes) -> None:
    answer = dispatcher.answer(ECHO % params)
    assert answer is not None
    assert b'"result"' in answer


def test_value_counting_stops_at_the_limit() -> None:
    assert bounded(b"[1,2,3]", 3, 64) == b"[1,2,3]"
    assert bounded(b"[1,2,3,4,5", 3, 64) == b"[1,2,3,4]"
    assert bounded(b'[",",{"a":[1,2]},3,4,5]', 3, 64) == b'[",",{"a":[1,2]},3,4]'
    with pytest.raises(TooDeep):
        bounded(b"[" * 65 + b"," * MAX_VALUES, None, 64)
    with pytest.raises(TooManyValues):
        bounded(b'""' * (5 * MAX_VALUES + 10) + b"," * (MAX_VALUES + 1), None, 64)


def test_bodies_are_counted_together_and_by_client() -> None:
    memory = RequestMemory(MemoryLimits(maximum=10 * SMALL, of_client=6 * SMALL))
    first, second, third = (MemoryShare(memory, lambda name=name: name) for name in ("a", "a", "b"))
    first.grow(SMALL)
    assert memory.held == 0
    first.grow(2 * SMALL)
    first.grow(5 * SMALL)
    with pytest.raises(Overloaded):
        second.grow(2 * SMALL)
    third.grow(5 * SMALL)
    with pytest.raises(Overloaded):
        third.grow(6 * SMALL)
    assert memory.held == 10 * SMALL
    first.give_back()
    first.give_back()
    second.grow(2 * SMALL)
    assert memory.held == 7 * SMALL
    second.give_back()
    third.give_back()
    assert memory.held == 0


class Slow:
    """A reader that keeps some of its unread data when it sheds for the first time."""

    def __init__(self, memory: UnreadMemory, client: str, kept: int = 0) -> None:
        self.memory = memory
        self.client = client
        self.kept = kept
        self.shed_times = 0

    def wait(self, size: int) -> None:
        self.memory.count(self, self.client, size)

    def shed(self) -> int:
        self.shed_times += 1
        left, self.kept = self.kept, 0
        self.wait(left)
        return left


@pytest.mark.parametrize(("client", "most"), [("a", 100), ("", 160)])
def test_slowest_reader_is_shed_first(client: str, most: int) -> None:
    memory = UnreadMemory(MemoryLimits(maximum=160, of_client=100))
    slow, slowest, slower = (Slow(memory, client) for _ in range(3))
    slow.wait(10)
    slowest.wait(most - 30)
    slower.wait(20)
    slow.wait(9)
    slow.wait(10)
    assert (memory.held, slowest.shed_times) == (most, 0)
    slow.wait(11)
    assert (slow.shed_times, slower.shed_times, slowest.shed_times) == (0, 0, 1)
    assert memory.held == 31
    for reader in (slow, slower, slowest):
        reader.wait(0)
    assert memory.held == 0


def test_unread_memory_of_other_clients_is_kept() -> None:
    memory = UnreadMemory(MemoryLimits(maximum=160, of_client=100))
    first, second, other = (Slow(memory, client) for client in ("a", "a", "b"))
    other.wait(60)
    first.wait(50)
    second.wait(51)
    assert (first.shed_times, second.shed_times, other.shed_times) == (0, 1, 0)
    assert memory.held == 110


def test_shedding_frees_an_eighth_of_the_memory() -> None:
    memory = UnreadMemory(MemoryLimits(maximum=80, of_client=80))
    readers = [Slow(memory, "") for _ in range(41)]
    for reader in readers:
        reader.wait(2)
    assert sum(reader.shed_times for reader in readers) == 6
    assert memory.held == 70


def test_largest_reader_is_shed_again_before_others() -> None:
    memory = UnreadMemory(MemoryLimits(maximum=100, of_client=100))
    slow, slowest = Slow(memory, "a"), Slow(memory, "a", kept=85)
    slow.wait(15)
    slowest.wait(86)
    assert (slow.shed_times, slowest.shed_times, memory.held) == (0, 2, 15)


class Line:
    """A connection."""

    def __init__(self, *, idle: bool = True) -> None:
        self.idle = idle
        self.closed = False

    def is_idle(self) -> bool:
        return self.idle

    def make_room(self) -> None:
        self.closed = True


def test_oldest_idle_connection_of_an_address_is_closed(clock) -> None:
    connections = Connections(ConnectionLimits(maximum=100, of_address=3), clock)
    other = Line()
    assert connections.enter(other, "192.0.2.1")
    busy, idle, last = Line(idle=False), Line(), Line()
    for line in (busy, idle, last):
        assert connections.enter(line, "192.0.2.7")
    assert connections.enter(Line(), "192.0.2.7")
    assert [line.closed for line in (other, busy, idle, last)] == [False, False, True, False]
    assert (connections.of("192.0.2.7"), len(connections)) == (3, 4)


def test_a_trusted_proxy_has_no_limit_of_an_address(clock) -> None:
    limits, proxies = ConnectionLimits(maximum=6, of_address=2), TrustedProxies.of("10.0.0.0/8")
    connections = Connections(limits, clock, proxies)
    lines = [Line(idle=False) for _ in range(9)]
    assert [connections.enter(line, "10.0.0.1") for line in lines[:4]] == [True] * 4
    assert [connections.enter(line, "192.0.2.7") for line in lines[4:7]] == [True, True, False]
    assert [connections.enter(line, "10.0.0.1") for line in lines[7:]] == [False, False]
    for line in lines:
        connections.leave(line)
    assert len(connections) == 0


def test_new_connection_of_a_busy_address_is_refused(clock) -> None:
    connections = Connections(ConnectionLimits(maximum=100, of_address=3), clock)
    lines = [Line(idle=False) for _ in range(3)]
    for line in lines:
        assert connections.enter(line, "2001:db8::1")
    assert not connections.enter(Line(), "2001:db8::2"), "the same /64"
    assert connections.enter(Line(), "2001:db8:0:1::2")
    for line in lines * 2:
        connections.leave(line)
    assert connections.of("2001:db8::1") == 0


def test_full_process_closes_idle_connections_of_any_address(clock) -> None:
    connections = Connections(ConnectionLimits(maximum=3, of_address=2), clock)
    first = Line()
    assert connections.enter(first, "192.0.2.1")
    assert connections.enter(Line(idle=False), "192.0.2.2")
    assert connections.enter(Line(idle=False), "192.0.2.3")
    assert connections.enter(Line(idle=False), "192.0.2.4")
    assert first.closed
    assert not connections.enter(Line(), "192.0.2.5")
    assert len(connections) == 3


def test_idle_connection_is_found_among_busy_ones(clock) -> None:
    limits = ConnectionLimits(maximum=1000, of_address=3 * MAX_LOOKED_AT + 1)
    connections = Connections(limits, clock)
    for _ in range(3 * MAX_LOOKED_AT):
        connections.enter(Line(idle=False), "192.0.2.1")
    idle = Line()
    connections.enter(idle, "192.0.2.1")
    tried = [connections.enter(Line(), "192.0.2.1") for _ in range(4)]
    assert tried == [False, False, False, True]
    assert idle.closed


def test_connection_of_another_protocol_is_still_counted(clock) -> None:
    connections = Connections(ConnectionLimits(maximum=10, of_address=10), clock)
    http, socket = Line(), Line()
    connections.enter(http, "192.0.2.1")
    connections.replace(http, socket)
    connections.leave(http)
    assert connections.of("192.0.2.1") == 1
    connections.leave(socket)
    assert len(connections) == 0
    connections.replace(http, socket)
    assert len(connections) == 0


def test_a_flood_is_a_line_a_minute(clock, caplog: pytest.LogCaptureFixture) -> None:
    connections = Connections(ConnectionLimits(maximum=10, of_address=1), clock)
    for _ in range(1001):
        connections.enter(Line(), "192.0.2.1")
    assert len(caplog.records) == 1
    assert "192.0.2.1 has reached the limit of 1 connections for one address" in caplog.text
    clock.now += SILENCE_SECONDS
    connections.enter(Line(), "192.0.2.1")
    assert len(caplog.records) == 2
    assert "(1000 more since the last such message)" in caplog.text


def test_connections_without_an_address_are_only_counted_in_all(clock) -> None:
    connections = Connections(ConnectionLimits(maximum=5, of_address=2), clock)
    assert all(connections.enter(Line(idle=False), "") for _ in range(5))


@pytest.mark.parametrize("count", [lambda body: bounded(body, 1000, 64), nesting])
def test_other_threads_run_while_a_long_string_is_parsed(count) -> None:
    body = b'["' + b"\\n" * 15_900_000 + b'"' + b",{}" * 900 + b"," * 101 + b"]"

    def runs_beside() -> bool:
        gaps: list[float] = []
        began, ended = threading.Event(), threading.Event()

        def tick() -> None:
            last = time.monotonic()
            began.set()
            while not ended.wait(0.001):
                now = time.monotonic()
                gaps.append(now - last)
                last = now
            gaps.append(time.monotonic() - last)

        other = threading.Thread(target=tick)
        other.start()
        began.wait()
        start = time.monotonic()
        count(body)
        taken = time.monotonic() - start
        ended.set()
        other.join()
        return max(gaps) < taken / 2

    # Another process can hold up the other thread for as long, but not every time.
    assert any(runs_beside() for _ in range(20))
