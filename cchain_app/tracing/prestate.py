"""go-ethereum's prestateTracer: the accessed state before a transaction, or its changes (tracing.md 6)."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from cchain_app.evm.engine import AccountChange, AccountState, SlotChange
from cchain_app.evm.tracing import TouchedState, TransactionTrace
from cchain_app.tracing.options import PrestateConfig
from cchain_app.tracing.output import TraceWriter, data
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

Json = dict[str, Any]

_NOBODY = AccountState(0, 0, EMPTY_HASH)
"""Represents an account that does not exist."""


def write_prestate(output: TraceWriter, trace: TransactionTrace, config: PrestateConfig) -> None:
    """Write the accessed accounts by address, or `post` and `pre` of the changed ones.

    Raises:
        TraceTooLarge: The answer is too long.
    """
    state = trace.state or TouchedState()
    if config.diff_mode:
        _write_difference(output, state, config)
    else:
        _write_before(output, state, config)


def _write_before(output: TraceWriter, state: TouchedState, config: PrestateConfig) -> None:
    accounts = _AccountWriter(output)
    for address in sorted(state.accounts):
        before = state.accounts[address] or _NOBODY
        if before != _NOBODY or config.include_empty:
            slots = state.slots.get(address, {})
            accounts.write(address, _before(before, state.codes.get(address, b""), slots, config))
    accounts.end()


def _write_difference(output: TraceWriter, state: TouchedState, config: PrestateConfig) -> None:
    changed = _ChangedAccounts(state, with_slots=not config.disable_storage)
    output.write(b'{"post":')
    accounts = _AccountWriter(output)
    for address in changed.addresses:
        before, after = changed.account(address)
        if after is not None:
            slots = changed.slots[address]
            accounts.write(address, changed.after(before or _NOBODY, after, slots, config))
    accounts.end()
    output.write(b',"pre":')
    accounts = _AccountWriter(output)
    for address in changed.addresses:
        found = changed.account(address).before or _NOBODY
        if found != _NOBODY:
            words = {
                slot: change.before
                for slot, change in changed.slots[address].items()
                if change.before != ZERO_WORD
            }
            code = state.codes.get(address, b"")
            accounts.write(address, _before(found, code, words, config))
    accounts.end()
    output.write(b"}")


class _AccountWriter:
    """Writes an object of accounts, one after the other."""

    def __init__(self, output: TraceWriter) -> None:
        self._output = output
        self._separator = b"{"

    def write(self, address: Address, account: Json) -> None:
        self._output.write(b'%b"0x%b":' % (self._separator, address.hex().encode()))
        self._output.write_value(account)
        self._separator = b","

    def end(self) -> None:
        self._output.write(b"{}" if self._separator == b"{" else b"}")


class _ChangedAccounts:
    """The accounts that a transaction changed, including those with only changed slots if slots are requested."""

    def __init__(self, state: TouchedState, *, with_slots: bool) -> None:
        self._state = state
        self.slots: defaultdict[Address, dict[Slot, SlotChange]] = defaultdict(dict)
        if with_slots:
            self._gather_slots()
        self.addresses = sorted(state.changes.accounts.keys() | self.slots.keys())
        self._codes = {EMPTY_HASH: b""}
        for address, code in state.codes.items():
            account = state.accounts.get(address)
            if account is not None:
                self._codes[account.code_hash] = code
        self._codes |= state.changes.codes

    def _gather_slots(self) -> None:
        for (address, slot), change in self._state.changes.storage.items():
            self.slots[address][slot] = change
        for address in self._state.changes.cleared:
            self.slots[address] |= self._cleared(address)

    def _cleared(self, address: Address) -> dict[Slot, SlotChange]:
        """Return the accessed slots of an account whose storage was deleted, unless they were written again."""
        return {
            slot: SlotChange(before, ZERO_WORD)
            for slot, before in self._state.slots.get(address, {}).items()
            if before != ZERO_WORD and slot not in self.slots[address]
        }

    def account(self, address: Address) -> AccountChange:
        """Return an account before and after; both are equal if only slots changed."""
        change = self._state.changes.accounts.get(address)
        if change is None:
            account = self._state.accounts.get(address)
            return AccountChange(account, account)
        return change

    def after(
        self,
        before: AccountState,
        after: AccountState,
        slots: Mapping[Slot, SlotChange],
        config: PrestateConfig,
    ) -> Json:
        """Return the members of an account that differ from those before."""
        members: Json = {}
        if after.balance != before.balance:
            members["balance"] = hex(after.balance)
        if after.code_hash != before.code_hash:
            if not config.disable_code:
                members["code"] = data(self._codes[after.code_hash])
            members["codeHash"] = data(after.code_hash)
        if after.nonce != before.nonce:
            members["nonce"] = after.nonce
        written = {
            slot: change.after for slot, change in slots.items() if change.after != ZERO_WORD
        }
        return members | _storage(written, config)


def _before(
    account: AccountState, code: bytes, slots: Mapping[Slot, Word], config: PrestateConfig
) -> Json:
    members: Json = {"balance": hex(account.balance)}
    if account.code_hash != EMPTY_HASH:
        if not config.disable_code:
            members["code"] = data(code)
        members["codeHash"] = data(Hash(account.code_hash))
    if account.nonce:
        members["nonce"] = account.nonce
    return members | _storage(slots, config)


def _storage(slots: Mapping[Slot, Word], config: PrestateConfig) -> Json:
    if config.disable_storage or not slots:
        return {}
    return {"storage": {data(slot): data(slots[slot]) for slot in sorted(slots)}}
