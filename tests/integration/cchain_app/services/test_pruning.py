"""Pruning of history beyond the settings: the rest answers as before, and pruned data is reported as such."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from cchain_app import models, tasks
from cchain_app import settings as evm_settings
from cchain_app.api.errors import HISTORY_PRUNED
from cchain_app.selectors import blocks
from cchain_app.selectors import calls as found_calls
from cchain_app.selectors.state import state_at
from cchain_app.services import calls, pruning
from cchain_app.store import evm_state, history
from cchain_app.store.history import CallsPruned, StatePruned
from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.evm_chains import another_process, produce
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain

EMBEDDED = pytest.mark.node_settings(profile="embedded")

LONG = 60.0
COUNTER = bytecode.created(SENDER, 0)
HEIGHT = 10
KEPT = 4
FLOOR = HEIGHT - KEPT
keeps_states = pytest.mark.node_settings(history_state=KEPT, trace_index="off")
keeps_calls = pytest.mark.node_settings(history_calls=KEPT, trace_index="on")


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture(autouse=True)
def few_states_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the minimum of 128 states: a few blocks test the same."""
    monkeypatch.setattr(evm_settings, "FEWEST_STATES", 1)


@pytest.fixture
def counted(chain: Chain) -> Chain:
    """Ten blocks: a counter contract, and one increment in each later block."""
    return count(chain)


@pytest.fixture
def shared_counted(shared_chain: Chain) -> Chain:
    """The same, visible to other threads."""
    return count(shared_chain)


def count(chain: Chain) -> Chain:
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    while head(chain) < HEIGHT:
        chain.do(to=COUNTER, gas=100_000, value=0)
    return chain


def head(chain: Chain) -> int:
    return blocks.head(chain.evm).number


def prune(chain: Chain) -> pruning.PruneResult:
    """Prune everything that the settings allow; the process has an empty cache afterwards."""
    done = pruning.prune(chain.evm, seconds=LONG)
    chain.forget()
    return done


