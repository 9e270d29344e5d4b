"""Internal calls of transactions become rows: all of them, once, in order, even if a process is killed."""

from collections import Counter
from dataclasses import replace

import pytest

from cchain_app import models, tasks
from cchain_app.evm.tracing import Recording, TraceTooLarge
from cchain_app.selectors import calls as found
from cchain_app.selectors import tracing
from cchain_app.services import calls
from cchain_app.store import calls as rows
from cchain_app.tracing.parity import placed
from tests.builders.indexing import beside_answers
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, CREATED, traced_chain

LONG = 60.0


@pytest.fixture
def made(chain):
    return traced_chain(chain)


def all_calls():
    return list(models.Call.objects.order_by("id"))


def of(made, name):
    key = models.row_id(2, made.index(name))
    return [all_call for all_call in all_calls() if all_call.transaction_id == key]


def test_every_frame_of_every_transaction_is_a_row(made):
    evm = made.chain.evm

    assert calls.index_calls(evm, seconds=LONG) == 3

    traces = tracing.trace_block(evm, made.block, Recording(frames=True), time_limit=LONG)
    expected = [
        (
            index,
            place,
            one.frame.depth,
            "_".join(map(str, one.address)),
            one.frame.type,
            one.frame.error,
        )
        for index, trace in enumerate(traces)
        for place, one in enumerate(placed(trace.frames))
    ]
    written = [row for row in all_calls() if models.height_of(row.id) == 2]
    assert [
        (row.transaction_id - models.row_id(2), row.index, row.depth, row.trace_address,
         models.CallType(row.type).label, row.error)
        for row in written
    ] == expected  # fmt: skip
    assert [row.id for row in written] == [models.row_id(2, place) for place in range(len(written))]
    assert found.indexed_height(evm) == 3


def test_call_row_has_the_values_of_its_frame(made):
    calls.index_calls(made.chain.evm, seconds=LONG)

    top, inner = of(made, "create")

    assert (top.sender, top.to, top.value) == (SENDER, ADDRESSES["factory"], 9)
    assert (inner.type, inner.sender, inner.to) == (
        models.CallType.CREATE2, ADDRESSES["factory"], CREATED,
    )  # fmt: skip
    assert (inner.trace_address, inner.selector, inner.succeeded) == ("0", None, True)
    assert inner.gas > inner.gas_used > 0


def test_reverted_call_keeps_error_and_data(made):
    calls.index_calls(made.chain.evm, seconds=LONG)

    top, inner = of(made, "inner_revert")

    assert top.error is None
    assert top.succeeded
    assert inner.error == "execution reverted"
    assert inner.revert_data[:4].hex() == "08c379a0"
    assert not inner.succeeded


def test_nothing_is_written_twice(made):
    calls.index_calls(made.chain.evm, seconds=LONG)
    before = all_calls()

    assert calls.index_calls(made.chain.evm, seconds=LONG) == 0
    made.chain.mine()
    assert calls.index_calls(made.chain.evm, seconds=LONG) == 1

    assert all_calls() == before


def test_indexing_continues_in_the_next_run(made):
    evm = made.chain.evm
    steps = [calls.index_calls(evm, seconds=0) for _ in range(4)]
    written = all_calls()

    assert steps == [1, 1, 1, 0]
    forget()
    calls.index_calls(evm, seconds=LONG)
    assert all_calls() == written


def test_killed_indexer_continues_within_the_block(made, monkeypatch):
    evm = made.chain.evm
    calls.index_calls(evm, seconds=LONG)
    written = all_calls()
    forget()
    monkeypatch.setattr(calls, "ROWS_AT_ONCE", 5)
    write, killed = rows.write, []

    def fatal(db, part, before, after):
        if len(killed) == 3:
            raise KeyboardInterrupt
        killed.append(part)
        write(db, part, before, after)

    monkeypatch.setattr(rows, "write", fatal)
    with pytest.raises(KeyboardInterrupt):
        calls.index_calls(evm, seconds=LONG)
    assert len(all_calls()) == 15
    assert models.height_of(all_calls()[-1].id) == 2

    monkeypatch.setattr(rows, "write", write)
    calls.index_calls(evm, seconds=LONG)

    assert all_calls() == written
    assert found.indexed_height(evm) == 3


def test_one_of_two_concurrent_writers_gives_up(made, monkeypatch):
    evm = made.chain.evm
    write = rows.write

    def overtaken(db, part, before, after):
        monkeypatch.setattr(rows, "write", write)
        calls.index_calls(evm, seconds=LONG)
        write(db, part, before, after)

    monkeypatch.setattr(rows, "write", overtaken)

    assert calls.index_calls(evm, seconds=LONG) == 0
    written = all_calls()
    forget()
    calls.index_calls(evm, seconds=LONG)
    assert all_calls() == written


