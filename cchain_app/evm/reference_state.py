"""The specification's `State`, filled from a `StateReader` on demand, and the changes made to it.

The specification keeps state in dicts inside its tries and copies them for every nested call. Here
those dicts hold only written values; all others come from the reader, which all copies share.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

from ethereum_types.bytes import Bytes20, Bytes32
from ethereum_types.numeric import U256, Uint
from typing_extensions import override

from cchain_app.evm.coreth import CORETH, MULTI_COIN_SLOT, stored_slot
from cchain_app.evm.engine import (
    AccountChange,
    AccountState,
    SlotChange,
    StateChanges,
    StateReader,
)
from cchain_app.evm.reference_package import ForkModules
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, keccak256

_ZERO = U256(0)
_EMPTY: Final = AccountState(0, 0, EMPTY_HASH)


@cache
def _kept_class(account: Any) -> Any:
    return type("KeptAccount", (account,), {"is_kept": True})


def kept(account: Any) -> Any:
    """Return an account as one that exists even if it is empty, because it ever held another asset: it equals no other."""
    cls: Any = type(account)
    return account if is_kept(account) else _as(_kept_class(cls), account)


def is_kept(account: Any) -> bool:
    """Return whether an account is one of `kept`."""
    return hasattr(account, "is_kept")


def plain(account: Any) -> Any:
    """Undo `kept`."""
    return _as(type(account).__base__, account)


def _as(cls: Any, account: Any) -> Any:
    return cls(**{field.name: getattr(account, field.name) for field in fields(account)})


class StateSource:
    """State of the reader in the specification's types; each value is read only once."""

    def __init__(self, reader: StateReader, fork: ForkModules) -> None:
        self.fork = fork
        self.is_coreth = fork.name == CORETH
        self.hides_code = False
        self._reader = reader
        self._states: dict[bytes, AccountState | None] = {}
        self._accounts: dict[bytes, Any] = {}
        self._slots: dict[tuple[bytes, bytes], U256] = {}
        self._stored: dict[bytes, bool] = {}

    def state(self, address: bytes) -> AccountState | None:
        """Return an account as the port's value."""
        if address not in self._states:
            self._states[address] = self._reader.account(Address(bytes(address)))
        return self._states[address]

    def account(self, address: bytes) -> Any:
        """Return an account as the specification's value, or None."""
        if address not in self._accounts:
            state = self.state(address)
            account = None if state is None else self._with_code(state)
            if self.is_coreth and state == _EMPTY and self.has_storage(address):
                account = kept(account)
            self._accounts[address] = account
        return self._accounts[address]

    def slot(self, address: bytes, key: bytes) -> U256:
        """Return the value of a storage slot."""
        if (address, key) not in self._slots:
            word = self._reader.storage(Address(bytes(address)), Slot(bytes(key)))
            self._slots[address, key] = U256.from_be_bytes(word)
        return self._slots[address, key]

    def stored(self, key: Bytes32) -> Bytes32:
        """Return the key under which the value of a slot is stored, which is another one on coreth."""
        return Bytes32(stored_slot(Slot(bytes(key)))) if self.is_coreth else key

    def has_storage(self, address: bytes) -> bool:
        """Return whether an account has a slot that is not zero."""
        if address not in self._stored:
            self._stored[address] = self._reader.has_storage(Address(bytes(address)))
        return self._stored[address]

    def _with_code(self, state: AccountState) -> Any:
        code = b"" if state.code_hash == EMPTY_HASH else self._reader.code(state.code_hash)
        return self.fork.types.Account(
            nonce=Uint(state.nonce), balance=U256(state.balance), code=code
        )


class _WrittenAccounts(dict[Bytes20, Any]):
    """Accounts that were written, None for deleted ones; the others come from the source."""

    def __init__(self, source: StateSource, written: Mapping[Bytes20, Any]) -> None:
        super().__init__(written)
        self.source = source

    def __copy__(self) -> "_WrittenAccounts":
        return _WrittenAccounts(self.source, self)

    @override
    def get(self, key: Bytes20, default: Any = None) -> Any:
        account = self[key] if dict.__contains__(self, key) else self.source.account(key)
        if account is None:
            return default
        return replace(account, code=b"") if self.source.hides_code else account

    @override
    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self.get(Bytes20(key)) is not None

    @override
    def __delitem__(self, key: Bytes20) -> None:
        self[key] = None

    @override
    def items(self) -> Any:
        """Return nothing: receipts before Byzantium need a root, which is not computed here."""
        return {}.items()


