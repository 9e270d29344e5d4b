"""Overrides of state and environment."""

from dataclasses import replace

import pytest

from cchain_app.evm.engine import StateChanges
from cchain_app.evm.overrides import (
    AccountOverride,
    BadOverride,
    BlockOverride,
    OverrideReason,
    is_precompile,
    move_precompiles,
    override_changes,
    override_state,
)
from cchain_app.evm.pending_state import PendingState
from primitives.evm import ZERO_WORD
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState, block_env
from tests.builders.reasons import raises

ACCOUNT, OTHER, SHA256 = b"\xaa" * 20, b"\xbb" * 20, bytes(19) + b"\x02"
ONE, TWO = (1).to_bytes(32, "big"), (2).to_bytes(32, "big")


@pytest.fixture
def state() -> MemoryState:
    made = MemoryState(hashes={4: b"\x04" * 32})
    made.put(ACCOUNT, balance=5, nonce=1, code=b"\x60", storage={1: 1, 2: 2})
    return made


def test_without_overrides_the_state_is_the_same(state):
    assert override_state(state, {}) is state


def test_other_state_is_unchanged_by_overrides(state):
    changed = override_state(state, {OTHER: AccountOverride(balance=9)})
    assert changed.account(ACCOUNT) == state.account(ACCOUNT)
    assert changed.storage(ACCOUNT, ONE) == ONE
    assert changed.code(keccak256(b"\x60")) == b"\x60"
    assert changed.block_hash(4) == b"\x04" * 32


def test_override_creates_a_missing_account(state):
    changed = override_state(state, {OTHER: AccountOverride(balance=9)})
    assert changed.account(OTHER) == (0, 9, EMPTY_HASH)


def test_single_values_are_replaced(state):
    changed = override_state(state, {ACCOUNT: AccountOverride(nonce=0, code=b"\x61")})
    assert changed.account(ACCOUNT) == (0, 5, keccak256(b"\x61"))
    assert changed.code(keccak256(b"\x61")) == b"\x61"


def test_code_can_be_taken_away(state):
    changed = override_state(state, {ACCOUNT: AccountOverride(code=b"")})
    assert changed.account(ACCOUNT).code_hash == EMPTY_HASH
    assert changed.code(EMPTY_HASH) == b""


def test_state_is_all_of_the_storage(state):
    changed = override_state(state, {ACCOUNT: AccountOverride(state={ONE: TWO})})
    assert (changed.storage(ACCOUNT, ONE), changed.storage(ACCOUNT, TWO)) == (TWO, ZERO_WORD)


def test_a_state_diff_is_single_slots(state):
    changed = override_state(state, {ACCOUNT: AccountOverride(state_diff={ONE: TWO})})
    assert (changed.storage(ACCOUNT, ONE), changed.storage(ACCOUNT, TWO)) == (TWO, TWO)


def test_state_and_diff_exclude_each_other(state):
    both = AccountOverride(state={}, state_diff={})
    with raises(
        OverrideReason.STATE_AND_DIFF, kind=BadOverride, match="has both 'state' and 'stateDiff'"
    ):
        override_state(state, {ACCOUNT: both})


def test_only_precompiles_can_be_moved():
    moved = AccountOverride(move_precompile_to=OTHER)
    with raises(OverrideReason.NOT_A_PRECOMPILE, kind=BadOverride, match="is not a precompile"):
        move_precompiles(block_env(), {ACCOUNT: moved})


@pytest.mark.parametrize("to", [OTHER, SHA256])
def test_a_precompile_cannot_be_moved_onto_an_overridden_account(to):
    moved = AccountOverride(move_precompile_to=to)
    with raises(OverrideReason.ALREADY_OVERRIDDEN, kind=BadOverride, match="is already overridden"):
        move_precompiles(block_env(), {SHA256: moved, OTHER: AccountOverride(balance=1)})


def test_moves_are_reported_to_the_engine():
    env = block_env()
    moved = move_precompiles(env, {SHA256: AccountOverride(move_precompile_to=OTHER)})
    assert moved.precompile_moves == ((SHA256, OTHER),)
    assert replace(moved, precompile_moves=()) == env


