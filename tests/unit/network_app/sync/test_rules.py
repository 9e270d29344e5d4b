"""Timeouts, intervals, votes, limits and prefixes: the rules that need no event loop."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.config import NetworkConfig
from network_app.ports import SyncState
from network_app.sync.errors import AncestryReason, BadAncestors, ImpossibleHeight
from network_app.sync.fetching import read_ancestry
from network_app.sync.frontier import FrontierResult, agreed
from network_app.sync.messages import as_id, split_handler, with_handler
from network_app.sync.producing import WINDOW, Window
from network_app.sync.progress import ProgressRecorder
from network_app.sync.pulling import HOUR, HourlyLimit
from network_app.sync.requests import AdaptiveTimeout
from network_app.sync.tx_queue import Recently, in_messages
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, block_bytes, id_of
from tests.searching import cases

CONFIG = NetworkConfig(network_id=12345)
NODES = [NodeID(bytes([at]) * 20) for at in range(8)]
BLOCKS = [ID(bytes([at]) * 32) for at in range(8)]


def test_the_time_out_is_five_seconds_at_first_and_twice_the_mean_latency_later() -> None:
    timeout = AdaptiveTimeout(CONFIG, now=0.0)
    assert timeout.seconds == pytest.approx(5.0)
    for second in range(3000):
        timeout.observe(1.5, float(second))
    assert timeout.seconds == pytest.approx(3.0, rel=0.01)


def test_timeout_is_within_its_limits() -> None:
    timeout = AdaptiveTimeout(CONFIG, now=0.0)
    for second in range(100):
        timeout.observe(0.001, float(second))
    assert timeout.seconds == 2.0
    for second in range(100, 3000):
        timeout.observe(10.0, float(second))
    assert timeout.seconds == 10.0


def test_blocks_are_agreed_on_by_enough_nodes_those_with_more_votes_first() -> None:
    votes = {
        NODES[0]: [BLOCKS[0], BLOCKS[1]],
        NODES[1]: [BLOCKS[1], BLOCKS[0], BLOCKS[0]],
        NODES[2]: [BLOCKS[1], BLOCKS[2], BLOCKS[2]],
    }
    assert agreed(votes, 2) == [
        FrontierResult(BLOCKS[1], frozenset(NODES[:3])),
        FrontierResult(BLOCKS[0], frozenset(NODES[:2])),
    ]
    assert agreed(votes, 4) == []


def test_push_window_is_one_for_an_unresponsive_peer() -> None:
    window = Window()
    for _ in range(WINDOW):
        assert window.is_open
        window.unanswered += 1
    assert not window.is_open
    window.unanswered, window.deaf = 1, True
    assert not window.is_open
    window.unanswered = 0
    assert window.is_open


def test_a_copy_is_new_again_after_a_while() -> None:
    recently = Recently(seconds=10.0)
    assert recently.is_new(b"x", 0.0)
    assert not recently.is_new(b"x", 9.0)
    assert recently.is_new(b"x", 10.0)
    assert not recently.is_new(b"x", 11.0)


def test_copies_are_remembered_up_to_a_number() -> None:
    recently = Recently(seconds=10.0, capacity=100)
    for at in range(1000):
        assert recently.is_new(str(at).encode(), 0.0)
    assert len(recently) == 100
    assert recently.is_new(b"0", 0.0)
    assert not recently.is_new(b"999", 0.0)


@settings(max_examples=cases(20))
@given(st.lists(st.binary(max_size=60), max_size=40))
def test_messages_hold_all_transactions_in_order_and_are_not_too_large(raws: list[bytes]) -> None:
    messages = list(in_messages(raws, size=100))
    assert [raw for message in messages for raw in message] == raws
    assert all(message for message in messages)
    assert all(sum(map(len, message)) <= 100 for message in messages)


def test_oversized_transaction_is_sent_alone() -> None:
    assert list(in_messages([b"a", b"b" * 200, b"c"], size=100)) == [[b"a"], [b"b" * 200], [b"c"]]


@settings(max_examples=cases(30))
@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=20))
def test_a_handler_prefix_is_read_as_it_is_written(handler: int, payload: bytes) -> None:
    assert split_handler(with_handler(handler, payload)) == (handler, payload)


@settings(max_examples=cases(30))
@given(st.binary(max_size=30))
def test_any_bytes_are_split_or_not(raw: bytes) -> None:
    found = split_handler(raw)
    ends = any(byte < 0x80 for byte in raw[:10])
    assert (found is not None) == ends


def test_only_thirty_two_bytes_are_an_id() -> None:
    assert as_id(bytes(32)) == ID(bytes(32))
    assert as_id(bytes(31)) is None
    assert as_id(bytes(33)) is None


def test_an_hours_limit_slides() -> None:
    limit = HourlyLimit(10)
    assert [limit.allows(NODES[0], 0.0) for _ in range(11)] == [True] * 10 + [False]
    assert limit.allows(NODES[1], 0.0)
    # Half of the last hour is still within the window.
    later = HOUR * 1.5
    assert [limit.allows(NODES[0], later) for _ in range(6)] == [True] * 5 + [False]
    assert limit.allows(NODES[0], HOUR * 4)


def test_the_counts_of_an_hours_limit_are_bounded() -> None:
    limit = HourlyLimit(10, capacity=5)
    for node in NODES:
        limit.allows(node, 0.0)
    assert len(limit) == 5


def test_ancestors_are_read_down_to_a_height() -> None:
    chain = MemoryChain()
    chain.make_many(10)
    wanted = id_of(chain.raws[10])
    blocks, fault = read_ancestry(chain, chain.raws[::-1], wanted, 4, 10)
    assert [block.height for block in blocks] == [10, 9, 8, 7, 6, 5]
    assert fault is None


def test_blocks_before_a_fault_are_kept() -> None:
    chain = MemoryChain()
    chain.make_many(10)
    raws, wanted = chain.raws[:0:-1], id_of(chain.raws[10])

    blocks, fault = read_ancestry(chain, [*raws[:3], b"junk", *raws[3:]], wanted, 0, None)
    assert len(blocks) == 3
    assert isinstance(fault, BadAncestors)
    assert fault.reason is AncestryReason.UNPARSABLE

    blocks, fault = read_ancestry(chain, [*raws[:3], *raws[4:]], wanted, 0, None)
    assert len(blocks) == 3
    assert isinstance(fault, BadAncestors)
    assert fault.reason is AncestryReason.NOT_THE_PARENT
    assert fault.values == {"parent_id": id_of(raws[3]), "actual": id_of(raws[4])}

    blocks, fault = read_ancestry(chain, raws[1:], wanted, 0, None)
    assert blocks == []
    assert isinstance(fault, BadAncestors)
    assert fault.reason is AncestryReason.OTHER_BLOCK
    assert fault.values == {"wanted": wanted, "actual": id_of(raws[1])}


def test_heights_have_to_fit() -> None:
    chain = MemoryChain()
    chain.make_many(3)
    odd = block_bytes(id_of(chain.raws[3]), 9)
    blocks, fault = read_ancestry(chain, [odd, *chain.raws[3:0:-1]], id_of(odd), 0, None)
    assert [block.height for block in blocks] == [9]
    assert isinstance(fault, ImpossibleHeight)
    assert (fault.height, fault.expected) == (3, 8)
    blocks, fault = read_ancestry(chain, chain.raws[3:0:-1], id_of(chain.raws[3]), 0, 4)
    assert blocks == []
    assert str(fault) == f"block {id_of(chain.raws[3])} says height 3 and has to have 4"


def due(reporter: ProgressRecorder, state: SyncState, at: float) -> bool:
    """Return whether a state is due, and record it as written if it is."""
    found = reporter._is_due("P", state, at)
    if found:
        reporter._written["P"] = state, at
    return found


def test_a_state_is_written_when_it_changed_and_not_all_the_time() -> None:
    reporter = ProgressRecorder([], None, None, None)  # type: ignore[arg-type]
    assert due(reporter, SyncState(bootstrapped=False, height=1), 0.0)
    assert not due(reporter, SyncState(bootstrapped=False, height=9), 0.5)
    assert due(reporter, SyncState(bootstrapped=False, height=10), 1.0)
    assert not due(reporter, SyncState(bootstrapped=False, height=10), 100.0)
    assert due(reporter, SyncState(bootstrapped=True, height=11), 100.1)
    # Heights alone are not worth a write, because other processes can read the chain itself.
    assert not due(reporter, SyncState(bootstrapped=True, height=12), 105.0)
    assert due(reporter, SyncState(bootstrapped=True, height=13), 111.0)
    assert due(reporter, SyncState(bootstrapped=True, height=13, outstanding=2), 112.0)
