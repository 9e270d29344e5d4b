"""State differences in Parity's format."""

import pytest

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.tracing import TouchedState
from cchain_app.tracing.state_diff import state_diff
from primitives.evm import ZERO_WORD, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.traces import CALLEE, CALLER, OTHER

CODE = b"\x60\x00"
SLOT = Slot(bytes(31) + b"\x01")
ONE = Word(bytes(31) + b"\x01")


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def plain(nonce: int = 0, balance: int = 0, code: bytes = b"") -> AccountState:
    return AccountState(nonce, balance, keccak256(code) if code else EMPTY_HASH)


def nobody(code_hash: Hash) -> bytes:
    pytest.fail(f"asked for the code {code_hash.hex()}")


def test_unchanged_members_are_equal_signs():
    change = AccountChange(plain(1, 100), plain(2, 90))
    found = state_diff(TouchedState(changes=StateChanges(accounts={CALLER: change})), nobody)

    assert found == {
        hexed(CALLER): {
            "balance": {"*": {"from": "0x64", "to": "0x5a"}},
            "code": "=",
            "nonce": {"*": {"from": "0x1", "to": "0x2"}},
            "storage": {},
        }
    }


def test_an_account_that_came_has_all_of_it_new():
    after = plain(1, 7, CODE)
    changes = StateChanges(
        accounts={CALLEE: AccountChange(None, after)},
        storage={(CALLEE, SLOT): SlotChange(ZERO_WORD, ONE)},
        codes={after.code_hash: CODE},
    )
    found = state_diff(TouchedState(changes=changes), nobody)

    assert found[hexed(CALLEE)] == {
        "balance": {"+": "0x7"},
        "code": {"+": hexed(CODE)},
        "nonce": {"+": "0x1"},
        "storage": {hexed(SLOT): {"+": hexed(ONE)}},
    }


def test_a_plain_account_that_came_has_empty_code():
    change = AccountChange(None, plain(0, 7))
    found = state_diff(TouchedState(changes=StateChanges(accounts={OTHER: change})), nobody)

    assert found[hexed(OTHER)]["code"] == {"+": "0x"}


def test_an_account_that_went_shows_what_it_had():
    before = plain(1, 7, CODE)
    touched = TouchedState(
        accounts={CALLEE: before},
        codes={CALLEE: CODE},
        changes=StateChanges(
            accounts={CALLEE: AccountChange(before, None)},
            storage={(CALLEE, SLOT): SlotChange(ONE, ZERO_WORD)},
        ),
    )
    found = state_diff(touched, nobody)

    assert found[hexed(CALLEE)] == {
        "balance": {"-": "0x7"},
        "code": {"-": hexed(CODE)},
        "nonce": {"-": "0x1"},
        "storage": {hexed(SLOT): {"-": hexed(ONE)}},
    }


def test_a_slot_of_an_account_that_stays_is_changed_even_from_zero():
    changes = StateChanges(storage={(CALLEE, SLOT): SlotChange(ZERO_WORD, ONE)})
    found = state_diff(TouchedState(changes=changes), nobody)

    assert found[hexed(CALLEE)] == {
        "balance": "=",
        "code": "=",
        "nonce": "=",
        "storage": {hexed(SLOT): {"*": {"from": hexed(ZERO_WORD), "to": hexed(ONE)}}},
    }


def test_a_delegation_is_a_change_of_code():
    delegated = b"\xef\x01\x00" + CALLEE
    change = AccountChange(plain(1, 7), plain(2, 7, delegated))
    found = state_diff(
        TouchedState(changes=StateChanges(accounts={CALLER: change})),
        {keccak256(delegated): delegated}.__getitem__,
    )

    assert found[hexed(CALLER)]["code"] == {"*": {"from": "0x", "to": hexed(delegated)}}


def test_accounts_are_in_order():
    changes = StateChanges(
        accounts={
            CALLEE: AccountChange(plain(1), plain(2)),
            OTHER: AccountChange(plain(1), plain(2)),
        },
        storage={(CALLER, SLOT): SlotChange(ZERO_WORD, ONE)},
    )
    found = state_diff(TouchedState(changes=changes), nobody)

    assert list(found) == [hexed(OTHER), hexed(CALLER), hexed(CALLEE)]
