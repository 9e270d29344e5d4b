"""Trace entries in Parity's format: the frames that have one, their trace addresses, and contents."""

import pytest

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.tracing import TouchedState
from cchain_app.tracing.parity import (
    TransactionPlace,
    entries,
    localized_entries,
    state_diff,
    words,
)
from primitives.evm import ZERO_WORD, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.traces import CALLEE, CALLER, OTHER, PRECOMPILE, frame, selfdestruct

PLACE = TransactionPlace(Hash(b"\xb1" * 32), 7, Hash(b"\x7a" * 32), 3)


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_call_entry_has_input_and_output():
    (entry,) = entries([frame(value=5)])

    assert entry == {
        "action": {
            "from": hexed(CALLER), "callType": "call", "gas": "0xc350", "input": "0x0102",
            "to": hexed(CALLEE), "value": "0x5",
        },
        "result": {"gasUsed": "0x2bc", "output": "0x03"},
        "subtraces": 0,
        "traceAddress": (),
        "type": "call",
    }  # fmt: skip


def test_trace_entry_has_block_and_position():
    (entry,) = localized_entries([frame()], PLACE)

    assert entry["blockHash"] == hexed(PLACE.block_hash)
    assert entry["blockNumber"] == 7
    assert entry["transactionHash"] == hexed(PLACE.transaction_hash)
    assert entry["transactionPosition"] == 3


def test_addresses_are_paths_through_the_tree():
    depths = [0, 1, 2, 2, 1, 2, 3]
    found = list(entries([frame(depth) for depth in depths]))

    assert [other["traceAddress"] for other in found] == [
        (), (0,), (0, 0), (0, 1), (1,), (1, 0), (1, 0, 0),
    ]  # fmt: skip
    assert [item["subtraces"] for item in found] == [2, 2, 0, 0, 1, 1, 0]


def test_precompiles_have_entries_with_value_and_at_the_top_only():
    plain = frame(1, to=PRECOMPILE, precompile=True)
    paid = plain._replace(value=1)
    found = list(entries([frame(), plain, frame(1), paid]))

    assert [item["traceAddress"] for item in found] == [(), (0,), (1,)]
    assert found[0]["subtraces"] == 2
    assert [other["action"]["value"] for other in found] == ["0x0", "0x0", "0x1"]
    assert len(list(entries([plain._replace(depth=0)]))) == 1


@pytest.mark.parametrize("kind", ["DELEGATECALL", "STATICCALL", "CALLCODE"])
def test_the_kind_of_a_call_is_in_its_action(kind):
    (entry,) = entries([frame(type=kind, value=None)])

    assert (entry["type"], entry["action"]["callType"]) == ("call", kind.lower())
    assert entry["action"]["value"] == "0x0"


@pytest.mark.parametrize("kind", ["CREATE", "CREATE2"])
def test_a_creation_has_init_code_address_and_code(kind):
    (entry,) = entries([frame(type=kind, to=OTHER)])

    assert entry["type"] == "create"
    assert entry["action"] == {
        "from": hexed(CALLER), "creationMethod": kind.lower(), "gas": "0xc350", "init": "0x0102",
        "value": "0x0",
    }  # fmt: skip
    assert entry["result"] == {"address": hexed(OTHER), "code": "0x03", "gasUsed": "0x2bc"}


def test_selfdestruct_entry_has_the_beneficiary():
    _, entry = entries([frame(), selfdestruct(1)])

    assert entry == {
        "action": {"address": hexed(CALLEE), "balance": "0xc", "refundAddress": hexed(OTHER)},
        "result": None,
        "subtraces": 0,
        "traceAddress": (0,),
        "type": "suicide",
    }


def test_only_reverted_failures_have_a_result():
    reverted, failed = entries(
        [frame(error="execution reverted"), frame(1, error="out of gas", output=b"")]
    )

    assert (reverted["error"], reverted["result"]["output"]) == ("Reverted", "0x03")
    assert (failed["error"], failed["result"]) == ("Out of gas", None)


def test_creation_without_address_has_no_result():
    (entry,) = entries([frame(type="CREATE", to=None, error="max call depth exceeded")])

    assert entry["result"] is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("execution reverted", "Reverted"),
        ("out of gas: not enough gas for reentrancy sentry", "Out of gas"),
        ("out of gas: max initcode size exceeded: code size 49153 limit 49152", "Out of gas"),
        ("max code size exceeded: code size 24577 limit 24576", "Out of gas"),
        ("invalid jump destination", "Bad jump destination"),
        ("invalid opcode: opcode 0xc not defined", "Bad instruction"),
        ("stack underflow (0 <=> 2)", "Stack underflow"),
        ("stack limit reached 1024 (1023)", "Out of stack"),
        ("return data out of bounds", "Out of bounds"),
        ("write protection", "Mutable Call In Static Context"),
        ("precompiled failed", "Built-in failed"),
        ("invalid input length", "Built-in failed"),
        ("insufficient balance for transfer", "insufficient balance for transfer"),
        ("contract address collision", "contract address collision"),
    ],
)
def test_failures_have_paritys_messages(error, said):
    assert words(error) == said


def test_frames_at_the_maximum_depth_are_rendered():
    found = list(entries([frame(depth) for depth in range(1025)]))

    assert found[-1]["traceAddress"] == (0,) * 1024


CODE = b"\x60\x00"
SLOT = Slot(bytes(31) + b"\x01")
ONE = Word(bytes(31) + b"\x01")


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


def test_created_account_is_shown_as_new():
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


def test_created_account_without_code_has_empty_code():
    change = AccountChange(None, plain(0, 7))
    found = state_diff(TouchedState(changes=StateChanges(accounts={OTHER: change})), nobody)

    assert found[hexed(OTHER)]["code"] == {"+": "0x"}


def test_deleted_account_is_shown_with_its_old_values():
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


def test_slot_of_existing_account_is_shown_as_changed():
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
