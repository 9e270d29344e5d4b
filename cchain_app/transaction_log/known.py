"""Names of well-known functions and errors by their selectors, from the lists in `signatures/`. Pure.

A selector is four bytes, so another function may have it as well: a name is what is likely.
"""

from importlib.resources import files
from typing import Final, Self

from cchain_app.transaction_log.abi import (
    SELECTOR_BYTES,
    Undecodable,
    decode,
    selector_of,
    text_of,
    types_of,
)

_MOST_SHOWN: Final = 4096
"""Bytes of an error's arguments that are decoded."""


class KnownSignatures:
    """Signatures by selector.

    Args:
        functions: As they are hashed, for example `transfer(address,uint256)`.
        errors: Likewise.
    """

    def __init__(self, functions: list[str], errors: list[str]) -> None:
        self._functions = {selector_of(one): one for one in functions}
        self._errors = {selector_of(one): one for one in errors}

    @classmethod
    def load(cls) -> Self:
        """Read the lists that come with the node."""
        return cls(_listed("functions"), _listed("errors"))

    def method(self, call_data: bytes) -> str | None:
        """Return the signature of a called function, its selector if nobody knows it; None without one."""
        selector = call_data[:SELECTOR_BYTES]
        if len(selector) < SELECTOR_BYTES:
            return None
        return self._functions.get(selector) or "0x" + selector.hex()

    def error(self, output: bytes) -> str | None:
        """Return an error with its arguments; None if nobody knows it, or it is not encoded so."""
        signature = self._errors.get(output[:SELECTOR_BYTES])
        if signature is None or len(output) > _MOST_SHOWN:
            return None
        try:
            values = decode(types_of(signature), output[SELECTOR_BYTES:])
        except Undecodable:
            return None
        return f"{signature.partition('(')[0]}({', '.join(map(text_of, values))})"


def _listed(name: str) -> list[str]:
    text = (files(__package__) / "signatures" / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]
