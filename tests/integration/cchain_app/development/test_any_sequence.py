"""Any sequence of transactions, cheats, snapshots, reverts and restarts ends in the state of a model.

The model knows balances, nonces and slots of a few accounts that only this test uses. At the end all blocks are
recomputed by the specification's code, and the state at each height is read again.
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.selectors.rebuilding import verify_state
from tests.builders.bytecode import assemble
from tests.integration.recomputed import assert_recomputes

pytestmark = pytest.mark.node_settings(profile="embedded")

TEMPORARY = Path(gettempdir())
ACCOUNTS = ["0x" + f"{item:02x}" * 20 for item in (0xA1, 0xA2, 0xA3)]
_WORDS = st.integers(0, 3)
ECRECOVER = "0x" + "00" * 19 + "01"
SIGNATURE = b"\xff" * 64 + b"\x1b"
"""An invalid signature: no point of the curve has this r."""
RECOVERY = bytes(63) + SIGNATURE[64:] + SIGNATURE[:64]
"""The input of ecrecover for this signature."""
KEEP_RECOVERED = assemble(
    0x1B,
    "32 MSTORE",
    2**256 - 1,
    "DUP1 64 MSTORE 96 MSTORE 32 128 128 0 1 GAS STATICCALL 128 MLOAD 0 SSTORE",
)
"""Init code that calls ecrecover: slot 0 of the contract is the result."""


@dataclass
class Model:
    """The expected state of these accounts, now and at each earlier height."""

    balances: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    nonces: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACCOUNTS, 0))
    slots: dict[tuple[str, int], int] = field(default_factory=dict)
    height: int = 0
    sent: int = 0
    """Number of transactions of the well-known key's account."""
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
    st.tuples(st.just("signer_is"), _ACCOUNT),
    st.tuples(st.just("recover")),
    st.tuples(st.just("mine"), st.integers(1, 3)),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("revert"), st.integers(0, 5)),
    st.tuples(st.just("rollback"), st.integers(0, 2)),
    st.tuples(st.just("restart")),
)


class Session:
    """A chain and its model, which run the same operations."""

    def __init__(self, rpc: Any, chain: Any) -> None:
        self.rpc, self.chain = rpc, chain
        self.model = Model()
        self.snapshots: list[tuple[str, Model]] = []
        self.signer = ""
        """Signer of the impersonated signature, which a revert does not change; empty if not set."""
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
        self._send(to=bytes.fromhex(account[2:]), value=wei)
        self.model.balances[account] += wei

    def signer_is(self, account: str) -> None:
        self.rpc("anvil_impersonateSignature", [f"0x{SIGNATURE.hex()}", account])
        self.signer = account

    def recover(self) -> None:
        self._send(to=None, value=0, data=KEEP_RECOVERED, gas=200_000)
        created = self.rpc("eth_getBlockReceipts", "latest")[0]["contractAddress"]
        assert self._slot(created, 0) == int(self.signer or "0x0", 16)

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
        # Cheats on the block that becomes the head again are part of its state.
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
        """Compare the state at all heights, and recompute all blocks."""
        model = self.model
        assert int(self.rpc("eth_blockNumber"), 16) == model.height
        for height, balances in enumerate([*model.past, model.balances]):
            found = {
                account: int(self.rpc("eth_getBalance", account, hex(height)), 16)
                for account in ACCOUNTS
            }
            assert found == balances, f"at height {height}"
        assert self._nonces() == model.nonces
        assert {key: self._slot(*key) for key in model.slots} == model.slots
        answer = self.rpc("eth_call", {"to": ECRECOVER, "data": f"0x{RECOVERY.hex()}"}, "latest")
        assert answer == (f"0x{self.signer[2:]:>064}" if self.signer else "0x")
        assert_recomputes(self.chain.evm)
        verify_state(self.chain.evm.db, PythonStateTrie(), TEMPORARY)

    def _send(self, **fields: Any) -> None:
        """Make a block with a transaction of the well-known key's account."""
        self.chain.nonce = self.model.sent
        self.chain.send(self.chain.make(**fields))
        self.rpc("evm_mine")
        self._next_height()
        self.model.sent += 1

    def _is_no_empty_account(self, account: str) -> None:
        """Give an account that has storage and nothing else nonce 1."""
        has_storage = any(value for key, value in self.model.slots.items() if key[0] == account)
        if has_storage and not (self.model.balances[account] or self.model.nonces[account]):
            self.model.nonces[account] = 1

    def _next_height(self) -> None:
        self.model.past.append(dict(self.model.balances))
        self.model.height += 1

    def _nonces(self) -> dict[str, int]:
        return {
            account: int(self.rpc("eth_getTransactionCount", account, "latest"), 16)
            for account in ACCOUNTS
        }

    def _slot(self, account: str, place: int) -> int:
        return int(self.rpc("eth_getStorageAt", account, hex(place)), 16)


SENDER = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, max_size=25))
def test_random_sequence_ends_as_in_the_model(rpc, chain, operations):
    session = Session(rpc, chain)
    for operation in operations:
        session.run(operation)
    verify_state(chain.evm.db, PythonStateTrie(), TEMPORARY)  # with the cheats on the head
    session.rpc("anvil_mine", 1)
    session._next_height()
    session.check()
