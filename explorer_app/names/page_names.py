"""Addresses on a page, whose names are read together after the page is rendered. Pure."""

import re
from collections.abc import Callable
from enum import StrEnum
from secrets import token_hex
from typing import Final

from primitives.evm import Address

_KEY_BYTES: Final = 12


class NameForm(StrEnum):
    """How a page shows an address."""

    SHORT = "short"
    """A link, with the shortened address if it has no name."""
    FULL = "full"
    """A link with the whole address."""
    PLAIN = "plain"
    """Text, for the title of a page."""
    HEADING = "heading"
    """Only the name and its marks; nothing if there is no name."""
    MARK = "mark"
    """Only the mark of a verified contract; nothing if it is not verified."""
    TOKEN = "token"  # noqa: S105  # the tokens are ERC-20's
    """A line of facts with a link to the token's page; nothing if it is no token."""


class PageNames:
    """Collects the addresses of a page while it is rendered.

    A template writes a placeholder for each address, and `fill` replaces all of them. Therefore the names of a page take
    a few statements, wherever its addresses come from. The placeholders contain a random key, so that no text of a
    contract can be one.
    """

    def __init__(self) -> None:
        self._key = token_hex(_KEY_BYTES)
        self._placeholder = re.compile(rf"\[{self._key}([0-9a-f]{{40}})([a-z]+)\]")
        self._addresses: dict[Address, None] = {}

    @property
    def addresses(self) -> list[Address]:
        """The addresses in the order of the page, without duplicates."""
        return list(self._addresses)

    def place(self, address: Address, form: NameForm) -> str:
        """Return the placeholder for an address."""
        self._addresses[address] = None
        return f"[{self._key}{address.hex()}{form}]"

    def fill(self, html: str, shown: Callable[[Address, NameForm], str]) -> str:
        """Return the page with what `shown` returns, as HTML, instead of the placeholders.

        `shown` is called once for each address and form.
        """
        texts: dict[str, str] = {}

        def replaced(match: re.Match[str]) -> str:
            place = match[0]
            if place not in texts:
                texts[place] = shown(Address(bytes.fromhex(match[1])), NameForm(match[2]))
            return texts[place]

        return self._placeholder.sub(replaced, html)
