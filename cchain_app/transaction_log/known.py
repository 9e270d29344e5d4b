"""Names of well-known functions and errors by their selectors, from the lists in `signatures/`. Pure.

A selector has only four bytes, so other functions may share it: a name is only likely.
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

_MAX_SHOWN: Final = 4096
"""Bytes of an error's arguments that are decoded at most."""


class KnownSignatures:
    """Signatures by selector.

    Args:
        functions: Signatures of known functions.
        errors: Signatures of known errors.
    """

    def __init__(self, functions: Iterable[Declaration], errors: Iterable[Declaration]) -> None:
        self._functions = {function.selector: function.signature for function in functions}
        self._errors = {error.selector: error for error in errors}

    @classmethod
    def load(cls) -> Self:
        """Read the lists that come with the node."""
        return cls(listed("functions"), listed("errors"))

    def method(self, call_data: bytes) -> str | None:
        """Return the signature of the called function, or the selector of an unknown one; None without a selector."""
        selector = call_data[:SELECTOR_BYTES]
        if len(selector) < SELECTOR_BYTES:
            return None
        return self._functions.get(selector) or "0x" + selector.hex()

    def error(self, output: bytes) -> str | None:
        """Return an error with its arguments; None for an unknown error or a malformed encoding."""
        found = self._errors.get(output[:SELECTOR_BYTES])
        if found is None or len(output) > _MAX_SHOWN:
            return None
        try:
            values = decode(found.types, output[SELECTOR_BYTES:])
        except Undecodable:
            return None
        return f"{found.name}({', '.join(map(text_of, values))})"
