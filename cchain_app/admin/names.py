"""Names of contracts beside their addresses, read together for all rows of a page.

Anybody can deploy a contract with any name, so the address always stays.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from django.utils.safestring import SafeString

from cchain_app.admin import display
from cchain_app.apps import contract_names
from primitives.evm import Address

_NAMES: Final = "_contract_names"
"""Key of the names in a row's attributes."""
_SHORT: Final = 24
"""Limit of a name's characters in a list."""
_LONG: Final = 100
"""The same on the page of a row."""


def read_names(
    rows: Sequence[Any], addresses_of: Callable[[Any], Collection[bytes | None]]
) -> None:
    """Read the names of the contracts in some rows, for `short_named`."""
    wanted = {
        Address(bytes(address))
        for row in rows
        for address in addresses_of(row)
        if address is not None
    }
    found = contract_names(wanted)
    for row in rows:
        row.__dict__[_NAMES] = found


def short_named(row: Any, address: bytes | None) -> SafeString:
    """Return a shortened address that links to its account, with the contract's name if it has one."""
    return _named(row, address, display.short_account(address), _SHORT)


def full_named(row: Any, address: bytes | None) -> SafeString:
    """Return an address in full, likewise."""
    return _named(row, address, display.full_account(address), _LONG)


def _named(row: Any, address: bytes | None, shown: SafeString, longest: int) -> SafeString:
    name = "" if address is None else row.__dict__.get(_NAMES, {}).get(Address(bytes(address)), "")
    if not name:
        return shown
    short = name if len(name) <= longest else f"{name[:longest]}…"
    return display.side_by_side(shown, display.badge(short))
