"""`pending` is one block for all methods: the block that would be built now, with the pool in it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.api import registry
from cchain_app.api.params.tracing import height
from cchain_app.api.params.values import block_number, block_param
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.chain import EvmChain
from cchain_app.services import pending
from cchain_app.services.pending import PendingBlocks
from cchain_app.services.vm import EvmVM
from chaindb import clock
from chaindb.connections import WouldBlock
from chainvm.port import BlockContext, HeadMoved
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders import bytecode
from tests.builders.transactions import RECIPIENT, SENDER, signed
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

OTHER = "0x" + "5a" * 20
CONTRACT: Address = bytecode.created(SENDER, 0)

_HEX = {
    "sender": "0x" + SENDER.hex(),
    "to": "0x" + RECIPIENT.hex(),
    "contract": "0x" + CONTRACT.hex(),
}
_CALL = {"from": _HEX["sender"], "to": _HEX["contract"]}

QUESTIONS: dict[str, Callable[[str], list[Any]]] = {
    "eth_getBlockByNumber": lambda at: [at, True],
    "eth_getHeaderByNumber": lambda at: [at],
    "erigon_getHeaderByNumber": lambda at: [at],
    "eth_getBlockReceipts": lambda at: [at],
    "eth_getBlockTransactionCountByNumber": lambda at: [at],
    "eth_getUncleCountByBlockNumber": lambda at: [at],
    "eth_getUncleByBlockNumberAndIndex": lambda at: [at, "0x0"],
    "eth_getTransactionByBlockNumberAndIndex": lambda at: [at, "0x1"],
    "eth_getRawTransactionByBlockNumberAndIndex": lambda at: [at, "0x1"],
    "eth_getBalance": lambda at: [_HEX["to"], at],
    "eth_getTransactionCount": lambda at: [_HEX["sender"], at],
    "eth_getCode": lambda at: [_HEX["contract"], at],
    "eth_getStorageAt": lambda at: [_HEX["contract"], "0x0", at],
    "eth_getStorageValues": lambda at: [{_HEX["contract"]: ["0x" + "00" * 32]}, at],
    "eth_getAccount": lambda at: [_HEX["sender"], at],
    "eth_getAccountInfo": lambda at: [_HEX["sender"], at],
    "eth_getProof": lambda at: [_HEX["contract"], ["0x0"], at],
    "eth_call": lambda at: [_CALL, at],
    "eth_callDetailed": lambda at: [_CALL, at],
    "eth_estimateGas": lambda at: [_CALL, at],
    "eth_createAccessList": lambda at: [_CALL, at],
    "eth_simulateV1": lambda at: [{"blockStateCalls": [{"calls": [_CALL]}]}, at],
    "eth_feeHistory": lambda at: ["0x3", at, [0, 50, 100]],
    "debug_getRawBlock": lambda at: [at],
    "debug_getRawHeader": lambda at: [at],
    "debug_getRawReceipts": lambda at: [at],
    "debug_traceBlockByNumber": lambda at: [at, {"tracer": "flatCallTracer"}],
    "debug_codeByHash": lambda at: ["0x" + keccak256(b"").hex(), at],
    "debug_storageRangeAt": lambda at: [at, 2, _HEX["contract"], "0x", 10],
    "debug_accountRange": lambda at: [at, "0x", 256, False, False, False],
    "debug_dumpBlock": lambda at: [at],
    "trace_block": lambda at: [at],
    "trace_call": lambda at: [_CALL, ["trace", "stateDiff"], at],
    "trace_callMany": lambda at: [[[_CALL, ["trace"]], [_CALL, ["stateDiff"]]], at],
    "trace_replayBlockTransactions": lambda at: [at, ["trace", "stateDiff"]],
    "ots_hasCode": lambda at: [_HEX["contract"], at],
    "ots_getBlockDetails": lambda at: [at],
    "ots_getBlockTransactions": lambda at: [at, 0, 10],
}  # fmt: skip
"""A request for each method that takes a block parameter."""

REFUSED: dict[str, tuple[list[Any], str]] = {
    "debug_traceCall": ([_CALL, "pending"], "tracing on top of pending is not supported"),
    "eth_getLogs": ([{"fromBlock": "pending"}], "pending logs are not supported"),
    "eth_newFilter": ([{"toBlock": "pending"}], "pending logs are not supported"),
    "trace_filter": ([{"fromBlock": "pending"}], "pending traces are not supported"),
}


@pytest.fixture(autouse=True)
def own_block() -> Iterator[None]:
    """Isolate tests from pending blocks that other tests built on a discarded chain."""
    yield
    this_node().evm_rpc.pending = PendingBlocks(this_node().evm_runtime)


@pytest.fixture
def waiting(chain: Chain, rpc: Rpc) -> Chain:
    """A chain with three executable transactions, a queued one, an edited account and a set next-block time."""
    chain.do()
    chain.nonce = 0
    rpc("anvil_setNonce", _HEX["sender"], "0x0")
    rpc("anvil_setBalance", _HEX["to"], hex(10**20))
    rpc("evm_setNextBlockTimestamp", hex(chain.now + 1000))
    rpc("anvil_setNextBlockBaseFeePerGas", hex(30 * 10**9))
    chain.send(
        chain.make(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=200_000, value=0),
        chain.make(value=7),
        chain.make(to=CONTRACT, gas=100_000, value=0),
    )
    return chain


def shown(method: str, answer: Any) -> Any:
    """Return a response without the fields that are null only in the pending block."""
    blocks = {
        "eth_getBlockByNumber": lambda: answer,
        "eth_getHeaderByNumber": lambda: answer,
        "erigon_getHeaderByNumber": lambda: answer,
        "ots_getBlockDetails": lambda: answer["block"],
        "ots_getBlockTransactions": lambda: answer["fullblock"],
    }
    if method in blocks:
        for name in ("hash", "nonce", "miner"):
            del blocks[method]()[name]
    return answer


def test_every_method_with_a_block_parameter_is_covered() -> None:
    takes_block = {
        method.name
        for method in registry(this_node().evm_rpc)
        for param in method.params
        if getattr(param.parse, "__wrapped__", param.parse) in {block_param, block_number, height}
    }

    assert takes_block - set(REFUSED) == set(QUESTIONS)


def test_pending_results_match_the_mined_block(waiting: Chain, rpc: Rpc) -> None:
    before = {method: rpc(method, *ask("pending")) for method, ask in QUESTIONS.items()}

    rpc("evm_mine")

    for method, ask in QUESTIONS.items():
        made = rpc(method, *ask("latest"))
        assert shown(method, before[method]) == shown(method, made), method
    assert len(before["eth_getBlockByNumber"]["transactions"]) == 3


def test_pending_equals_latest_on_a_node_without_block_production(
    waiting: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting.runtime.consensus, "decides_alone", False)

    for method, ask in QUESTIONS.items():
        if method not in {"eth_getTransactionCount", *_ABOUT_TRANSACTIONS}:
            assert rpc(method, *ask("pending")) == rpc(method, *ask("latest")), method
    assert rpc("eth_getBlockByNumber", "pending", False)["hash"] is not None
    assert rpc("trace_filter", {"fromBlock": "pending"}) == rpc(
        "trace_filter", {"fromBlock": "latest"}
    )


_ABOUT_TRANSACTIONS = {"debug_storageRangeAt"}
"""Methods whose request names the third transaction, which only the pending block has."""


@pytest.mark.parametrize("method", REFUSED)
def test_methods_without_pending_support_are_refused(waiting: Chain, rpc: Rpc, method: str) -> None:
    params, words = REFUSED[method]

    with pytest.raises(JsonRpcError, match=words):
        rpc(method, *params)


def test_hash_nonce_and_miner_are_null_in_the_block_and_its_header_alone(
    waiting: Chain, rpc: Rpc
) -> None:
    for method in ("eth_getBlockByNumber", "eth_getHeaderByNumber", "erigon_getHeaderByNumber"):
        block = rpc(method, *QUESTIONS[method]("pending"))
        assert [block[name] for name in ("hash", "nonce", "miner")] == [None] * 3
    details = rpc("ots_getBlockDetails", "pending")["block"]
    assert [details[name] for name in ("hash", "nonce", "miner")] == [None] * 3

    receipt = rpc("eth_getBlockReceipts", "pending")[0]

    rpc("evm_mine")
    block = rpc("eth_getBlockByNumber", "latest", False)
    assert block["hash"] == receipt["blockHash"]
    assert rpc("eth_getBlockByHash", block["hash"], False) == block


def test_neither_the_pool_nor_the_chain_is_changed(waiting: Chain, rpc: Rpc) -> None:
    poor = signed(nonce=9)
    waiting.send(poor)
    before = rpc("txpool_content")

    rpc("eth_getBlockByNumber", "pending", False)

    assert rpc("txpool_content") == before
    assert rpc("eth_blockNumber") == "0x1"
    assert rpc("eth_getBalance", _HEX["to"], "latest") == hex(10**20)
    assert rpc("eth_getTransactionReceipt", "0x" + poor.hash.hex()) is None


class Builds:
    """Counts block builds, with a stopped clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.wall, self.monotonic = 1_900_000_000, 1000.0
        build = EvmVM.build

        def counted(vm: EvmVM, context: BlockContext, **given: Any) -> Any:
            self.count += 1
            return build(vm, context, **given)

        monkeypatch.setattr(EvmVM, "build", counted)
        monkeypatch.setattr(clock, "wall", lambda: self.wall)
        monkeypatch.setattr(pending, "time", SimpleNamespace(monotonic=lambda: self.monotonic))

    def during(self, work: Callable[[], object]) -> int:
        """Return the number of blocks built while the function runs."""
        before = self.count
        work()
        return self.count - before


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    """A counter of block builds."""
    return Builds(monkeypatch)


