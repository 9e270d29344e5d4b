"""Metrics of the C-Chain's cache: each lookup counts once, as a hit or as a miss."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_chain
from cchain_app.evm.engine import AccountChange, AccountState, StateChanges
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.state import prefetch_accounts, prefetch_slots, state_at
from nodeproject.web.shared_head import HeadPage
from primitives.evm import Address, Hash, Slot
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.transactions import SENDER
from tests.builders.tries import MemoryNodes
from tests.integration.conftest import Chain

Counts = Callable[[str], tuple[int, int]]
"""Returns hits and misses of a part of the cache since the last call."""

STRANGER = Address(b"\x77" * 20)


@pytest.fixture
def counts(chain: Chain) -> Counts:
    """A chain of two blocks with an empty cache and counts that start at zero."""
    chain.do()
    remembered = evm_chain().memory
    remembered.reset_to(blocks.head(evm_chain()))
    seen = dict.fromkeys(remembered.kept(), (0, 0))

    def since(name: str) -> tuple[int, int]:
        kept = remembered.kept()[name]
        now, before = (kept.hits, kept.misses), seen[name]
        seen[name] = now
        return now[0] - before[0], now[1] - before[1]

    for name in seen:
        since(name)
    return since


def test_accounts_are_read_once(counts: Counts) -> None:
    state = state_at(evm_chain(), blocks.head(evm_chain()).number)
    assert [state.account(STRANGER) for _ in range(3)] == [None] * 3
    assert counts("accounts") == (2, 1)

    prefetch_accounts(
        evm_chain(), [STRANGER, Address(b"\x78" * 20)], blocks.head(evm_chain()).number
    )
    assert counts("accounts") == (1, 1)


def test_slots_are_read_once(counts: Counts) -> None:
    state = state_at(evm_chain(), blocks.head(evm_chain()).number)
    for _ in range(3):
        state.storage(STRANGER, Slot(bytes(32)))
    assert counts("slots") == (2, 1)

    slots = [Slot(bytes(32)), Slot(b"\1" * 32)]
    prefetch_slots(evm_chain(), STRANGER, slots, blocks.head(evm_chain()).number)
    assert counts("slots") == (1, 1)
    assert [state.storage(STRANGER, slot) for slot in slots] == [bytes(32)] * 2
    assert counts("slots") == (2, 0)


ARRAY = 600
"""Number of elements that are read one by one."""


@pytest.fixture
def array(chain: Chain) -> tuple[Address, dict[Slot, bytes]]:
    """A contract with some slots that are not cached; return the values of the first `ARRAY` slots."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.STORE), gas=500_000, value=0)
    contract = bytecode.created(SENDER, 0)
    values = {Slot(index.to_bytes(32, "big")): bytes(32) for index in range(ARRAY)}
    for place in (0, 5, 70, 71, ARRAY - 1):
        slot, value = Slot(place.to_bytes(32, "big")), b"\x09" * 31 + bytes([place % 251])
        chain.do(to=contract, data=slot + value, gas=100_000, value=0)
        values[slot] = value
    evm_chain().memory.reset_to(blocks.head(evm_chain()))
    return contract, values


def test_consecutive_slots_are_read_in_one_query(
    array: tuple[Address, dict[Slot, bytes]],
) -> None:
    contract, values = array
    state = state_at(evm_chain(), blocks.head(evm_chain()).number)
    with CaptureQueriesContext(connection) as asked:
        assert {slot: state.storage(contract, slot) for slot in values} == values
    assert len(asked) < 20
    kept = evm_chain().memory.kept()["slots"].entries
    assert ARRAY <= kept <= 2 * ARRAY


def test_slots_of_the_past_are_read_as_they_were(
    array: tuple[Address, dict[Slot, bytes]],
) -> None:
    contract, values = array
    last = list(values)[-1]
    state = state_at(evm_chain(), blocks.head(evm_chain()).number - 1)
    found = {slot: state.storage(contract, slot) for slot in values}
    assert found == {**values, last: bytes(32)}


