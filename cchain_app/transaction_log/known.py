"""Names of well-known functions and errors by their selectors, from the lists in `signatures/`. Pure.

A selector is four bytes, so another function may have it as well: a name is what is likely.
"""

from collections.abc import Iterable
from typing import Final, Self

from cchain_app.transaction_log.abi import (
    SELECTOR_BYTES,
    decode,
    text_of,
)
from cchain_app.transaction_log.declarations import Declaration, listed
from cchain_app.transaction_log.errors import Undecodable

_MOST_SHOWN: Final = 4096
"""Bytes of an error's arguments that are decoded."""


class KnownSignatures:
    """Signatures by selector.

    Args:
        functions: Those that are known by name.
        errors: Likewise.
    """

    def __init__(self, functions: Iterable[Declaration], errors: Iterable[Declaration]) -> None:
        self._functions = {one.selector: one.signature for one in functions}
        self._errors = {one.selector: one for one in errors}

    @classmethod
    def load(cls) -> Self:
        """Read the lists that come with the node."""
        return cls(listed("functions"), listed("errors"))

    def method(self, call_data: bytes) -> str | None:
        """Return the signature of a called function, its selector if nobody knows it; None without one."""
        selector = call_data[:SELECTOR_BYTES]
        if len(selector) < SELECTOR_BYTES:
            return None
        return self._functions.get(selector) or "0x" + selector.hex()

    def error(self, output: bytes) -> str | None:
        """Return an error with its arguments; None if nobody knows it, or it is not encoded so."""
        found = self._errors.get(output[:SELECTOR_BYTES])
        if found is None or len(output) > _MOST_SHOWN:
            return None
        try:
            values = decode(found.types, output[SELECTOR_BYTES:])
        except Undecodable:
            return None
        return f"{found.name}({', '.join(map(text_of, values))})"