@pytest.mark.parametrize(
    "change", [AccountOverride(code=b"\x60"), AccountOverride(balance=7), AccountOverride()]
)
def test_an_override_takes_the_precompile_away(change):
    assert move_precompiles(block_env(), {SHA256: change}).precompile_moves == ((SHA256, None),)


def test_other_accounts_leave_the_precompiles_alone():
    env = block_env()
    assert move_precompiles(env, {ACCOUNT: AccountOverride(balance=7)}) is env


def test_balance_of_a_precompile_can_be_overridden(state):
    changed = override_state(state, {SHA256: AccountOverride(balance=7)})
    assert changed.account(SHA256).balance == 7


@pytest.mark.parametrize(
    ("fork", "last"),
    [
        ("frontier", 4), ("spurious_dragon", 4), ("byzantium", 8), ("istanbul", 9), ("london", 9),
        ("cancun", 10), ("prague", 17), ("osaka", 17),
    ],
)  # fmt: skip
def test_forks_brought_precompiles(fork, last):
    assert is_precompile(last.to_bytes(20, "big"), fork)
    assert not is_precompile((last + 1).to_bytes(20, "big"), fork)
    assert not is_precompile(bytes(20), fork)


def test_precompile_at_256_exists_since_osaka():
    assert is_precompile((256).to_bytes(20, "big"), "osaka")
    assert not is_precompile((256).to_bytes(20, "big"), "prague")


def test_surroundings_change_where_they_are_overridden():
    env = block_env()
    changed = BlockOverride(
        number=1,
        time=2,
        gas_limit=3,
        fee_recipient=OTHER,
        prev_randao=TWO,
        base_fee=0,
        difficulty=4,
        blob_base_fee=5,
    ).apply(env)
    values = (
        changed.number, changed.timestamp, changed.gas_limit, changed.coinbase,
        changed.prev_randao, changed.base_fee, changed.difficulty, changed.blob_base_fee,
    )  # fmt: skip
    assert values == (1, 2, 3, OTHER, TWO, 0, 4, 5)
    assert changed.fork == env.fork
    assert BlockOverride().apply(env) == env


def check_lasting(state: MemoryState, override: AccountOverride) -> None:
    overrides = {ACCOUNT: override}
    after = PendingState(state)
    after.put(override_changes(state, overrides))
    seen = override_state(state, overrides)
    assert after.account(ACCOUNT) == seen.account(ACCOUNT)
    for slot in (ONE, TWO, bytes(32)):
        assert after.storage(ACCOUNT, slot) == seen.storage(ACCOUNT, slot)


@pytest.mark.parametrize(
    "override",
    [
        AccountOverride(balance=9),
        AccountOverride(code=b""),
        AccountOverride(code=b"\x61", nonce=3),
        AccountOverride(state={ONE: TWO}),
        AccountOverride(state={}),
        AccountOverride(state_diff={ONE: bytes(32), TWO: TWO}),
    ],
    ids=["balance", "no code", "code and nonce", "storage", "no storage", "slots"],
)
def test_persistent_override_acts_like_that_of_a_call(state, override):
    check_lasting(state, override)
    check_lasting(MemoryState(), override)


def test_empty_override_creates_no_account(state):
    changes = override_changes(
        state, {OTHER: AccountOverride(), SHA256: AccountOverride(move_precompile_to=OTHER)}
    )
    assert changes == StateChanges()
    exists = override_changes(state, {OTHER: AccountOverride(balance=0)})
    assert exists.accounts[OTHER].after == (0, 0, EMPTY_HASH)


def test_a_new_storage_takes_the_place_of_the_old(state):
    changes = override_changes(state, {ACCOUNT: AccountOverride(state={TWO: TWO})})
    assert changes.cleared == {ACCOUNT}
    assert changes.storage == {(ACCOUNT, TWO): (TWO, TWO)}


def test_both_kinds_of_storage_cannot_last_either(state):
    with raises(OverrideReason.STATE_AND_DIFF, kind=BadOverride):
        override_changes(state, {ACCOUNT: AccountOverride(state={}, state_diff={})})