def test_the_block_is_built_once_for_all_methods(waiting: Chain, rpc: Rpc, builds: Builds) -> None:
    def ask_all() -> None:
        for method, ask in QUESTIONS.items():
            rpc(method, *ask("pending"))

    assert builds.during(ask_all) == 1
    assert builds.during(ask_all) == 0


def _balance(rpc: Rpc) -> Callable[[], object]:
    return lambda: rpc("eth_getBalance", _HEX["to"], "pending")


CHANGES: dict[str, Callable[[Chain, Rpc], object]] = {
    "a transaction": lambda chain, rpc: chain.send(chain.make()),
    "a queued transaction": lambda chain, rpc: chain.send(signed(nonce=40)),
    "a dropped transaction": lambda chain, rpc: rpc("anvil_dropAllTransactions"),
    "an edited balance": lambda chain, rpc: rpc("anvil_setBalance", _HEX["to"], "0x1"),
    "an edited slot": lambda chain, rpc: rpc("anvil_setStorageAt", OTHER, "0x0", "0x" + "01" * 32),
    "a time": lambda chain, rpc: rpc("evm_setNextBlockTimestamp", hex(chain.now + 2000)),
    "the clock": lambda chain, rpc: rpc("evm_increaseTime", 1),
    "a base fee": lambda chain, rpc: rpc("anvil_setNextBlockBaseFeePerGas", "0x1"),
    "a coinbase": lambda chain, rpc: rpc("anvil_setCoinbase", OTHER),
    "a block": lambda chain, rpc: chain.mine(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_block_is_built_again_when_something_has_changed(
    waiting: Chain, rpc: Rpc, builds: Builds, change: str
) -> None:
    ask = _balance(rpc)
    ask()
    CHANGES[change](waiting, rpc)

    assert builds.during(ask) >= 1  # 2 if the process notices an edit while building
    assert builds.during(ask) == 0


def test_a_block_is_not_that_of_a_chain_that_went_back(waiting: Chain, rpc: Rpc) -> None:
    snapshot = rpc("evm_snapshot")
    before = rpc("eth_getBlockByNumber", "pending", True)
    rpc("evm_mine")
    rpc("eth_getBlockByNumber", "pending", False)
    rpc("evm_revert", snapshot)

    assert rpc("eth_getBlockByNumber", "pending", True) == before


def test_the_blocks_time_continues(chain: Chain, rpc: Rpc, builds: Builds) -> None:
    first = int(rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16)
    builds.wall += 1

    assert int(rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16) == first + 1


def test_a_block_that_took_long_to_build_is_kept_while_time_passes(
    waiting: Chain, rpc: Rpc, builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "QUICK_SECONDS", -1.0)
    ask = _balance(rpc)
    assert builds.during(ask) == 1
    builds.wall += 1
    assert builds.during(ask) == 0
    waiting.send(waiting.make())
    assert builds.during(ask) == 1

    builds.wall += 1
    builds.monotonic += pending.KEPT_SECONDS

    assert builds.during(ask) == 1


def test_outside_development_it_is_kept_beside_a_pool_that_changes_too(
    waiting: Chain, rpc: Rpc, builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "QUICK_SECONDS", -1.0)
    ask = _balance(rpc)
    ask()
    monkeypatch.setattr(EvmChain, "is_development", False)
    waiting.send(waiting.make())
    assert builds.during(ask) == 1  # other next-block settings
    waiting.send(waiting.make())
    assert builds.during(ask) == 0

    builds.monotonic += pending.KEPT_SECONDS

    assert builds.during(ask) == 1


def test_readers_use_the_last_pending_block_during_a_build(
    waiting: Chain, rpc: Rpc, builds: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = _balance(rpc)
    ask()
    builds.wall += 1
    lock = SimpleNamespace(locked=lambda: True)
    with monkeypatch.context() as patched:
        patched.setattr(this_node().evm_rpc.pending, "_lock", lock)
        assert builds.during(ask) == 0

    assert builds.during(ask) == 1


def test_a_block_is_built_again_while_the_head_moves(
    waiting: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, moved = EvmVM.build, [True, True]

    def moving(vm: EvmVM, context: BlockContext, **given: Any) -> Any:
        if moved:
            moved.pop()
            raise HeadMoved
        return build(vm, context, **given)

    monkeypatch.setattr(EvmVM, "build", moving)
    assert rpc("eth_getBlockTransactionCountByNumber", "pending") == "0x3"

    moved.extend([True] * 100)
    waiting.send(waiting.make())
    with pytest.raises(JsonRpcError, match="pending block is not available"):
        rpc("eth_getBlockTransactionCountByNumber", "pending")


def test_pending_block_is_rebuilt_after_a_concurrent_edit(
    waiting: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, edits = EvmVM.build, [1]

    def edited(vm: EvmVM, context: BlockContext, **given: Any) -> Any:
        block = build(vm, context, **given)
        if edits:
            rpc("anvil_setBalance", _HEX["to"], hex(edits.pop()))
        return block

    monkeypatch.setattr(EvmVM, "build", edited)

    assert rpc("eth_getBalance", _HEX["to"], "pending") == hex(1 + 7)


def test_nothing_is_built_on_the_event_loop(waiting: Chain) -> None:
    async def ask() -> None:
        this_node().evm_rpc.pending.current()

    with pytest.raises(WouldBlock):
        asyncio.run(ask())


def test_a_batch_reads_one_block(waiting: Chain, rpc: Rpc, builds: Builds) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": "eth_getBalance", "params": [_HEX["to"], at]}
        for n, at in enumerate(("pending", "latest", "pending"))
    ]

    answer = this_node().endpoints.cchain.dispatcher.answer(json.dumps(calls).encode())

    assert answer is not None
    found = [int(load["result"], 16) for load in json.loads(answer)]
    assert found == [10**20 + 7, 10**20, 10**20 + 7]
    assert builds.count == 1


def test_a_block_that_the_engine_refuses_is_an_error_with_its_reason(
    waiting: Chain, rpc: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_vm: EvmVM, _context: BlockContext, **_: Any) -> None:
        raise BlockRefused(BlockReason.EXECUTION_REFUSED, failure="system call failed")

    monkeypatch.setattr(EvmVM, "build", refuse)

    with pytest.raises(JsonRpcError, match="pending block is not available: system call failed"):
        rpc("eth_getBalance", OTHER, "pending")
