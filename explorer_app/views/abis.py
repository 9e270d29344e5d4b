"""ABIs for decoding on a page: those of the contracts on it, limited in number, and each queried once."""

from typing import Final

from explorer_app.names.book import NO_ABI, Abi
from explorer_app.selectors import verified
from explorer_app.site import Explorer
from primitives.evm import Address

MOST: Final = 8
"""Limit of contracts per page whose ABI is queried; for a proxy the query calls the contract."""


class Abis:
    """The ABIs of contracts, for one page.

    Args:
        site: The explorer.
    """

    def __init__(self, site: Explorer) -> None:
        self._chain = site.evm
        self._found: dict[bytes, Abi] = {}

    def of(self, address: bytes | None) -> Abi:
        """Return the ABI of a contract; empty if it is unknown, and for contracts beyond the first `MOST`."""
        if address is None:
            return NO_ABI
        key = bytes(address)
        if key not in self._found:
            if len(self._found) >= MOST:
                return NO_ABI
            self._found[key] = verified.abi_of(self._chain, Address(key))
        return self._found[key]
