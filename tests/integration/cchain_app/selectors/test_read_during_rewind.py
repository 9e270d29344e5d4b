"""Rows read while a development chain is rewound and builds the same heights again are not cached."""

from collections.abc import Callable
from typing import Any

import pytest

from cchain_app.memory import PoolTag
from cchain_app.selectors import blocks, development, state
from cchain_app.selectors.state import prefetch_accounts, prefetch_slots, state_at
from cchain_app.store import chain as stored
from cchain_app.store import development as set_by_hand
from cchain_app.store import evm_state, queries
from primitives.evm import Address, Slot
from tests.builders.cchain import SENDERS
from tests.builders.transactions import RECIPIENT
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

SENDER = SENDERS[0]
CONTRACT = Address(b"\x5a" * 20)
SLOT = Slot((1).to_bytes(32, "big"))
Meanwhile = Callable[[], None]


@pytest.fixture
def go_back(chain: Chain, rpc: Rpc) -> Meanwhile:
    """A chain of one block above a snapshot; return a function that reverts and builds another block there."""
    snapshot = rpc("evm_snapshot")
    chain.do(value=1)
    chain.evm.memory.reset_to(blocks.head(chain.evm))

    def meanwhile() -> None:
        rpc("evm_revert", snapshot)
        rpc("anvil_setStorageAt", f"0x{CONTRACT.hex()}", "0x1", "0x" + "11" * 32)
        chain.nonce -= 1
        chain.do(value=5)

    return meanwhile


def after(monkeypatch: pytest.MonkeyPatch, module: object, name: str, meanwhile: Meanwhile) -> None:
    """Run a callback once, between the read of a function and the use of its result by the caller."""
    read = getattr(module, name)

    def slowly(*args: Any) -> Any:
        monkeypatch.setattr(module, name, read)
        found = read(*args)
        meanwhile()
        return found

    monkeypatch.setattr(module, name, slowly)


def balance(chain: Chain, address: Address) -> int:
    found = state_at(chain.evm, blocks.head(chain.evm).number).account(address)
    return found.balance if found else 0


def test_an_account(monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile) -> None:
    after(monkeypatch, evm_state, "account_at", go_back)
    reader = state_at(chain.evm, 1)
    chain.evm.memory.state.reset(1)
    reader.account(RECIPIENT)

    assert balance(chain, RECIPIENT) == 5


def test_a_slot(monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile) -> None:
    after(monkeypatch, evm_state, "slot_at", go_back)
    assert not any(state_at(chain.evm, 1).storage(CONTRACT, SLOT))

    assert state_at(chain.evm, 1).storage(CONTRACT, SLOT) == b"\x11" * 32


def test_accounts_at_once(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile
) -> None:
    after(monkeypatch, state.evm_state, "accounts_now", go_back)
    prefetch_accounts(chain.evm, [RECIPIENT, SENDER], 1)

    assert balance(chain, RECIPIENT) == 5


def test_slots_at_once(monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile) -> None:
    after(monkeypatch, state.evm_state, "slots_now", go_back)
    prefetch_slots(chain.evm, CONTRACT, [SLOT, Slot(b"\x05" * 32)], 1)

    assert state_at(chain.evm, 1).storage(CONTRACT, SLOT) == b"\x11" * 32


def test_read_of_block_overrides_during_a_revert(
    monkeypatch: pytest.MonkeyPatch, rpc: Rpc, chain: Chain
) -> None:
    somebody = f"0x{CONTRACT.hex()}"
    chain.evm.memory.conditions.reset()
    after(monkeypatch, set_by_hand, "conditions", lambda: rpc("anvil_setCoinbase", somebody))
    assert development.conditions(chain.evm).coinbase is None

    assert rpc("eth_coinbase") == somebody


def test_a_block(
    monkeypatch: pytest.MonkeyPatch, rpc: Rpc, chain: Chain, go_back: Meanwhile
) -> None:
    old = blocks.head(chain.evm)
    (lost,) = old.transactions
    chain.evm.memory.blocks.reset(stored.load_block(chain.evm.db, 0, chain.evm.format))
    chain.evm.memory.blocks.head = old
    after(monkeypatch, stored, "load_block", go_back)
    assert blocks.by_number(chain.evm, 1) == old

    assert blocks.by_hash(chain.evm, old.hash) is None
    assert rpc("eth_getTransactionReceipt", f"0x{lost.hash.hex()}") is None


