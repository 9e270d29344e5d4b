"""The state changes of a transaction in Parity's format: `stateDiff` of a results object (tracing.md 12)."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from cchain_app.evm.engine import AccountState, SlotChange
from cchain_app.evm.tracing import TouchedState
from cchain_app.tracing.output import data
from primitives.evm import Address, Hash, Slot
from primitives.hashing import EMPTY_HASH

Json = dict[str, Any]

SAME: Final = "="


def state_diff(state: TouchedState, code_of: Callable[[Hash], bytes]) -> Json:
    """Return the changed accounts by address, fees included.

    Args:
        state: The state that the transaction accessed and changed.
        code_of: Returns code by its hash, if the transaction neither accessed nor created it.
    """
    changes = state.changes
    codes = _Codes(state, code_of)
    slots: dict[Address, list[tuple[Slot, SlotChange]]] = {}
    for (address, slot), of_slot in changes.storage.items():
        slots.setdefault(address, []).append((slot, of_slot))
    found = {}
    for address in sorted(changes.accounts.keys() | slots.keys()):
        before, after = changes.accounts.get(address, (_UNCHANGED, _UNCHANGED))
        found[data(address)] = {
            "balance": _member(before, after, lambda one: hex(one.balance)),
            "code": _member(before, after, lambda one: codes.of(one.code_hash)),
            "nonce": _member(before, after, lambda one: hex(one.nonce)),
            "storage": _storage(before, after, slots.get(address, ())),
        }
    return found


_UNCHANGED: Final = AccountState(0, 0, EMPTY_HASH)
"""Used as both values of an account of which only slots have changed."""


class _Codes:
    """Code as text by its hash: accessed code, created code, else code from `code_of`."""

    def __init__(self, state: TouchedState, code_of: Callable[[Hash], bytes]) -> None:
        self._known = {EMPTY_HASH: b"", **state.changes.codes}
        for address, code in state.codes.items():
            account = state.accounts.get(address)
            if account is not None:
                self._known[account.code_hash] = code
        self._code_of = code_of

    def of(self, code_hash: Hash) -> str:
        code = self._known.get(code_hash)
        return data(self._code_of(code_hash) if code is None else code)


def _member(
    before: AccountState | None, after: AccountState | None, show: Callable[[AccountState], str]
) -> Any:
    return _difference(
        None if before is None else show(before), None if after is None else show(after)
    )


def _storage(
    before: AccountState | None,
    after: AccountState | None,
    changes: Iterable[tuple[Slot, SlotChange]],
) -> Json:
    """Return the changed slots; they are added if the account was created, and removed if it was deleted."""
    return {
        data(slot): _difference(
            None if before is None else data(change.before),
            None if after is None else data(change.after),
        )
        for slot, change in sorted(changes)
    }


def _difference(before: str | None, after: str | None) -> Any:
    if before == after:
        return SAME
    if before is None:
        return {"+": after}
    if after is None:
        return {"-": before}
    return {"*": {"from": before, "to": after}}
