"""Accounts of five fields and cleared storage keys against the reference's leaves and roots."""

from typing import Any

import pytest

from cchain_app.evm.coreth import asset_slot, stored_slot
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.select import select_trie
from cchain_app.evm.trie_python import PythonStateTrie
from primitives import rlp
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from tests.builders.tries import MemoryNodes
from tests.conformance.coreth_vectors import cases, data


def _changes(accounts: list[dict[str, Any]]) -> StateChanges:
    changed: dict[Address, AccountChange] = {}
    storage: dict[tuple[Address, Slot], SlotChange] = {}
    for account in accounts:
        address = Address(data(account["address"]))
        state = AccountState(
            int(account["nonce"]), int(account["balance"]), keccak256(data(account["code"]))
        )
        changed[address] = AccountChange(None, state)
        for key, value in account["storageSetInOrder"] or ():
            slot = stored_slot(Slot(data(key)))
            storage[address, slot] = SlotChange(ZERO_WORD, Word(data(value)))
        held: dict[Slot, int] = {}
        for asset, amount in account["multiCoinAdded"] or ():
            slot = asset_slot(data(asset))
            held[slot] = held.get(slot, 0) + int(amount, 0)
        for slot, total in held.items():
            storage[address, slot] = SlotChange(ZERO_WORD, Word(total.to_bytes(32, "big")))
    return StateChanges(changed, storage)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("case", cases("state"))
def test_state_root_and_leaves(case: dict[str, Any], engine: str) -> None:
    trie, nodes = select_trie(engine, cache_bytes=1 << 20, of_coreth=True), MemoryNodes()
    update = trie.update(EMPTY_ROOT, _changes(case["accounts"]), nodes)
    assert update.root == data(case["stateRoot"])
    nodes.apply(update)
    for account in case["accounts"]:
        proof = trie.prove(update.root, Address(data(account["address"])), [], nodes)
        leaf = rlp.split(rlp.read_only_item(proof.account_proof[-1]), 2)[1]
        assert leaf == data(account["accountRLP"])
        assert proof.storage_root == data(account["storageRoot"])


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_account_that_held_another_asset_is_known_as_such_until_it_is_deleted(
    engine: str,
) -> None:
    trie, nodes = select_trie(engine, cache_bytes=1 << 20, of_coreth=True), MemoryNodes()
    address, slot = Address(b"\x07" * 20), asset_slot(b"\x22" * 32)
    state, seven = AccountState(1, 0, EMPTY_HASH), Word(bytes(31) + b"\x07")
    richer = state._replace(balance=5)
    root = EMPTY_ROOT
    for changes, field in (
        (
            StateChanges(
                {address: AccountChange(None, state)},
                {(address, slot): SlotChange(ZERO_WORD, seven)},
            ),
            b"\x01",
        ),
        (StateChanges({}, {(address, slot): SlotChange(seven, ZERO_WORD)}), b"\x01"),
        (StateChanges({address: AccountChange(state, richer)}), b"\x01"),
        (StateChanges({address: AccountChange(richer, None)}), None),
        (StateChanges({address: AccountChange(None, state)}), b"\x80"),
    ):
        update = trie.update(root, changes, nodes)
        nodes.apply(update)
        trie.commit(update.root)
        root = update.root
        proof = trie.prove(root, address, [], nodes)
        if field is None:
            assert proof.account is None
            continue
        leaf = rlp.split(rlp.read_only_item(proof.account_proof[-1]), 2)[1]
        assert leaf[-1:] == field


def test_proof_has_the_value_of_the_cleared_key_and_the_path_of_the_given_key() -> None:
    trie, nodes = PythonStateTrie(of_coreth=True), MemoryNodes()
    address, plain = Address(b"\x07" * 20), Slot(b"\xfe" + bytes(31))
    marked = Slot(b"\xff" + bytes(31))
    seven = Word(bytes(31) + b"\x07")
    update = trie.update(
        EMPTY_ROOT,
        StateChanges(
            {address: AccountChange(None, AccountState(1, 0, keccak256(b"\xfe")))},
            {(address, plain): SlotChange(ZERO_WORD, seven)},
        ),
        nodes,
    )
    nodes.apply(update)
    proof = trie.prove(update.root, address, [plain, marked], nodes)
    assert [value for value, _ in proof.storage] == [seven, seven]
    of_plain = rlp.split(rlp.read_only_item(proof.storage[0][1][-1]), 2)[0]
    # The path of a leaf that is the whole trie: its key's hash after a byte that says so.
    assert of_plain == b"\x20" + keccak256(plain)
    assert proof.storage[1][1] == proof.storage[0][1]
