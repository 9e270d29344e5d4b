"""A chain in memory behind the RPC endpoint: selectors read from it, nothing is stored."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.api import registry
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.selectors import blocks, pool, state
from cchain_app.selectors.pool import PoolContent
from cchain_app.services.pending import PendingBlocks
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH
from tests.builders.accepted import accepted
from tests.builders.cchain import MemoryState, genesis_state
from tests.conformance.openrpc import assert_conforms


@dataclass
class MemoryChain:
    """A list of blocks, one state for all of them, and a pool. It builds no pending block."""

    blocks: list[AcceptedBlock] = field(default_factory=lambda: [accepted(0)])
    state: MemoryState = field(default_factory=genesis_state)
    pending: list[Transaction] = field(default_factory=list)
    queued: list[Transaction] = field(default_factory=list)

    def accept(self, *transactions: Transaction, **given: Any) -> AcceptedBlock:
        """Append a block."""
        block = accepted(
            len(self.blocks), transactions, **{"parent_hash": self.head().hash, **given}
        )
        self.blocks.append(block)
        for transaction in transactions:
            if transaction in self.pending:
                self.pending.remove(transaction)
        return block

    def head(self) -> AcceptedBlock:
        return self.blocks[-1]

    def by_number(self, number: int) -> AcceptedBlock | None:
        return self.blocks[number] if number < len(self.blocks) else None

    def by_hash(self, block_hash: Hash) -> AcceptedBlock | None:
        return next((block for block in self.blocks if block.hash == block_hash), None)

    def height_of(self, block_hash: Hash) -> int | None:
        block = self.by_hash(block_hash)
        return None if block is None else block.number

    def find_transaction(self, wanted: Hash) -> tuple[AcceptedBlock, int] | None:
        for block in self.blocks:
            for index, one in enumerate(block.transactions):
                if one.hash == wanted:
                    return block, index
        return None

    def waiting(self, hashes: list[Hash]) -> dict[Hash, Transaction]:
        return {item.hash: item for item in self.pending + self.queued if item.hash in hashes}

    def content(self, addresses: list[Address] | None = None) -> PoolContent:
        def of(listed: list[Transaction]) -> dict[Address, list[Transaction]]:
            found: dict[Address, list[Transaction]] = {}
            for item in listed:
                if addresses is None or item.sender in addresses:
                    found.setdefault(item.sender, []).append(item)
            return found

        return PoolContent(of(self.pending), of(self.queued))

    def memory(self) -> Any:
        return SimpleNamespace(
            answers=None,
            blocks=SimpleNamespace(head=self.head(), by_number=self.by_number),
            conditions=SimpleNamespace(of=lambda _read: NextBlockOverrides()),
        )


@pytest.fixture
def memory_chain(monkeypatch: pytest.MonkeyPatch) -> MemoryChain:
    chain = MemoryChain()
    chain.state.codes[EMPTY_HASH] = b""
    for name in ("head", "by_number", "by_hash", "height_of", "find_transaction"):
        monkeypatch.setattr(blocks, name, _of_chain(getattr(chain, name)))
    monkeypatch.setattr(blocks, "catch_up", _of_chain(chain.head))
    monkeypatch.setattr(EvmChain, "memory", property(lambda _: chain.memory()))
    monkeypatch.setattr(clock, "cchain_now", lambda: chain.head().header.timestamp + 1)
    monkeypatch.setattr(state, "state_at", lambda _, _number: chain.state)
    monkeypatch.setattr(state, "prefetch_accounts", lambda _, _addresses, _number: None)
    monkeypatch.setattr(PendingBlocks, "current", lambda _: None)
    monkeypatch.setattr(pool, "transactions", _of_chain(chain.waiting))
    monkeypatch.setattr(pool, "transaction", lambda _, wanted: chain.waiting([wanted]).get(wanted))
    monkeypatch.setattr(pool, "content", _of_chain(chain.content))
    monkeypatch.setattr(pool, "counts", lambda _: (len(chain.pending), len(chain.queued)))
    monkeypatch.setattr(pool, "pending_hashes", lambda _: [item.hash for item in chain.pending])
    return chain


def _of_chain(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a method of this chain to a selector whose first argument is the chain."""
    return lambda _, *given: answer(*given)


Rpc = Callable[..., Any]


def dispatcher() -> Dispatcher:
    """Return the current methods of the process's endpoint; a test may have replaced its chain."""
    return Dispatcher(registry(this_node().evm_rpc))


@pytest.fixture
def rpc(memory_chain: MemoryChain) -> Rpc:
    """Return a function that calls the dispatcher and checks every result against the schema.

    The dispatcher is created at the first call, after the test has defined its chain.
    """
    made: list[Dispatcher] = []

    def ask(method: str, *params: Any) -> Any:
        if not made:
            made.append(dispatcher())
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = made[0].answer(json.dumps(body).encode())
        assert answer is not None
        shown = json.loads(answer)
        if "error" in shown:
            raise JsonRpcError(**shown["error"])
        assert_conforms(method, shown["result"])
        return shown["result"]

    return ask
