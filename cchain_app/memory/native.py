"""The memory of a chain's head in the crate `native/`: its engine reads it without the interpreter.

Importing this module raises ImportError where the crate was not built.
"""

from collections.abc import Iterable
from typing import Any

import cchain_native
from typing_extensions import override

from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.memory.state import MISSING, Kept, Missing, StateMemory
from primitives.evm import Address, Hash, Slot, Word

_ANSWER_BYTES = 16 * 1024 * 1024
"""Bytes of answers about accepted blocks that are kept beside it."""

_LOGS_AT_ONCE = 1_000
"""Logs that are rendered in one go: that takes half a millisecond."""


def render_log_rows(rows: list[tuple[Any, ...]]) -> list[bytes]:
    """Return rows of logs (`selectors.logs.LogRow`) as `wire.found_log` has them, in JSON: parts with commas between.

    Between two parts other threads get their turn.
    """
    return [
        cchain_native.render_log_rows(rows, first, _LOGS_AT_ONCE)
        for first in range(0, len(rows), _LOGS_AT_ONCE)
    ]


render_logs = cchain_native.render_logs
"""Returns the logs of a transaction as `api.rendered.render_logs` does."""


class NativeStateMemory(StateMemory):
    """Accounts and slots as of one height, as `StateMemory` has them; code is Python's.

    Each change is done at once, so that nobody meets one that is half done.
    """

    native: cchain_native.StateMemory

    def __init__(self, *, accounts: int, slots: int) -> None:
        super().__init__()
        self.native = cchain_native.StateMemory(accounts, slots)

    @property
    @override
    def number(self) -> int | None:
        """The height that the values belong to; None: they are of none yet."""
        return self.native.number

    @override
    def version_at(self, number: int) -> int | None:
        """Return with what values of this height are remembered, to be asked for before they are read.

        None: they are not remembered, since the memory is at another height.
        """
        return self.native.version_at(number)

    @override
    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return what is remembered of an account at this height."""
        found = self.native.account(address, number)
        if found is None:
            return None
        if found is False:
            return MISSING
        nonce, balance, code_hash = found
        return AccountState(nonce, balance, Hash(code_hash))

    @override
    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return what is remembered of a slot at this height."""
        found = self.native.slot(address, slot, number)
        return MISSING if found is None else Word(found)

    @override
    def kept(self) -> dict[str, Kept]:
        """Return what is kept of each kind."""
        accounts, slots = self.native.kept()
        return {"accounts": Kept(*accounts), "slots": Kept(*slots), "codes": self._kept_codes()}

    @override
    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` gave the version, unless anything has changed since."""
        self.native.remember_accounts(list(values), version)

    @override
    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` gave the version, unless anything has changed since."""
        self.native.remember_slot(address, slot, value, version)

    @override
    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by what its block changed."""
        self.native.advance(number, changes)
        for code_hash, code in changes.codes.items():
            self._keep_code(code_hash, code)

    @override
    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget what changed on the way."""
        self.native.move_to(number, list(accounts), list(slots))

    @override
    def reset(self, number: int) -> None:
        """Move to a height of which nothing is known."""
        self.native.reset(number)

    def answers(
        self,
        *,
        gas: int,
        seconds: float,
        whole_seconds: float,
        thread_seconds: float,
        long_seconds: float,
    ) -> cchain_native.HotAnswers:
        """Return what answers frequent requests from this memory.

        Args:
            gas: What the calls of one body may use together.
            seconds: Likewise, on an event loop.
            whole_seconds: What those in whole requests and frames may take of the event loop together.
            thread_seconds: What those of one body may take in a thread.
            long_seconds: What a call takes that is worth another thread.
        """
        return cchain_native.HotAnswers(
            self.native, _ANSWER_BYTES, gas, seconds, whole_seconds, thread_seconds, long_seconds
        )