def test_read_of_a_removed_block_during_a_revert(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, rpc: Rpc
) -> None:
    snapshot = rpc("evm_snapshot")
    chain.do()
    chain.do()
    remembered = chain.evm.memory.blocks
    remembered.reset(blocks.head(chain.evm))
    seen = remembered.head

    read = blocks.head

    def head_then_back(_: object) -> Any:
        monkeypatch.setattr(blocks, "head", read)
        rpc("evm_revert", snapshot)
        return seen

    monkeypatch.setattr(blocks, "head", head_then_back)
    assert blocks.by_number(chain.evm, 1) is None


def test_read_of_an_edited_slot_at_the_same_height(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, rpc: Rpc
) -> None:
    somebody = f"0x{CONTRACT.hex()}"

    def change() -> None:
        rpc("anvil_setBalance", somebody, "0x7")
        rpc("anvil_setStorageAt", somebody, "0x1", "0x" + "11" * 32)

    chain.evm.memory.state.reset(0)
    after(monkeypatch, evm_state, "account_at", change)
    state_at(chain.evm, 0).account(CONTRACT)
    assert balance(chain, CONTRACT) == 7

    rpc("anvil_setStorageAt", somebody, "0x1", "0x" + "00" * 32)
    chain.evm.memory.state.reset(0)
    after(monkeypatch, evm_state, "slot_at", change)
    state_at(chain.evm, 0).storage(CONTRACT, SLOT)
    assert state_at(chain.evm, 0).storage(CONTRACT, SLOT) == b"\x11" * 32


def test_read_of_the_head_during_a_revert(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile
) -> None:
    chain.do(value=1)
    chain.evm.memory.reset_to(stored.load_block(chain.evm.db, 0, chain.evm.format))
    read = queries.missed

    def go_back_while_others_read(*where: Any) -> Any:
        monkeypatch.setattr(queries, "missed", read)
        with chain.evm.db.atomic():
            stored.forget_above(chain.evm.db, 1)
        return read(*where)

    monkeypatch.setattr(queries, "missed", go_back_while_others_read)
    head = blocks.catch_up(chain.evm)
    assert (head.number, chain.evm.memory.state.number) == (1, 1)
    stored.forget_above(chain.evm.db, 0)
    chain.evm.memory.reset_to(stored.load_block(chain.evm.db, 0, chain.evm.format))


def test_read_by_hash_during_a_revert(
    monkeypatch: pytest.MonkeyPatch, chain: Chain, go_back: Meanwhile
) -> None:
    old = blocks.head(chain.evm)
    (lost,) = old.transactions

    def by_number_after(*where: Any) -> Any:
        monkeypatch.setattr(blocks, "by_number", read)
        go_back()
        return read(*where)

    read = blocks.by_number
    chain.evm.memory.blocks.reset(stored.load_block(chain.evm.db, 0, chain.evm.format))
    chain.evm.memory.blocks.head = old
    monkeypatch.setattr(blocks, "by_number", by_number_after)
    assert blocks.by_hash(chain.evm, old.hash) is None

    again = blocks.head(chain.evm)
    monkeypatch.setattr(blocks, "by_number", lambda *_: old)
    chain.evm.memory.blocks.reset(stored.load_block(chain.evm.db, 0, chain.evm.format))
    chain.evm.memory.blocks.head = again
    (there,) = again.transactions
    assert lost.hash != there.hash
    assert blocks.find_transaction(chain.evm, there.hash) is None


def test_counts_of_the_pool(chain: Chain) -> None:
    counts, tag = chain.evm.memory.counts, PoolTag(0, 1, 1)

    def count_while_it_goes_back() -> tuple[int, int]:
        counts.reset()
        return 1, 0

    assert counts.of(tag, count_while_it_goes_back) == (1, 0)
    assert counts.of(tag, lambda: (0, 1)) == (0, 1)
    assert counts.of(tag, count_while_it_goes_back) == (0, 1)
