"""The changes of accounts by a transaction, with the names of variables in the changed slots."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from cchain_app.evm.engine import AccountState
from cchain_app.evm.tracing import Frame, TouchedState
from explorer_app.names.amounts import TokenUnit
from explorer_app.selectors import interfaces
from explorer_app.selectors.tokens import tokens_at
from explorer_app.site import Explorer
from explorer_app.storage.naming import ChangedVariable, SlotDifference, named
from explorer_app.verification.proxies import ADMIN_SLOT, SLOTS, address_of
from explorer_app.views.answers import unit_of
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import checksum_address

MAX_LAYOUTS: Final = 8
"""Limit of contracts per page whose storage layout is read."""
MAX_WORDS: Final = 4096
"""Limit of words of a transaction that are collected as keys."""
_WORD: Final = 32
_SELECTOR: Final = 4

_OF_PROXIES: Final = {
    **{rule.slot: f"{rule.kind} slot of the implementation" for rule in SLOTS},
    ADMIN_SLOT: "EIP1967 slot of the admin",
}
"""Names of slots that proxies use beside their variables."""

_AMOUNTS: Final = frozenset(
    {"allowance", "allowances", "allowed", "balance", "balanceof", "balances", "totalsupply"}
)
"""Names of an ERC-20's variables that are amounts, in lower case without underscores."""


class AccountDifference(NamedTuple):
    """The changes of an account by a transaction."""

    address: Address
    balance: tuple[int, int] | None
    nonce: tuple[int, int] | None
    slots: Sequence[SlotDifference]
    code: bool
    """Whether its code changed."""


def changed_accounts(touched: TouchedState) -> list[AccountDifference]:
    """Return the changed accounts in the order of their addresses; the slots have no names."""
    changed = touched.changes
    slots: dict[Address, list[SlotDifference]] = {}
    for (address, slot), change in changed.storage.items():
        slots.setdefault(address, []).append(SlotDifference(slot, change.before, change.after))
    differences = []
    for address in sorted({*changed.accounts, *slots}):
        account = changed.accounts.get(address)
        was, now = (account.before, account.after) if account else (None, None)
        differences.append(
            AccountDifference(
                address,
                _pair(was.balance if was else 0, now.balance if now else 0) if account else None,
                _pair(was.nonce if was else 0, now.nonce if now else 0) if account else None,
                sorted(slots.get(address, ())),
                _code_hash(was) != _code_hash(now),
            )
        )
    return differences


def with_names(
    site: Explorer, differences: Sequence[AccountDifference], frames: Sequence[Frame]
) -> list[AccountDifference]:
    """Return the changes with the variables in the slots of the first `MAX_LAYOUTS` contracts that changed.

    Unspecified: the layouts are those at the head. They come from verified sources, for a proxy from its
    implementation's.

    Args:
        site: The explorer.
        differences: The changed accounts.
        frames: The transaction's frames, whose addresses and arguments are tried as keys of mappings.
    """
    contracts = [difference.address for difference in differences if difference.slots]
    read = set(contracts[:MAX_LAYOUTS])
    tokens = tokens_at(site.evm, contracts) if contracts else {}
    words = list(islice(_words(differences, frames), MAX_WORDS)) if contracts else []
    shown = []
    for difference in differences:
        slots: Sequence[SlotDifference] = difference.slots
        layout = (
            interfaces.storage_layout(site.evm, difference.address)
            if difference.address in read
            else None
        )
        if layout is not None:
            slots = named(layout.layout, slots, words)
        token = tokens.get(difference.address)
        unit = None if token is None else unit_of(token)
        shown.append(difference._replace(slots=[_described(slot, unit) for slot in slots]))
    return shown


def _words(differences: Sequence[AccountDifference], frames: Sequence[Frame]) -> Iterator[Word]:
    """Yield words that may be keys: addresses first, then topics and data of logs, then arguments of calls."""
    for difference in differences:
        yield _padded(difference.address)
    for frame in frames:
        yield _padded(frame.sender)
        if frame.to is not None:
            yield _padded(frame.to)
    for frame in frames:
        for recorded in frame.logs:
            yield from (Word(bytes(topic)) for topic in recorded.log.topics)
            yield from _split(bytes(recorded.log.data))
    for frame in frames:
        yield from _split(bytes(frame.input)[_SELECTOR:])


def _split(data: bytes) -> Iterable[Word]:
    whole = len(data) - len(data) % _WORD
    return (Word(data[start : start + _WORD]) for start in range(0, whole, _WORD))


def _padded(address: Address) -> Word:
    return Word(bytes(address).rjust(_WORD, b"\0"))


def _described(change: SlotDifference, unit: TokenUnit | None) -> SlotDifference:
    """Return a change with the name of a proxy's slot, and with amounts in the unit of a token."""
    purpose = _OF_PROXIES.get(Slot(bytes(change.slot)))
    if purpose is not None and not change.variables:
        before, after = (_address_text(word) for word in (change.before, change.after))
        return change._replace(
            variables=(ChangedVariable(purpose, "address", before, after, is_address=True),)
        )
    if unit is None:
        return change
    return change._replace(
        variables=tuple(_with_unit(variable, unit) for variable in change.variables)
    )


def _with_unit(variable: ChangedVariable, unit: TokenUnit) -> ChangedVariable:
    name = variable.name.partition("[")[0].strip("_").lower()
    if variable.type != "uint256" or name not in _AMOUNTS:
        return variable
    before, after = unit.amount(int(variable.before)), unit.amount(int(variable.after))
    return variable._replace(before=before, after=after)


def _address_text(word: Word) -> str:
    return str(checksum_address(address_of(word) or Address(bytes(20))))


def _code_hash(account: AccountState | None) -> Hash:
    return EMPTY_HASH if account is None else account.code_hash


def _pair(before: int, after: int) -> tuple[int, int] | None:
    return None if before == after else (before, after)