class PickyEngine:
    """An engine that fails to record some transactions, and counts how often it executes each."""

    def __init__(self, engine, oversize):
        self._engine = engine
        self._oversize = oversize
        self.executed = Counter()

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def trace_block(self, env, transactions, state, recording, **options):
        self.executed.update(transaction.hash for transaction in transactions)
        if recording.frames and any(item.hash in self._oversize for item in transactions):
            raise TraceTooLarge
        return self._engine.trace_block(env, transactions, state, recording, **options)


@pytest.fixture
def picky(made, monkeypatch):
    oversize = {made.sent[name].hash for name in ("create", "revert")}
    engine = PickyEngine(made.chain.evm.engine, oversize)
    monkeypatch.setitem(made.chain.evm.__dict__, "engine", engine)
    return engine


def test_unrecordable_input_is_one_row_and_indexing_continues(made, picky):
    evm = made.chain.evm
    calls.index_calls(evm, seconds=LONG)

    (created,), (reverted,) = of(made, "create"), of(made, "revert")
    assert (created.gas, created.gas_used, created.error) == (None, None, None)
    assert (created.sender, created.to, created.value) == (SENDER, ADDRESSES["factory"], 9)
    assert (reverted.error, reverted.succeeded) == (calls.UNRECORDED, False)
    assert len(of(made, "pay_and_destroy")) == 3
    assert [all_call.id for all_call in all_calls() if models.height_of(all_call.id) == 2] == [
        models.row_id(2, place) for place in range(len(all_calls()) - 9)
    ]
    assert rows.progress(evm.db).unrecorded == 2


def test_each_transaction_is_executed_a_few_times_however_many_cannot_be_recorded(made, picky):
    picky._oversize = {item.hash for item in made.sent.values()}
    calls.index_calls(made.chain.evm, seconds=LONG)

    assert max(picky.executed.values()) <= 3
    assert rows.progress(made.chain.evm.db).unrecorded == len(made.sent)


def test_indexing_pauses_between_transactions_without_repetition(made, picky, monkeypatch):
    evm = made.chain.evm
    calls.index_calls(evm, seconds=LONG)
    written, once = all_calls(), Counter(picky.executed)
    forget()
    monkeypatch.setattr(calls, "GAS_AT_ONCE", 1)
    picky.executed.clear()

    turns = []
    while found.indexed_height(evm) < 3:
        turns.append(calls.index_calls(evm, seconds=0))

    assert len(turns) >= len(made.sent)
    assert sum(turns) == 3
    assert all_calls() == written
    assert rows.progress(evm.db).unrecorded == 2
    assert all(picky.executed[item] <= once[item] for item in once)


def test_killed_indexer_counts_no_transaction_twice(made, picky, monkeypatch):
    evm = made.chain.evm
    calls.index_calls(evm, seconds=LONG)
    written = all_calls()
    forget()
    monkeypatch.setattr(calls, "GAS_AT_ONCE", 1)
    turns = 0
    while found.indexed_height(evm) < 3:
        calls.index_calls(evm, seconds=0)
        turns += 1
        if turns in {13, 18}:
            assert evm.half_recorded.position > 1
            evm.half_recorded = None  # another process continues

    assert all_calls() == written
    assert rows.progress(evm.db).unrecorded == 2


def test_unexecutable_transaction_ends_the_frames_of_its_block(made, monkeypatch):
    evm = made.chain.evm
    skipped = made.index("create")

    read = found.next_blocks

    def shortened(block):
        if block.number != 2:
            return block
        # Without this transaction the nonce of the next one is too high.
        left = [
            part[:skipped] + part[skipped + 1 :] for part in (block.transactions, block.receipts)
        ]
        return replace(block, transactions=left[0], receipts=left[1])

    monkeypatch.setattr(found, "next_blocks", lambda *range_: list(map(shortened, read(*range_))))
    calls.index_calls(evm, seconds=LONG)

    assert found.indexed_height(evm) == 3
    assert rows.progress(evm.db).unrecorded == len(made.sent) - 1 - skipped


def test_the_local_network_has_its_calls_written(made):
    assert tasks.index_calls() == {"blocks": 3}


def test_the_task_leaves_calls_for_later_while_the_node_has_much_to_answer(made):
    made.chain.evm.indexing = beside_answers("calls")

    assert tasks.index_calls() == {"blocks": 0}
    assert found.indexed_height(made.chain.evm) == -1


@pytest.mark.node_settings(trace_index="off")
def test_the_task_writes_nothing_where_that_is_off(made):
    assert tasks.index_calls() == {"blocks": 0}
    assert all_calls() == []
    assert found.indexed_height(made.chain.evm) == -1


def forget():
    """Delete all rows, as if the index had never been enabled."""
    models.Call.objects.all().delete()
    models.CallProgress.objects.all().delete()
