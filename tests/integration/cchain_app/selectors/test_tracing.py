"""Re-execution of blocks: only the given block, on its parent's state, checked against its receipts."""

from dataclasses import replace

import pytest

from cchain_app.evm.tracing import Recording
from cchain_app.selectors import blocks, development, tracing
from cchain_app.selectors.state import state_at
from primitives.evm import Slot
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, traced_chain

FRAMES = Recording(frames=True)
SECONDS = 30.0


@pytest.fixture
def made(chain):
    return traced_chain(chain)


@pytest.fixture
def engine(made, monkeypatch):
    counting = CountingEngine(made.chain.evm.engine)
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", counting)
    return counting


def traced(made, name, recording=FRAMES):
    return tracing.trace_transaction(
        made.chain.evm, made.block, made.index(name), recording, time_limit=SECONDS
    )


def test_a_trace_executes_the_transactions_before_it_in_its_block_and_nothing_else(made, engine):
    found = traced(made, "count_again")

    assert engine.blocks == [(2, 3, 2)]
    assert [frame.to for frame in found.frames] == [ADDRESSES["proxy"], ADDRESSES["counter"]]
    assert int.from_bytes(found.frames[1].output) == 2


def test_a_block_is_traced_in_one_execution(made, engine):
    found = tracing.trace_block(made.chain.evm, made.block, FRAMES, time_limit=SECONDS)

    assert engine.blocks == [(2, len(made.sent), 0)]
    assert len(found) == len(made.sent)
    for name in ("transfer", "count_again", "logs", "revert"):
        assert found[made.index(name)] == traced(made, name)


def test_a_trace_is_the_same_at_any_height(made):
    before = traced(made, "count")
    for _ in range(3):
        made.chain.do(to=ADDRESSES["counter"], gas=100_000, value=0)
    made.chain.forget()

    assert traced(made, "count") == before


def test_changes_of_a_block_are_read_in_few_statements(made, django_assert_max_num_queries):
    fields = {"to": RECIPIENT, "value": 1, "gas": 21_000}
    made.chain.send(*(made.chain.make(**fields) for _ in range(5)))
    block = made.chain.mine()
    made.chain.mine()
    made.chain.forget()
    block = blocks.by_number(made.chain.evm, block.number)
    # A process reads the genesis of its chain, and the next-block settings, only once.
    assert made.chain.evm.config
    assert development.conditions(made.chain.evm)

    with django_assert_max_num_queries(6):
        tracing.trace_block(made.chain.evm, block, FRAMES, time_limit=SECONDS)


def test_a_trace_changes_nothing(made):
    number = made.chain.mine().number
    state = state_at(made.chain.evm, number)
    before = state.account(SENDER), state.storage(ADDRESSES["counter"], Slot(bytes(32)))
    tracing.trace_block(made.chain.evm, made.block, FRAMES, time_limit=SECONDS)

    assert (state.account(SENDER), state.storage(ADDRESSES["counter"], Slot(bytes(32)))) == before


def test_a_block_without_transactions_has_no_traces(made, engine):
    empty = made.chain.mine()

    assert tracing.trace_block(made.chain.evm, empty, FRAMES, time_limit=SECONDS) == ()


def test_the_genesis_block_was_not_executed(made):
    with pytest.raises(tracing.GenesisNotTraceable, match="genesis is not traceable"):
        tracing.trace_block(made.chain.evm, made.chain.genesis, FRAMES, time_limit=SECONDS)
    with pytest.raises(tracing.GenesisNotTraceable):
        tracing.state_before(made.chain.evm, made.chain.genesis, 0, time_limit=SECONDS)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"cumulative_gas_used": 21_001}, "gas used is 21000, its receipt says 21001"),
        ({"succeeded": False}, "status is 1, its receipt says 0"),
    ],
)
def test_trace_that_contradicts_the_receipt_is_an_error(made, changed, words):
    first, *others = made.block.receipts
    other = replace(made.block, receipts=(replace(first, **changed), *others))

    with pytest.raises(tracing.TraceDiffers) as fault:
        tracing.trace_transaction(made.chain.evm, other, 0, FRAMES, time_limit=SECONDS)
    assert made.hash("transfer") in str(fault.value)
    assert words in str(fault.value)


def test_logs_are_held_against_the_receipt_too(made):
    index = made.index("logs")
    receipts = list(made.block.receipts)
    logs = receipts[index].logs
    receipts[index] = replace(receipts[index], logs=(logs[0]._replace(data=b"\x2b"), *logs[1:]))

    with pytest.raises(tracing.TraceDiffers, match="logs are not those of its receipt"):
        tracing.trace_transaction(
            made.chain.evm, replace(made.block, receipts=tuple(receipts)), index, FRAMES,
            time_limit=SECONDS,
        )  # fmt: skip


def test_a_block_that_cannot_be_executed_any_more_is_a_fault(made):
    skipping = replace(made.block, transactions=made.block.transactions[1:])

    with pytest.raises(tracing.TraceDiffers):
        tracing.trace_block(made.chain.evm, skipping, FRAMES, time_limit=SECONDS)


def test_state_before_a_transaction_includes_earlier_ones(made, engine):
    chain, slot = made.chain.evm, Slot(bytes(32))
    counted = [
        int.from_bytes(
            tracing.state_before(chain, made.block, index, time_limit=SECONDS).storage(
                ADDRESSES["counter"], slot
            )
        )
        for index in range(4)
    ]

    assert counted == [0, 0, 1, 2]
    assert engine.blocks == [(2, index, 0) for index in range(4)]
    before = tracing.state_before(chain, made.block, 1, time_limit=SECONDS)
    assert before.account(RECIPIENT).balance == 5
    assert before.account(SENDER).nonce == made.sent["count"].nonce
    assert before.block_hash(1) == made.deployed.hash


def test_the_state_before_a_transaction_has_the_blocks_system_calls(made):
    history = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
    slot = Slot((made.block.number - 1).to_bytes(32, "big"))
    before = tracing.state_before(made.chain.evm, made.block, 0, time_limit=SECONDS)

    assert before.storage(history, slot) == made.deployed.hash


def test_empty_block_has_a_state_before_index_0(made):
    empty = made.chain.mine()
    found = tracing.state_before(made.chain.evm, empty, 0, time_limit=SECONDS)

    assert found.account(SENDER) == state_at(made.chain.evm, empty.number).account(SENDER)


@pytest.mark.parametrize("beyond", [0, 90])
def test_transaction_index_out_of_range_is_refused(made, beyond):
    index = len(made.sent) + beyond

    with pytest.raises(tracing.TransactionIndexOutOfRange) as refusal:
        tracing.state_before(made.chain.evm, made.block, index, time_limit=SECONDS)
    assert str(refusal.value) == (
        f"transaction index {index} out of range for block 0x{made.block.hash.hex()}"
    )