def test_no_slots_are_read_ahead_where_none_are_kept(
    array: tuple[Address, dict[Slot, bytes]], settings: Any
) -> None:
    contract, values = array
    settings.NODE = updated(settings.NODE, cache_slots=0)
    evm_chain().memory.reset_to(blocks.head(evm_chain()))
    state = state_at(evm_chain(), blocks.head(evm_chain()).number)
    with CaptureQueriesContext(connection) as asked:
        assert {slot: state.storage(contract, slot) for slot in values} == values
    assert len(asked) < ARRAY + 10


@pytest.mark.parametrize(
    ("accounts", "slots", "is_read"), [(0, 0, True), (3, 0, False), (0, 3, False)]
)
def test_trie_nodes_are_kept_as_the_accounts_and_slots(
    chain: Chain, settings: Any, accounts: int, slots: int, *, is_read: bool
) -> None:
    settings.NODE = updated(settings.NODE, cache_accounts=accounts, cache_slots=slots)
    trie, stored = evm_chain().new_trie(), MemoryNodes()
    before = AccountChange(None, AccountState(1, 1, EMPTY_HASH))
    update = trie.update(EMPTY_ROOT, StateChanges(accounts={STRANGER: before}), stored)
    stored.apply(update)
    trie.commit(update.root)
    stored.questions = 0

    trie.prove(update.root, STRANGER, (), stored)

    assert bool(stored.questions) == is_read


def test_the_last_slots_of_an_account_have_none_behind_them(chain: Chain) -> None:
    chain.do()
    evm_chain().memory.reset_to(blocks.head(evm_chain()))
    state = state_at(evm_chain(), blocks.head(evm_chain()).number)
    for slot in (b"\xff" * 31 + bytes([last]) for last in range(250, 256)):
        assert state.storage(STRANGER, Slot(slot)) == bytes(32)


def test_historical_state_does_not_use_the_cache(counts: Counts) -> None:
    state = state_at(evm_chain(), 0)
    for _ in range(3):
        state.account(STRANGER)
    assert counts("accounts") == (0, 0)


def test_blocks_are_read_once(counts: Counts) -> None:
    for _ in range(3):
        assert blocks.by_number(evm_chain(), 0) is not None
    assert counts("blocks") == (2, 1)
    genesis = blocks.by_number(evm_chain(), 0)
    assert genesis is not None
    assert blocks.by_hash(evm_chain(), genesis.hash) == genesis
    assert counts("blocks") == (2, 0)
    assert blocks.by_hash(evm_chain(), Hash(b"\x77" * 32)) is None
    assert counts("blocks") == (0, 0)


def test_waiting_transactions_are_decoded_once(counts: Counts, chain: Chain) -> None:
    waiting = chain.make()
    chain.send(waiting)
    assert counts("transactions") == (0, 0)
    assert pool.find(evm_chain(), waiting.hash) is not None
    assert counts("transactions") == (1, 0)

    evm_chain().memory.transactions.reset()
    assert pool.find(evm_chain(), waiting.hash) is not None
    assert counts("transactions") == (0, 1)


@pytest.mark.node_settings(profile="embedded")
def test_pending_nonces_are_worked_out_once(counts: Counts) -> None:
    for _ in range(3):
        assert pool.next_nonce(evm_chain(), STRANGER) == 0
    assert counts("pending_nonces") == (2, 1)


@pytest.mark.node_settings(profile="production")
def test_pending_nonces_are_kept_where_other_processes_count_their_changes(
    counts: Counts, chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = evm_chain().memory.pool
    memory.reset()
    monkeypatch.setattr(memory, "shared", None)
    nonce = chain.nonce
    for _ in range(2):  # the changes by other processes are not counted
        assert pool.next_nonce(evm_chain(), SENDER) == nonce
    assert counts("pending_nonces") == (0, 0)

    page = HeadPage.at(tmp_path / "head")
    monkeypatch.setattr(memory, "shared", page)
    monkeypatch.setattr(memory, "_clock", lambda: 1.0)
    for _ in range(3):
        assert pool.next_nonce(evm_chain(), SENDER) == nonce
    assert counts("pending_nonces") == (2, 1)

    chain.send(chain.make())
    assert pool.next_nonce(evm_chain(), SENDER) == nonce + 1
    assert page.pool_changes == 1
    page.count_pool_change()
    assert pool.next_nonce(evm_chain(), SENDER) == nonce + 1
    assert counts("pending_nonces") == (0, 2)
