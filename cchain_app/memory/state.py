"""A process's cache of the accounts and slots of a chain's head, and of code.

No reader ever mixes two heights. In Python's memory the thread that moves the head first unsets `number`, and readers
check `number` before and after reading a value; the crate's memory takes a lock for each step. Values that were read
from rows are kept only if the memory's version is still that from before they were read, because on a development
chain a height can occur again after a rewind.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, NamedTuple

from typing_extensions import override

from cchain_app.evm.engine import AccountState, StateChanges
from primitives.bounded_cache import BoundedCache, HitCounter
from primitives.evm import Address, Hash, Slot, Word

if TYPE_CHECKING:
    import cchain_native

CODE_BYTES = 64 * 1024 * 1024
"""Limit of the code in memory, in bytes; the code of a hash never changes."""


class Missing:
    """Type of `MISSING`: not remembered, as opposed to remembered as absent."""


MISSING = Missing()


class CacheUsage(NamedTuple):
    """Size and hits of one cache, for monitoring."""

    entries: int
    hits: int
    """Number of lookups that found a value."""
    misses: int
    """Number of lookups after which the value had to be read."""

    @classmethod
    def of(cls, entries: int, asked: HitCounter) -> "CacheUsage":
        """Return the figures of a cache that counts in Python."""
        return cls(entries, asked.hits.read(), asked.misses.read())


class CodeMemory:
    """Code by its hash; the code of a hash never changes."""

    def __init__(self) -> None:
        self._codes: BoundedCache[Hash, bytes] = BoundedCache(
            most_weight=CODE_BYTES, weigh=lambda _, code: len(code)
        )
        self._asked_codes = HitCounter()

    def code(self, code_hash: Hash) -> bytes | None:
        """Return the remembered code, or None."""
        found = self._codes.peek(code_hash)
        if found is not None:
            self._asked_codes.hit()
        return found

    def remember_code(self, code_hash: Hash, code: bytes) -> None:
        """Keep code that was read, and forget the oldest code if there is too much."""
        self._asked_codes.miss()
        self._keep_code(code_hash, code)

    def _keep_code(self, code_hash: Hash, code: bytes) -> None:
        if code_hash not in self._codes:
            self._codes.put(code_hash, code)

    def _kept_codes(self) -> CacheUsage:
        asked = self._asked_codes
        return CacheUsage.of(len(self._codes), asked)


class StateMemory(CodeMemory, ABC):
    """Accounts and slots as of one height, and code."""

    native: "cchain_native.StateMemory | None" = None
    """The memory that the native engine reads directly."""

    @property
    @abstractmethod
    def number(self) -> int | None:
        """The height that the values belong to; None while they are being changed."""

    @abstractmethod
    def version_at(self, number: int) -> int | None:
        """Return the version for remembering values of this height; call it before reading them.

        None: the values cannot be remembered, because the memory is at another height.
        """

    @abstractmethod
    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return the remembered account at this height."""

    @abstractmethod
    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return the remembered value of a slot at this height."""

    @abstractmethod
    def kept(self) -> dict[str, CacheUsage]:
        """Return the size and the hits of each cache."""

    @abstractmethod
    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` returned the version, unless anything has changed since."""

    @abstractmethod
    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` returned the version, unless anything has changed since."""

    @abstractmethod
    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by applying its block's changes."""

    def change(self, number: int, changes: StateChanges) -> None:
        """Apply manual changes that were made at this height itself."""
        if self.number == number:
            self.advance(number, changes)

    @abstractmethod
    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget the values that changed in between."""

    @abstractmethod
    def reset(self, number: int) -> None:
        """Forget all values and move to a height."""


class PythonStateMemory(StateMemory):
    """The memory in Python, for the reference engine."""

    def __init__(self, *, accounts: int, slots: int) -> None:
        super().__init__()
        self._number: int | None = None
        self._version = 0
        """Number of changes of the values or the height."""
        self._lock = threading.Lock()
        self._accounts: BoundedCache[Address, AccountState | None] = BoundedCache(accounts)
        self._slots: BoundedCache[tuple[Address, Slot], Word] = BoundedCache(slots)
        # Only lookups at the remembered height are counted; at other heights the memory has no values.
        self._asked_accounts = HitCounter()
        self._asked_slots = HitCounter()

    @property
    @override
    def number(self) -> int | None:
        """The height that the values belong to; None while they are being changed."""
        return self._number

    @override
    def version_at(self, number: int) -> int | None:
        """Return the version for remembering values of this height; call it before reading them.

        None: the values cannot be remembered, because the memory is at another height.
        """
        version = self._version
        return version if self.number == number else None

    @override
    def account(self, address: Address, number: int) -> AccountState | Missing | None:
        """Return the remembered account at this height."""
        if self.number != number:
            return MISSING
        found = self._accounts.peek(address, MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_accounts.hit()
        return found

    @override
    def slot(self, address: Address, slot: Slot, number: int) -> Word | Missing:
        """Return the remembered value of a slot at this height."""
        if self.number != number:
            return MISSING
        found = self._slots.peek((address, slot), MISSING)
        if found is MISSING or self.number != number:
            return MISSING
        self._asked_slots.hit()
        return found

    @override
    def kept(self) -> dict[str, CacheUsage]:
        """Return the size and the hits of each cache."""
        return {
            "accounts": CacheUsage.of(len(self._accounts), self._asked_accounts),
            "slots": CacheUsage.of(len(self._slots), self._asked_slots),
            "codes": self._kept_codes(),
        }

    @override
    def remember_accounts(
        self, values: Iterable[tuple[Address, AccountState | None]], version: int | None
    ) -> None:
        """Keep accounts that were read after `version_at` returned the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                for address, value in values:
                    self._accounts.put(address, value)
                    self._asked_accounts.miss()

    @override
    def remember_slot(self, address: Address, slot: Slot, value: Word, version: int | None) -> None:
        """Keep a slot that was read after `version_at` returned the version, unless anything has changed since."""
        with self._lock:
            if self._version == version:
                self._slots.put((address, slot), value)
                self._asked_slots.miss()

    @override
    def advance(self, number: int, changes: StateChanges) -> None:
        """Move to the next height by applying its block's changes."""
        with self._lock:
            self._begin_change()
            if changes.cleared:
                self._forget_slots(changes.cleared)
            for address, account in changes.accounts.items():
                self._accounts.put(address, account.after)
            for key, slot in changes.storage.items():
                self._slots.put(key, slot.after)
            self._number = number
        for code_hash, code in changes.codes.items():
            self._keep_code(code_hash, code)

    @override
    def move(
        self, number: int, accounts: Iterable[Address], slots: Iterable[tuple[Address, Slot]]
    ) -> None:
        """Move to another height and forget the values that changed in between."""
        with self._lock:
            self._begin_change()
            for address in accounts:
                self._accounts.pop(address)
            for key in slots:
                self._slots.pop(key)
            self._number = number

    @override
    def reset(self, number: int) -> None:
        """Forget all values and move to a height."""
        with self._lock:
            self._begin_change()
            self._accounts.clear()
            self._slots.clear()
            self._number = number

    def _begin_change(self) -> None:
        self._number = None
        self._version += 1

    def _forget_slots(self, addresses: Set[Address]) -> None:
        for key in [key for key in self._slots if key[0] in addresses]:
            self._slots.pop(key)