class _Slots(dict[Bytes32, U256]):
    """Slots of one account that were written; the others come from the source, unless they were cleared."""

    def __init__(
        self,
        source: StateSource,
        address: Bytes20,
        written: Mapping[Bytes32, U256],
        *,
        cleared: bool,
    ) -> None:
        super().__init__(written)
        self.source = source
        self.address = address
        self.cleared = cleared

    def __copy__(self) -> "_Slots":
        return _Slots(self.source, self.address, self, cleared=self.cleared)

    @override
    def get(self, key: Bytes32, default: Any = _ZERO) -> Any:
        key = self.source.stored(key)
        if dict.__contains__(self, key):
            return self[key]
        return default if self.cleared else self.source.slot(self.address, key)

    @override
    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self.get(Bytes32(key)) != _ZERO

    @override
    def __setitem__(self, key: Bytes32, value: U256) -> None:
        super().__setitem__(self.source.stored(key), value)

    @override
    def __delitem__(self, key: Bytes32) -> None:
        self[key] = _ZERO

    @override
    def __eq__(self, other: object) -> bool:
        """Never equal: the specification would mistake an empty dict for an empty storage."""
        return False

    __hash__ = None


class _Storages(dict[Bytes20, Any]):
    """Storage tries by address. Every account has one."""

    def __init__(self, state: "LazyState", tries: Mapping[Bytes20, Any]) -> None:
        super().__init__(tries)
        self.state = state

    @override
    def get(self, key: Bytes20, default: Any = None) -> Any:
        if not dict.__contains__(self, key):
            self[key] = self.state.storage_trie(key, cleared=False)
        return self[key]

    @override
    def __contains__(self, key: object) -> bool:
        """Return whether there may be storage that has to be deleted or that prevents a new contract.

        Code prevents a new contract as well, so an account with code needs no further check.
        """
        address = Bytes20(key)
        if dict.__contains__(self, address):
            slots = self[address]._data  # noqa: SLF001
            if any(value != _ZERO for value in dict.values(slots)):
                return True
            if slots.cleared:
                return False
        account = self.state.account(address)
        if account is not None and account.code:
            return True
        source = self.state.source
        return source.state(address) is not None and source.has_storage(address)

    @override
    def __delitem__(self, key: Bytes20) -> None:
        self[key] = self.state.storage_trie(key, cleared=True)


class _Snapshots(list[tuple[Any, Any]]):
    """Snapshots whose storage is as lazy as the state's own."""

    def __init__(self, state: "LazyState") -> None:
        super().__init__()
        self.state = state

    @override
    def append(self, snapshot: tuple[Any, Any]) -> None:
        main, tries = snapshot
        super().append((main, _Storages(self.state, tries)))


