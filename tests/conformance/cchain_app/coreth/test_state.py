"""Accounts of five fields and cleared storage keys against the reference's leaves and roots."""

from typing import Any

import pytest

from cchain_app.evm.coreth import stored_slot
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.trie_python import PythonStateTrie
from primitives import rlp
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import EMPTY_ROOT, keccak256
from tests.builders.tries import MemoryNodes
from tests.conformance.coreth_vectors import cases, data

_PLAIN = [
    case
    for case in cases("state")
    if not any(account["isMultiCoin"] for account in case.values[0]["accounts"])
]
"""The cases without other assets, which existed before Banff only; this node does not execute blocks of that time."""


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
    return StateChanges(changed, storage)


@pytest.mark.parametrize("case", _PLAIN)
def test_state_root_and_leaves(case: dict[str, Any]) -> None:
    trie, nodes = PythonStateTrie(of_coreth=True), MemoryNodes()
    update = trie.update(EMPTY_ROOT, _changes(case["accounts"]), nodes)
    assert update.root == data(case["stateRoot"])
    nodes.apply(update)
    for account in case["accounts"]:
        proof = trie.prove(update.root, Address(data(account["address"])), [], nodes)
        leaf = rlp.split(rlp.read_only_item(proof.account_proof[-1]), 2)[1]
        assert leaf == data(account["accountRLP"])
        assert proof.storage_root == data(account["storageRoot"])


def test_vectors_include_plain_cases() -> None:
    assert len(_PLAIN) >= 3


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
