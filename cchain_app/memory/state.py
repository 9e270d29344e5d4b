"""Accounts and slots of a chain's head, and code, as a process remembers them.

Whoever moves the head first unsets `StateMemory.number`; a reader checks it before and after it takes a value,
so that no reader ever mixes two heights, and needs no lock. What was read from rows is kept only while the memory
is what it was before they were read, by its version: a development chain goes back, and then its heights come again.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Set
from typing import Any, NamedTuple

from cchain_app.evm.engine import AccountState, StateChanges
from primitives.counting import Asked
from primitives.evm import Address, Hash, Slot, Word

CODE_BYTES = 64 * 1024 * 1024
"""Code kept in memory, in bytes; code of a hash never changes."""


class Missing:
    """Type of `MISSING`: not remembered, as distinct from remembered to be absent."""


MISSING = Missing()


class Kept(NamedTuple):
    """One kind of what is remembered, for monitoring."""

    entries: int
    asked: Asked


class StateMemory:
    """Accounts and slots as of one height, and code."""

    def __init__(self, *, accounts: int, slots: int) -> None:
        self.number: int | None = None
        """The height that the values belong to; None while they are being changed."""
        self._version = 0
        """How often they were changed."""
        self._lock = threading.Lock()
        self._accounts: dict[Address, AccountState | None] = {}
        self._slots: dict[tuple[Address, Slot], Word] = {}
        self._codes: OrderedDict[Hash, bytes] = OrderedDict()
        self._code_bytes = 0
        self._most_accounts = accounts
        self._most_slots = slots
        # Only questions about the remembered height count: others this memory does not try to answer.
        self._asked_accounts = Asked()
        self._asked_slots = Asked()
        self._asked_codes = Asked()

    def version_at(self, number: int) -> int | None:
        """Return with what values of this height are remembered, to be asked for before they are read.

        None: they are not remembered, since the memory is at another height.
        """
        version = self._version
        return version if self.number == number else None

    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return what is remembered of an account at this height."""
        if self.number != number:
            return MISSING
        found = self._accounts.get(address, MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_accounts.hit()
        return found

    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return what is remembered of a slot at this height."""
        if self.number != number:
            return MISSING
        found = self._slots.get((address, slot), MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_slots.hit()
        return found

    def code(self, code_hash: Hash) -> bytes | None:
        """Return code that is remembered, else None."""
        found = self._codes.get(code_hash)
        if found is not None:
            self._asked_codes.hit()
        return found

    def kept(self) -> dict[str, Kept]:
        """Return what is kept of each kind."""
        return {
            "accounts": Kept(len(self._accounts), self._asked_accounts),
            "slots": Kept(len(self._slots), self._asked_slots),
            "codes": Kept(len(self._codes), self._asked_codes),
        }

    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` gave the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                for address, value in values:
                    self._accounts[address] = value
                    self._asked_accounts.miss()
                shrink(self._accounts, self._most_accounts)

    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` gave the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                self._slots[address, slot] = value
                self._asked_slots.miss()
                shrink(self._slots, self._most_slots)

    def remember_code(self, code_hash: Hash, code: bytes) -> None:
        """Keep code that was read, and forget the oldest when there is too much."""
        self._asked_codes.miss()
        self._keep_code(code_hash, code)

    def _keep_code(self, code_hash: Hash, code: bytes) -> None:
        with self._lock:
            if code_hash in self._codes:
                return
            self._codes[code_hash] = code
            self._code_bytes += len(code)
            while self._code_bytes > CODE_BYTES:
                _, oldest = self._codes.popitem(last=False)
                self._code_bytes -= len(oldest)

    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by what its block changed."""
        with self._lock:
            self._begin_change()
            if changes.cleared:
                self._forget_slots(changes.cleared)
            for address, account in changes.accounts.items():
                self._accounts[address] = account.after
            for key, slot in changes.storage.items():
                self._slots[key] = slot.after
            shrink(self._accounts, self._most_accounts)
            shrink(self._slots, self._most_slots)
            self.number = number
        for code_hash, code in changes.codes.items():
            self._keep_code(code_hash, code)

    def change(self, number: int, changes: StateChanges) -> None:
        """Take changes that were made on this height itself, by hand."""
        if self.number == number:
            self.advance(number, changes)

    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget what changed on the way."""
        with self._lock:
            self._begin_change()
            for address in accounts:
                self._accounts.pop(address, None)
            for key in slots:
                self._slots.pop(key, None)
            self.number = number

    def reset(self, number: int) -> None:
        """Move to a height of which nothing is known."""
        with self._lock:
            self._begin_change()
            self._accounts.clear()
            self._slots.clear()
            self.number = number

    def _begin_change(self) -> None:
        self.number = None
        self._version += 1

    def _forget_slots(self, addresses: Set[Address]) -> None:
        for key in [key for key in self._slots if key[0] in addresses]:
            del self._slots[key]


def shrink(values: dict[Any, Any], most: int) -> None:
    """Forget what was kept first."""
    while len(values) > most:
        del values[next(iter(values))]