def state_questions(number: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return requests that only the state after a block answers."""
    at = hex(number)
    call = {"to": hexed(COUNTER), "gas": hex(100_000)}
    return [
        ("eth_getBalance", (hexed(SENDER), at)),
        ("eth_getTransactionCount", (hexed(SENDER), at)),
        ("eth_getCode", (hexed(COUNTER), at)),
        ("eth_getStorageAt", (hexed(COUNTER), "0x0", at)),
        ("eth_getBalance", (hexed(b"\x99" * 20), at)),
        ("eth_call", (call, at)),
        ("eth_estimateGas", (call, at)),
        ("eth_createAccessList", (call, at)),
        ("eth_getProof", (hexed(COUNTER), ["0x0"], at)),
        ("eth_simulateV1", ({"blockStateCalls": [{"calls": [call]}]}, at)),
        ("debug_traceCall", (call, at)),
        ("debug_accountRange", (at, "0x", 5, True, True, False)),
        ("ots_hasCode", (hexed(COUNTER), at)),
    ]


def block_questions(number: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return requests that the state before a block answers."""
    at = hex(number)
    block = hexed(models.Block.objects.get(number=number).hash)
    return [
        ("debug_traceBlockByNumber", (at, {"tracer": "callTracer"})),
        ("trace_block", (at,)),
        ("debug_intermediateRoots", (block, {})),
        ("debug_storageRangeAt", (block, 0, hexed(COUNTER), "0x", 5)),
        ("debug_getModifiedAccountsByNumber", (number,)),
    ]


def chain_questions() -> list[tuple[str, tuple[Any, ...]]]:
    """Return requests that need no state."""
    raw = [hexed(other.hash) for other in models.Transaction.objects.order_by("id")]
    return [
        *(("eth_getBlockByNumber", (hex(number), True)) for number in range(HEIGHT + 1)),
        *(("eth_getTransactionReceipt", (item,)) for item in raw),
        ("eth_getLogs", ({"fromBlock": "0x0", "toBlock": "latest"},)),
        ("eth_feeHistory", (HEIGHT, "latest", [50])),
    ]


def answers(rpc: Any, questions: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    return [rpc(method, *params) for method, params in questions]


@keeps_states
def test_states_that_are_kept_answer_as_before_and_no_other_does(counted: Chain, rpc: Any) -> None:
    kept = [
        state_question
        for number in range(FLOOR, HEIGHT + 1)
        for state_question in state_questions(number)
    ]
    kept += [
        block_question
        for number in range(FLOOR + 1, HEIGHT + 1)
        for block_question in block_questions(number)
    ]
    gone = [(number, item) for number in range(1, FLOOR) for item in state_questions(number)]
    gone += [
        (number - 1, other) for number in range(1, FLOOR + 1) for other in block_questions(number)
    ]
    kept += chain_questions()
    before = answers(rpc, kept)
    assert answers(rpc, [one for _, one in gone])

    assert prune(counted).changes > 0

    assert answers(rpc, kept) == before
    for number, (method, params) in gone:
        with pytest.raises(JsonRpcError) as caught:
            rpc(method, *params)
        root = models.Block.objects.get(number=number).state_root.hex()
        words = f"missing trie node {root} (path ) state 0x{root} is not available, not found"
        assert (method, caught.value.code, caught.value.message) == (method, -32000, words)


@keeps_states
def test_only_changes_of_kept_states_remain(counted: Chain) -> None:
    numbers = set(models.AccountChange.objects.values_list("number", flat=True))
    assert numbers == set(range(1, HEIGHT + 1))
    prune(counted)
    for model in (models.AccountChange, models.StorageChange):
        left = set(model.objects.values_list("number", flat=True))
        assert left == set(range(FLOOR + 1, HEIGHT + 1))
    assert history.first_state(counted.evm.db) == FLOOR


@pytest.mark.node_settings(trace_index="on")
def test_nothing_is_pruned_by_default(counted: Chain) -> None:
    calls.index_calls(counted.evm, seconds=LONG)
    before = models.AccountChange.objects.count(), models.Call.objects.count()
    assert prune(counted) == (0, 0, 0, 0)
    assert tasks.prune_history() == {"changes": 0, "calls": 0, "blobs": 0, "nodes": 0}
    assert (models.AccountChange.objects.count(), models.Call.objects.count()) == before


def test_fewer_than_128_states_count_as_128(node_settings: Any, monkeypatch: Any) -> None:
    monkeypatch.undo()
    assert updated(node_settings, history_state=0).cchain.history.kept_states == 0
    assert updated(node_settings, history_state=5).cchain.history.kept_states == 128
    assert updated(node_settings, history_state=500).cchain.history.kept_states == 500


@keeps_states
def test_each_transaction_is_small_and_answers_are_right_between_any_two(
    counted: Chain, rpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "ROWS_AT_ONCE", 3)
    kept = [
        state_question
        for number in range(FLOOR, HEIGHT + 1)
        for state_question in state_questions(number)
    ]
    before = answers(rpc, kept)
    rounds = 0
    while (done := pruning.prune(counted.evm, seconds=0)).changes:
        assert done.changes <= 3
        counted.forget()
        assert answers(rpc, kept) == before
        with pytest.raises(JsonRpcError, match="missing trie node"):
            rpc("eth_getBalance", hexed(SENDER), hex(FLOOR - 1))
        rounds += 1
    assert rounds > 3


@keeps_states
def test_read_during_pruning_is_correct_or_refused(
    shared_counted: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "ROWS_AT_ONCE", 1)
    db = shared_counted.evm.db
    slot = bytes(32)
    questions: list[Callable[[int], Any]] = [
        lambda number: evm_state.account_at(db, SENDER, number),
        lambda number: evm_state.slot_at(db, COUNTER, slot, number),
        lambda number: evm_state.has_storage_at(db, COUNTER, number),
        lambda number: evm_state.values_at(db, number),
        lambda number: evm_state.before_blocks(db, number + 1, HEIGHT),
    ]
    wanted = {
        (place, number): ask(number)
        for place, ask in enumerate(questions)
        for number in range(HEIGHT)
    }
    ended = threading.Event()
    wrong: list[Any] = []
    seen = {"right": 0, "refused": 0}

    def read() -> None:
        try:
            last = False
            while not last:
                last = ended.is_set()  # one more pass after the end
                for (place, number), value in wanted.items():
                    try:
                        right = questions[place](number) == value
                    except StatePruned:
                        seen["refused"] += 1
                        right = number < FLOOR
                    else:
                        seen["right"] += 1
                    if not right:
                        wrong.append((place, number))
        finally:
            connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    while pruning.prune(shared_counted.evm, seconds=0).changes:
        pass
    ended.set()
    reader.join()
    assert wrong == []
    assert seen["right"] > 0
    assert seen["refused"] > 0
    shared_counted.forget()


@keeps_states
def test_a_process_that_is_further_behind_than_that_restarts(counted: Chain, rpc: Any) -> None:
    rpc("eth_getBalance", hexed(RECIPIENT), "latest")  # fills the cache
    other = another_process(counted.evm)
    for _ in range(KEPT + 2):
        counted.send(counted.make(to=RECIPIENT, value=7))
        counted.now += 1
        assert produce(other, now=counted.now) is not None
    pruning.prune(other.chain, seconds=LONG)
    blocks.catch_up(counted.evm)
    told = int(rpc("eth_getBalance", hexed(RECIPIENT), "latest"), 16)
    assert told == models.Account.objects.get(address=RECIPIENT).balance


@EMBEDDED
@keeps_states
def test_no_snapshot_below_is_reverted_to_and_those_above_are(counted: Chain, rpc: Any) -> None:
    early = rpc("evm_snapshot")
    for _ in range(KEPT + 1):
        counted.do(to=COUNTER, gas=100_000, value=0)
    late = rpc("evm_snapshot")
    counted.do(to=COUNTER, gas=100_000, value=0)
    prune(counted)
    top = head(counted)
    with pytest.raises(JsonRpcError, match="missing trie node"):
        rpc("evm_revert", early)
    with pytest.raises(JsonRpcError, match="missing trie node"):
        rpc("anvil_rollback", KEPT + 1)
    assert head(counted) == top
    assert rpc("evm_revert", late) is True
    assert head(counted) == top - 1
    counted.nonce -= 1
    counted.do(to=COUNTER, gas=100_000, value=0)
    assert head(counted) == top


@keeps_states
def test_contract_and_nonce_searches_end_at_pruned_states(counted: Chain, rpc: Any) -> None:
    late = bytecode.created(SENDER, counted.nonce)
    made, _ = counted.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    prune(counted)
    assert rpc("ots_getContractCreator", hexed(late))["hash"] == hexed(made.hash)
    found = rpc("ots_getTransactionBySenderAndNonce", hexed(SENDER), made.nonce)
    assert found == hexed(made.hash)
    assert rpc("ots_getTransactionBySenderAndNonce", hexed(SENDER), 99) is None
    for method, params in (
        ("ots_getContractCreator", (hexed(COUNTER),)),
        ("ots_getTransactionBySenderAndNonce", (hexed(SENDER), 0)),
    ):
        with pytest.raises(JsonRpcError, match="missing trie node"):
            rpc(method, *params)


@pytest.mark.node_settings(history_state=KEPT, trace_index="on")
def test_states_of_unindexed_blocks_are_kept(counted: Chain) -> None:
    prune(counted)
    assert history.first_state(counted.evm.db) == 0
    calls.index_calls(counted.evm, seconds=LONG)
    rows = models.Call.objects.count()
    prune(counted)
    assert history.first_state(counted.evm.db) == FLOOR
    assert models.Call.objects.count() == rows == HEIGHT


@keeps_states
def test_late_call_index_starts_at_the_first_kept_state(counted: Chain, rpc: Any) -> None:
    prune(counted)
    assert calls.index_calls(counted.evm, seconds=LONG) == KEPT
    heights = {models.height_of(key) for key in models.Call.objects.values_list("id", flat=True)}
    assert heights == set(range(FLOOR + 1, HEIGHT + 1))
    assert found_calls.how_far(counted.evm) == f"rows from block {FLOOR + 1} up to block 10 of 10"
    found = rpc("trace_filter", {"fromBlock": hex(FLOOR + 1), "toBlock": "latest"})
    assert {item["blockNumber"] for item in found} == heights
    with pytest.raises(JsonRpcError, match="missing trie node"):
        rpc("trace_filter", {"fromBlock": hex(FLOOR), "toBlock": "latest"})


@keeps_calls
def test_searches_execute_blocks_without_recorded_calls(
    counted: Chain, rpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.index_calls(counted.evm, seconds=LONG)
    search = {"fromBlock": "0x1", "toBlock": "latest", "toAddress": [hexed(COUNTER)]}
    before = rpc("trace_filter", search)
    assert len(before) == HEIGHT

    assert prune(counted).calls == FLOOR - 1

    left = {models.height_of(key) for key in models.Call.objects.values_list("id", flat=True)}
    assert left == set(range(FLOOR, HEIGHT + 1))
    assert rpc("trace_filter", search) == before
    monkeypatch.setattr("cchain_app.api.trace.trace_filter.MAX_BLOCKS", FLOOR - 2)
    with pytest.raises(JsonRpcError, match="Block range too large"):
        rpc("trace_filter", search)
    assert len(rpc("trace_filter", {**search, "fromBlock": "0x2"})) == HEIGHT - 1
    assert calls.index_calls(counted.evm, seconds=LONG) == 0


@keeps_calls
def test_calls_pruned_during_a_search_are_reported(
    counted: Chain, rpc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.index_calls(counted.evm, seconds=LONG)
    monkeypatch.setattr(history, "first_call", lambda _: FLOOR)
    with pytest.raises(JsonRpcError) as caught:
        rpc("trace_filter", {"fromBlock": "0x1", "toBlock": "latest"})
    assert (caught.value.code, caught.value.message) == (
        HISTORY_PRUNED,
        "pruned history unavailable",
    )
    assert caught.value.message == str(CallsPruned(1))


@EMBEDDED
@keeps_calls
def test_calls_of_blocks_that_replace_pruned_ones_are_kept(counted: Chain, rpc: Any) -> None:
    calls.index_calls(counted.evm, seconds=LONG)
    prune(counted)
    assert found_calls.indexed(counted.evm) == range(FLOOR, HEIGHT + 1)
    left = FLOOR - KEPT

    rpc("anvil_rollback", HEIGHT - left)
    counted.nonce = left
    while head(counted) < left + KEPT:
        counted.do(to=COUNTER, gas=100_000, value=0)
    calls.index_calls(counted.evm, seconds=LONG)
    prune(counted)

    kept = range(left + 1, left + KEPT + 1)
    assert found_calls.indexed(counted.evm) == kept
    assert [models.height_of(item.id) for item in models.Call.objects.order_by("id")] == [*kept]


@pytest.mark.node_settings(history_state=KEPT, history_calls=KEPT, trace_index="on")
def test_the_task_does_both(counted: Chain) -> None:
    assert tasks.index_calls() == {"blocks": HEIGHT}
    done = tasks.prune_history()
    assert done["calls"] == FLOOR - 1
    assert done["changes"] > 0
    assert tasks.prune_history() == {"changes": 0, "calls": 0, "blobs": 0, "nodes": 0}


@keeps_states
def test_pruned_history_does_not_return_with_a_larger_setting(
    counted: Chain, settings: Any
) -> None:
    prune(counted)
    settings.NODE = updated(settings.NODE, history_state=0)
    with pytest.raises(StatePruned):
        state_at(counted.evm, FLOOR - 1).account(SENDER)
    counted.mine()
    prune(counted)
    assert history.first_state(counted.evm.db) == FLOOR
