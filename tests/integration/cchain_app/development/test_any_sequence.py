"""Any sequence of transactions, changes by hand, snapshots, reverts and restarts ends as a model says it does.

The model knows balances, nonces and slots of a few accounts that nobody else touches; all blocks are computed
anew by the specification's code in the end, and the state at each height is asked again.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.recomputed import assert_recomputes

ACCOUNTS = ["0x" + f"{one:02x}" * 20 for one in (0xA1, 0xA2, 0xA3)]
_WORDS = st.integers(0, 3)


@dataclass
class Model:
    """What the state of these accounts is, and was."""

    balances: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    nonces: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    height: int = 0
    sent: int = 0
    """Transactions of the well-known key's account."""
    past: list[dict[str, int]] = field(default_factory=list)
    """Balances at each height below the head."""

    def copy(self) -> "Model":
        return copy.deepcopy(self)


_ACCOUNT = st.sampled_from(ACCOUNTS)
OPERATIONS = st.one_of(
    st.tuples(st.just("balance"), _ACCOUNT, _WORDS),
    st.tuples(st.just("nonce"), _ACCOUNT, _WORDS),
    st.tuples(st.just("slot"), _ACCOUNT, _WORDS, _WORDS),
    st.tuples(st.just("transfer"), _ACCOUNT, _WORDS),
    st.tuples(st.just("mine"), st.integers(1, 3)),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("revert"), st.integers(0, 5)),
    st.tuples(st.just("rollback"), st.integers(0, 2)),
    st.tuples(st.just("restart")),
)


class Session:
    """A chain and the model of it, driven side by side."""

    def __init__(self, rpc: Any, chain: Any) -> None:
        self.rpc, self.chain = rpc, chain
        self.model = Model()
        self.snapshots: list[tuple[str, Model]] = []
        rpc("anvil_reset")

    def run(self, operation: tuple[Any, ...]) -> None:
        name, *arguments = operation
        getattr(self, name)(*arguments)

    def balance(self, account: str, wei: int) -> None:
        self.rpc("anvil_setBalance", account, wei)
        self.model.balances[account] = wei
        self._is_no_empty_account(account)

    def nonce(self, account: str, count: int) -> None:
        self.rpc("anvil_setNonce", account, count)
        self.model.nonces[account] = count
        self._is_no_empty_account(account)

    def slot(self, account: str, place: int, value: int) -> None:
        self.rpc("anvil_setStorageAt", account, place, f"0x{value:064x}")
        self.model.slots[account, place] = value
        self._is_no_empty_account(account)

    def transfer(self, account: str, wei: int) -> None:
        self.chain.nonce = self.model.sent
        self.chain.send(self.chain.make(to=bytes.fromhex(account[2:]), value=wei))
        self.rpc("evm_mine")
        self._next_height()
        self.model.sent += 1
        self.model.balances[account] += wei

    def mine(self, count: int) -> None:
        self.rpc("anvil_mine", count)
        for _ in range(count):
            self._next_height()

    def snapshot(self) -> None:
        self.snapshots.append((self.rpc("evm_snapshot"), self.model.copy()))

    def revert(self, back: int) -> None:
        if back >= len(self.snapshots):
            return
        place = len(self.snapshots) - 1 - back
        number, self.model = self.snapshots[place]
        del self.snapshots[place:]
        assert self.rpc("evm_revert", number) is True

    def rollback(self, depth: int) -> None:
        if depth == 0 or depth > self.model.height or self.snapshots:
            return
        # What was changed by hand on the block that is the head again is part of its state.
        self.rpc("anvil_rollback", depth)
        self.model.height -= depth
        self.model.balances = self.model.past[self.model.height]
        del self.model.past[self.model.height :]
        self.model.sent = int(self.rpc("eth_getTransactionCount", SENDER, "latest"), 16)
        self.model.nonces = self._nonces()
        self.model.slots = {key: self._slot(*key) for key in self.model.slots}

    def restart(self) -> None:
        self.chain.forget()

    def check(self) -> None:
        """Compare the state at all heights, and have all blocks computed anew."""
        model = self.model
        assert int(self.rpc("eth_blockNumber"), 16) == model.height
        for height, balances in enumerate([*model.past, model.balances]):
            found = {one: int(self.rpc("eth_getBalance", one, hex(height)), 16) for one in ACCOUNTS}
            assert found == balances, f"at height {height}"
        assert self._nonces() == model.nonces
        assert {key: self._slot(*key) for key in model.slots} == model.slots
        assert_recomputes(self.chain.evm)

    def _is_no_empty_account(self, account: str) -> None:
        """Give who has storage and nothing else nonce 1."""
        has_storage = any(value for key, value in self.model.slots.items() if key[0] == account)
        if has_storage and not (self.model.balances[account] or self.model.nonces[account]):
            self.model.nonces[account] = 1

    def _next_height(self) -> None:
        self.model.past.append(dict(self.model.balances))
        self.model.height += 1

    def _nonces(self) -> dict[str, int]:
        return {
            one: int(self.rpc("eth_getTransactionCount", one, "latest"), 16) for one in ACCOUNTS
        }

    def _slot(self, account: str, place: int) -> int:
        return int(self.rpc("eth_getStorageAt", account, hex(place)), 16)


SENDER = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, max_size=25))
def test_a_sequence_ends_as_the_model_says(rpc, chain, operations):
    session = Session(rpc, chain)
    for operation in operations:
        session.run(operation)
    session.rpc("anvil_mine", 1)
    session._next_height()
    session.check()
