"""The memory of a chain's head in the crate `native/`, whose engine reads it without the interpreter.

Importing this module raises ImportError if the crate was not built.
"""

from collections.abc import Iterable
from typing import Any

import cchain_native
from typing_extensions import override

from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.memory.state import MISSING, CacheUsage, Missing, StateMemory
from primitives.evm import Address, Hash, Slot, Word

_ANSWER_BYTES = 16 * 1024 * 1024
"""Limit in bytes of the cached answers about accepted blocks, which are kept in addition to the state."""

_LOGS_AT_ONCE = 1_000
"""Logs that are rendered in one call, which takes half a millisecond."""


def render_log_rows(rows: list[tuple[Any, ...]]) -> list[bytes]:
    """Return rows of logs (`selectors.logs.LogRow`) in the JSON form of `wire.found_log`: parts joined by commas.

    Other threads can run between two parts.
    """
    return [
        cchain_native.render_log_rows(rows, first, _LOGS_AT_ONCE)
        for first in range(0, len(rows), _LOGS_AT_ONCE)
    ]


render_logs = cchain_native.render_logs
"""Renders the logs of a transaction as `api.rendered.render_logs` does."""


class NativeStateMemory(StateMemory):
    """Accounts and slots as of one height, like `StateMemory`; code is kept in Python.

    Each change is atomic, so that no reader sees part of it.
    """

    native: cchain_native.StateMemory

    def __init__(self, *, accounts: int, slots: int) -> None:
        super().__init__()
        self.native = cchain_native.StateMemory(accounts, slots)

    @property
    @override
    def number(self) -> int | None:
        """The height that the values belong to; None: no height yet."""
        return self.native.number

    @override
    def version_at(self, number: int) -> int | None:
        """Return the version for remembering values of this height; call it before reading them.

        None: the values cannot be remembered, because the memory is at another height.
        """
        return self.native.version_at(number)

    @override
    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return the remembered account at this height."""
        found = self.native.account(address, number)
        if found is None:
            return None
        if found is False:
            return MISSING
        nonce, balance, code_hash = found
        return AccountState(nonce, balance, Hash(code_hash))

    @override
    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return the remembered value of a slot at this height."""
        found = self.native.slot(address, slot, number)
        return MISSING if found is None else Word(found)

    @override
    def kept(self) -> dict[str, CacheUsage]:
        """Return the size and the hits of each cache."""
        accounts, slots = self.native.kept()
        return {
            "accounts": CacheUsage(*accounts),
            "slots": CacheUsage(*slots),
            "codes": self._kept_codes(),
        }

    @override
    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` returned the version, unless anything has changed since."""
        self.native.remember_accounts(list(values), version)

    @override
    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` returned the version, unless anything has changed since."""
        self.native.remember_slot(address, slot, value, version)

    @override
    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by applying its block's changes."""
        self.native.advance(number, changes)
        for code_hash, code in changes.codes.items():
            self._keep_code(code_hash, code)

    @override
    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget the values that changed in between."""
        self.native.move_to(number, list(accounts), list(slots))

    @override
    def reset(self, number: int) -> None:
        """Forget all values and move to a height."""
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
        """Return an object that answers frequent requests from this memory.

        Args:
            gas: Gas limit of all calls of one body together.
            seconds: Time limit of all calls of one body together, on an event loop.
            whole_seconds: Time limit on the event loop of all calls in whole requests and frames together.
            thread_seconds: Time limit of all calls of one body in a thread.
            long_seconds: Minimum duration of a call for which another thread pays off.
        """
        return cchain_native.HotAnswers(
            self.native, _ANSWER_BYTES, gas, seconds, whole_seconds, thread_seconds, long_seconds
        )
