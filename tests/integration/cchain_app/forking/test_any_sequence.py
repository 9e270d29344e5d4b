"""Any sequence of calls, cheats, snapshots, reverts and restarts on a fork ends in the state of a model.

At the end a block is made. Its state root must equal that of a trie built in one step from all changes since the
fork block.
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app import models
from cchain_app.evm.engine import AccountChange, SlotChange, StateChanges
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.selectors.rebuilding import verify_state
from cchain_app.store import evm_state
from primitives.evm import ZERO_WORD, Address, Slot
from primitives.hashing import EMPTY_ROOT
from tests.integration.cchain_app.forking.conftest import COUNTER, PIN, RICH

pytestmark = pytest.mark.sqlite_only

TEMPORARY = Path(gettempdir())
NEW = "0x" + "ab" * 20
"""An account that does not exist on the remote chain."""
ACCOUNTS = (RICH, NEW, COUNTER)
_WORDS = st.integers(0, 3)
_ACCOUNT = st.sampled_from(ACCOUNTS)
OPERATIONS = st.one_of(
    st.tuples(st.just("balance"), _ACCOUNT, _WORDS),
    st.tuples(st.just("slot"), st.sampled_from((COUNTER, RICH)), _WORDS, _WORDS),
    st.tuples(st.just("count")),
    st.tuples(st.just("transfer"), _ACCOUNT, _WORDS),
    st.tuples(st.just("mine"), st.integers(1, 2)),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("revert"), st.integers(0, 5)),
    st.tuples(st.just("reset")),
    st.tuples(st.just("restart")),
)


@dataclass
class Model:
    """The expected state of these accounts, now and at each height since the fork block."""

    balances: dict[str, int] = field(default_factory=lambda: {RICH: 10**20, NEW: 0, COUNTER: 3})
    slots: dict[tuple[str, int], int] = field(default_factory=lambda: {(COUNTER, 0): 7})
    sent: int = 0
    past: list[tuple[dict[str, int], int]] = field(default_factory=list)
    """Balances and the counter at each height below the head."""

    @property
    def now(self) -> tuple[dict[str, int], int]:
        return dict(self.balances), self.slots[COUNTER, 0]

    def next_height(self) -> None:
        self.past.append(self.now)


class Session:
    """A fork and its model, which run the same operations."""

    def __init__(self, rpc: Any, forked: Any) -> None:
        self.rpc, self.forked = rpc, forked
        self.reset()

    def run(self, operation: tuple[Any, ...]) -> None:
        name, *arguments = operation
        getattr(self, name)(*arguments)

    def balance(self, account: str, wei: int) -> None:
        self.rpc("anvil_setBalance", account, wei)
        self.model.balances[account] = wei

    def slot(self, account: str, place: int, value: int) -> None:
        self.rpc("anvil_setStorageAt", account, place, f"0x{value:064x}")
        self.model.slots[account, place] = value

    def count(self) -> None:
        self.forked.nonce = self.model.sent
        self.forked.mine(self.forked.make(to=_raw(COUNTER), data=b"\x01", gas=90_000, value=0))
        self._mined()
        self.model.slots[COUNTER, 0] += 1

    def transfer(self, account: str, wei: int) -> None:
        self.forked.nonce = self.model.sent
        gas = 90_000
        self.forked.mine(self.forked.make(to=_raw(account), value=wei, gas=gas))
        self._mined()
        self.model.balances[account] += wei

    def _mined(self) -> None:
        self.model.next_height()
        self.model.sent += 1

    def mine(self, blocks: int) -> None:
        for _ in range(blocks):
            self.forked.mine()
            self.model.next_height()

    def snapshot(self) -> None:
        self.snapshots.append((self.rpc("evm_snapshot"), copy.deepcopy(self.model)))

    def revert(self, back: int) -> None:
        if back >= len(self.snapshots):
            return
        place = len(self.snapshots) - 1 - back
        number, self.model = self.snapshots[place]
        del self.snapshots[place:]
        assert self.rpc("evm_revert", number) is True

    def reset(self) -> None:
        assert self.rpc("anvil_reset") is None
        self.model = Model()
        self.snapshots: list[tuple[str, Model]] = []

    def restart(self) -> None:
        self.forked.restart()

    def check(self) -> None:
        """Compare the state at all heights, and the root of the head with that of a trie built in one step."""
        for height, (balances, counter) in enumerate([*self.model.past, self.model.now], PIN):
            at = hex(height)
            found = {item: int(self.rpc("eth_getBalance", item, at), 16) for item in ACCOUNTS}
            assert found == balances
            assert int(self.rpc("eth_call", {"to": COUNTER}, at), 16) == counter
        for (account, place), value in self.model.slots.items():
            assert int(self.rpc("eth_getStorageAt", account, hex(place), "latest"), 16) == value
        verify_state(
            self.forked.evm.db, PythonStateTrie(), TEMPORARY
        )  # with the cheats on the head
        block = self.forked.mine()
        assert block.header.state_root == root_of_changes(self.forked.evm.db)
        assert (
            verify_state(self.forked.evm.db, PythonStateTrie(), TEMPORARY)
            == block.header.state_root
        )


def root_of_changes(db: Any) -> bytes:
    """Return the root of the trie of all accounts and slots that changed since the fork block."""
    keys = [bytes(key) for key in models.ForkedLeaf.objects.values_list("key", flat=True)]
    owners = [Address(key) for key in keys if len(key) == 20]
    slots = [key for key in keys if len(key) > 20]
    states = evm_state.accounts_now(db, owners)
    values = evm_state.slots_now(db, slots)
    changes = StateChanges(
        accounts={owner: AccountChange(None, states[owner]) for owner in owners if owner in states},
        storage={
            (Address(key[:20]), Slot(key[20:])): SlotChange(ZERO_WORD, value)
            for key, value in values.items()
            if value != ZERO_WORD
        },
    )
    return PythonStateTrie().update(EMPTY_ROOT, changes, _Nothing()).root


class _Nothing:
    def nodes(self, keys: Any) -> list[None]:
        return [None] * len(keys)


def _raw(account: str) -> Address:
    return Address(bytes.fromhex(account[2:]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, max_size=14))
def test_any_sequence_ends_as_the_model(rpc, forked, operations):
    session = Session(rpc, forked)
    for operation in operations:
        session.run(operation)
    session.check()