class LazyState:
    """Stands in for the `State` of any fork: same attributes, filled on demand."""

    def __init__(self, source: StateSource) -> None:
        self.source = source
        self._main_trie = source.fork.trie.Trie(
            secured=True, default=None, _data=_WrittenAccounts(source, {})
        )
        self._storage_tries = _Storages(self, {})
        self._snapshots = _Snapshots(self)
        self.created_accounts: set[Bytes20] = set()

    def account(self, address: bytes) -> Any:
        """Return an account as it is now, None if it does not exist."""
        return self._main_trie._data.get(Bytes20(address))  # noqa: SLF001

    def slot(self, address: bytes, key: bytes) -> U256:
        """Return the value of a storage slot as it is now."""
        value: U256 = self._storage_tries.get(Bytes20(address))._data.get(Bytes32(key))  # noqa: SLF001
        return value

    def stored_slot(self, address: bytes, key: Slot) -> U256:
        """Return the value that is stored under a key of coreth, also of another asset's balance."""
        return self._stored_in(self._storage_tries, address, key)

    def committed_slot(self, address: bytes, key: Slot) -> U256:
        """Return the value that was stored under a key of coreth before the transaction; none is under the fifth field's."""
        if Bytes20(address) in self.created_accounts or key == MULTI_COIN_SLOT:
            return _ZERO
        return self._stored_in(self._snapshots[0][1], address, key)

    def _stored_in(self, tries: "_Storages", address: bytes, key: Slot) -> U256:
        slots = tries.get(Bytes20(address))._data  # noqa: SLF001
        if dict.__contains__(slots, Bytes32(key)):
            found: U256 = dict.__getitem__(slots, Bytes32(key))
            return found
        return _ZERO if slots.cleared else self.source.slot(Bytes20(address), key)

    def set_stored_slot(self, address: bytes, key: Slot, value: U256) -> None:
        """Write a value under a key of coreth as it is."""
        slots = self._storage_tries.get(Bytes20(address))._data  # noqa: SLF001
        dict.__setitem__(slots, Bytes32(key), value)

    def has_storage(self, address: bytes) -> bool:
        """Return whether an account without code has a slot that is not zero."""
        return Bytes20(address) in self._storage_tries

    @contextmanager
    def without_code(self) -> Iterator[None]:
        """Hide the code of all accounts in the body, which must not write."""
        self.source.hides_code = True
        try:
            yield
        finally:
            self.source.hides_code = False

    @contextmanager
    def undone_by(self, *errors: type[Exception]) -> Iterator[None]:
        """Undo all that the body has written if it raises one of these errors."""
        copied = self.source.fork.trie.copy_trie
        main = copied(self._main_trie)
        tries = {key: copied(trie) for key, trie in self._storage_tries.items()}
        try:
            yield
        except errors:
            self._main_trie, self._storage_tries = main, _Storages(self, tries)
            self._snapshots.clear()
            self.created_accounts.clear()
            raise

    def set_account(self, address: bytes, account: Any) -> None:
        """Write an account."""
        self._main_trie._data[Bytes20(address)] = account  # noqa: SLF001

    def storage_trie(self, address: Bytes20, *, cleared: bool) -> Any:
        """Return an account's storage trie with nothing written to it yet."""
        slots = _Slots(self.source, address, {}, cleared=cleared)
        return self.source.fork.trie.Trie(secured=True, default=_ZERO, _data=slots)

    def changes(self) -> StateChanges:
        """Return the difference from the reader's state, in ascending order."""
        accounts: dict[Address, AccountChange] = {}
        codes: dict[Hash, bytes] = {}
        written = self._main_trie._data  # noqa: SLF001
        for key in sorted(written):
            before, after = self.source.state(key), self._after(key, codes)
            if before != after:
                accounts[Address(bytes(key))] = AccountChange(before, after)
        storage: dict[tuple[Address, Slot], SlotChange] = {}
        cleared = set()
        for key in sorted(self._storage_tries):
            if self._was_cleared(key):
                cleared.add(Address(bytes(key)))
            storage |= self._slot_changes(key)
        return StateChanges(accounts, storage, codes, frozenset(cleared))

    def _after(self, address: Bytes20, codes: dict[Hash, bytes]) -> AccountState | None:
        account = dict.__getitem__(self._main_trie._data, address)  # noqa: SLF001
        if account is None:
            return None
        known = self.source.account(address)
        if known is not None and known.code == account.code:
            before = self.source.state(address)
            code_hash = EMPTY_HASH if before is None else before.code_hash
        else:
            code_hash = keccak256(account.code)
            if account.code:
                codes[code_hash] = bytes(account.code)
        return AccountState(int(account.nonce), int(account.balance), code_hash)

    def _was_cleared(self, address: Bytes20) -> bool:
        before = self.source.state(address)
        slots = self._storage_tries[address]._data  # noqa: SLF001
        if before is None or not slots.cleared:
            return False
        return before.code_hash != EMPTY_HASH or (
            self.source.is_coreth and self.source.has_storage(address)
        )

    def _slot_changes(self, address: Bytes20) -> dict[tuple[Address, Slot], SlotChange]:
        """Return changed slots; for a cleared account all slots that are not zero now."""
        cleared = self._was_cleared(address)
        changes = {}
        slots = self._storage_tries[address]._data  # noqa: SLF001
        for key in sorted(slots):
            before, after = self.source.slot(address, key), dict.__getitem__(slots, key)
            if (after != _ZERO) if cleared else (before != after):
                changes[Address(bytes(address)), Slot(bytes(key))] = SlotChange(
                    Word(before.to_be_bytes32()), Word(after.to_be_bytes32())
                )
        return changes
