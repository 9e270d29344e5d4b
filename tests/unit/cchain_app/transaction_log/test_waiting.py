"""The log queue is bounded, repeated calls are merged, and the number of logged entries is limited."""

from cchain_app.transaction_log.entries import CallEntry, Collapse, EmptyBlockEntry, SummaryEntry
from cchain_app.transaction_log.waiting import (
    CallFailure,
    EntryAllowance,
    LogQueue,
    RepeatCount,
    WaitingBlock,
    WaitingCall,
    acts,
)
from primitives.evm import ZERO_HASH
from tests.builders.accepted import accepted
from tests.builders.transactions import signed

BLOCK = EmptyBlockEntry(1, ZERO_HASH, None)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def taken(line: LogQueue) -> list[object]:
    return list(iter(line.take, None))


def test_entries_beyond_the_limit_are_counted_in_one_entry() -> None:
    line = LogQueue(most=2)
    blocks = [accepted(number, [signed()], gas_used=21_000) for number in range(1, 6)]
    for block in blocks:
        line.add_block(block)
    line.add_call("eth_call", 3)

    assert len(line) == 3
    assert taken(line) == [
        WaitingBlock(blocks[0]),
        WaitingBlock(blocks[1]),
        RepeatCount(first_block=3, last_block=5, transactions=3, gas_used=63_000, calls=3),
    ]


def test_taking_an_entry_frees_capacity() -> None:
    line = LogQueue(most=1)
    first, second = accepted(1), accepted(2)
    line.add_block(first)
    assert line.take() == WaitingBlock(first)
    line.add_block(second)

    assert line.take() == WaitingBlock(second)
    assert line.take() is None


def test_transactions_of_all_blocks_together_are_bounded() -> None:
    line = LogQueue(most=10, most_transactions=2)
    two, one = accepted(1, [signed(), signed()]), accepted(2, [signed()])
    line.add_block(two)
    line.add_block(one)
    assert taken(line) == [WaitingBlock(two), RepeatCount(2, 2, 1, 21_000)]

    line.add_block(one)
    assert taken(line) == [WaitingBlock(one)]


def test_consecutive_calls_of_a_method_are_merged_unless_executed_again() -> None:
    line, trace = LogQueue(), lambda: None
    line.add_call("eth_call")
    line.add_call("eth_call", 2)
    line.add_call("eth_call", trace=trace)
    line.add_call("eth_call")
    line.add_call("evm_mine")
    line.add_call("evm_mine", exists=False)

    assert taken(line) == [
        WaitingCall("eth_call", 3), WaitingCall("eth_call", 1, trace=trace), WaitingCall("eth_call", 1),
        WaitingCall("evm_mine", 1), WaitingCall("evm_mine", 1, exists=False),
    ]  # fmt: skip


def test_call_with_trace_respects_the_limit() -> None:
    line = LogQueue(most=1)
    for _ in range(1000):
        line.add_call("eth_call", trace=lambda: None)

    assert len(line) == 2
    assert taken(line)[1] == RepeatCount(calls=999)


def test_allowance_refills_with_time() -> None:
    clock = Clock()
    allowance = EntryAllowance(at_once=3, a_second=2, clock=clock)

    assert [allowance.take(2), allowance.take(2), allowance.take(1)] == [True, False, True]
    clock.now = 0.5
    assert [allowance.take(2), allowance.take(1)] == [False, True]
    clock.now = 100
    assert [allowance.take(4), allowance.take(3)] == [False, True]


def test_repeated_calls_are_one_entry_for_a_second() -> None:
    clock = Clock()
    collapse = Collapse(clock=clock)
    call = CallEntry("eth_call")

    assert list(collapse.put(call)) == [call]
    assert collapse.seconds_left() is None
    clock.now = 0.25
    assert list(collapse.put(call)) + list(collapse.put(call)) == []
    assert collapse.seconds_left() == 0.75
    assert list(collapse.take_due()) == []
    clock.now = 1.0
    assert list(collapse.take_due()) == [CallEntry("eth_call", 2)]
    assert list(collapse.put(call)) == []
    assert list(collapse.take()) == [call]


def test_held_back_entry_precedes_later_entries() -> None:
    collapse = Collapse(clock=Clock())
    call, other = CallEntry("eth_call"), CallEntry("evm_mine")
    told = CallEntry("evm_mine", messages=("hello",))
    given = (call, call, other, told, BLOCK, BLOCK, call)

    assert [item for entry in given for item in collapse.put(entry)] == [
        call, call, other, told, BLOCK, BLOCK, call,
    ]  # fmt: skip


def test_summaries_are_added_up() -> None:
    collapse = Collapse(clock=Clock())
    given = (
        SummaryEntry(1, 1, 5, 100, 0), SummaryEntry(None, None, 0, 0, 2), SummaryEntry(2, 3, 7, 50, 0),
        SummaryEntry(4, 4, 1, 50, 1),
    )  # fmt: skip

    found = [item for entry in given for item in collapse.put(entry)]
    assert found == [given[0]]
    assert list(collapse.take()) == [SummaryEntry(2, 4, 8, 100, 3)]


def test_methods_that_read_are_not_named_but_those_that_act() -> None:
    named = (
        "eth_call", "eth_estimateGas", "eth_sendRawTransaction", "eth_sendTransaction", "eth_sign",
        "eth_signTypedData_v4", "evm_mine", "anvil_setBalance", "hardhat_reset", "personal_sign",
        "debug_traceCall", "trace_block", "eth_createAccessList", "eth_simulateV1",
    )  # fmt: skip
    passed_over = (
        "eth_blockNumber", "eth_getBalance", "eth_chainId", "net_version", "web3_clientVersion",
        "eth_getFilterChanges", "txpool_status", "debug_getRawBlock", "eth_callMany", "ots_hasCode",
    )  # fmt: skip

    assert [item for item in named + passed_over if acts(item)] == list(named)


NO = CallFailure(3, "execution reverted: no", b"no")
OTHER = CallFailure(-32000, "nonce too low")


def test_a_failure_belongs_to_the_call_before_it() -> None:
    line = LogQueue()
    line.add_call("eth_call", 2)
    line.add_failure("eth_call", NO)

    assert taken(line) == [WaitingCall("eth_call", 1), WaitingCall("eth_call", 1, failure=NO)]


def test_equal_failures_are_counted_together() -> None:
    line = LogQueue()
    for failure in (NO, NO, OTHER, OTHER):
        line.add_call("eth_call")
        line.add_failure("eth_call", failure)

    assert taken(line) == [
        WaitingCall("eth_call", 2, failure=NO),
        WaitingCall("eth_call", 2, failure=OTHER),
    ]


def test_failure_after_its_written_call_repeats_the_method() -> None:
    line = LogQueue()
    line.add_call("eth_blockNumber")
    line.add_failure("eth_call", NO)
    line.add_failure("eth_call", NO)

    assert taken(line) == [
        WaitingCall("eth_blockNumber", 1),
        WaitingCall("eth_call", 2, failure=NO),
    ]


def test_failure_beyond_the_limit_is_not_counted_as_a_call() -> None:
    line = LogQueue(most=1)
    line.add_call("eth_call")
    line.add_call("eth_estimateGas")
    line.add_failure("eth_estimateGas", NO)

    assert taken(line) == [WaitingCall("eth_call", 1), RepeatCount(calls=1)]
