"""Calls inside of transactions become rows: all of them, once, in order, whoever is killed between."""

import pytest

from cchain_app import models, tasks
from cchain_app.evm.tracing import Recording, TraceTooLarge
from cchain_app.selectors import calls as found
from cchain_app.selectors import tracing
from cchain_app.services import calls
from cchain_app.store import calls as rows
from cchain_app.tracing.parity import placed
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
    return [one for one in all_calls() if one.transaction_id == key]


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


def test_a_row_says_what_the_frame_did(made):
    calls.index_calls(made.chain.evm, seconds=LONG)

    top, inner = of(made, "create")

    assert (top.sender, top.to, top.value) == (SENDER, ADDRESSES["factory"], 9)
    assert (inner.type, inner.sender, inner.to) == (
        models.CallType.CREATE2, ADDRESSES["factory"], CREATED,
    )  # fmt: skip
    assert (inner.trace_address, inner.selector, inner.succeeded) == ("0", None, True)
    assert inner.gas > inner.gas_used > 0


def test_what_reverted_keeps_its_words_and_data(made):
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


def test_without_time_the_next_run_goes_on(made):
    evm = made.chain.evm
    steps = [calls.index_calls(evm, seconds=0) for _ in range(4)]
    written = all_calls()

    assert steps == [1, 1, 1, 0]
    forget()
    calls.index_calls(evm, seconds=LONG)
    assert all_calls() == written


def test_who_is_killed_in_the_middle_of_a_block_goes_on_there(made, monkeypatch):
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


def test_of_two_writers_one_gives_up(made, monkeypatch):
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


def test_what_cannot_be_recorded_is_one_row_and_the_rest_goes_on(made, monkeypatch):
    evm = made.chain.evm
    trace = tracing.trace_transaction

    def too_large(*_arguments, **_options):
        raise TraceTooLarge

    def mostly(chain, block, index, recording, *, time_limit):
        if block.number == 2 and index in {made.index("create"), made.index("revert")}:
            raise TraceTooLarge
        return trace(chain, block, index, recording, time_limit=time_limit)

    monkeypatch.setattr(tracing, "trace_block", too_large)
    monkeypatch.setattr(tracing, "trace_transaction", mostly)
    calls.index_calls(evm, seconds=LONG)

    (created,), (reverted,) = of(made, "create"), of(made, "revert")
    assert (created.gas, created.gas_used, created.error) == (None, None, None)
    assert (created.sender, created.to, created.value) == (SENDER, ADDRESSES["factory"], 9)
    assert (reverted.error, reverted.succeeded) == (calls.UNRECORDED, False)
    assert len(of(made, "pay_and_destroy")) == 3
    assert rows.progress(evm.db).unrecorded == 2


def test_the_local_network_has_its_calls_written(made):
    assert tasks.index_calls() == {"blocks": 3}


@pytest.mark.node_settings(trace_index="off")
def test_the_task_writes_nothing_where_that_is_off(made):
    assert tasks.index_calls() == {"blocks": 0}
    assert all_calls() == []
    assert found.indexed_height(made.chain.evm) == -1


def forget():
    """Take all rows away, as if the index had never been on."""
    models.Call.objects.all().delete()
    models.CallProgress.objects.all().delete()
