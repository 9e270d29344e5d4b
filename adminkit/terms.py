"""Search terms of the admin: an address, a hash or a number."""

from typing import NamedTuple

from chaindb.fields import HexBytes

_DIGITS = frozenset("0123456789abcdef")
_NUMBER_BITS = 63


class SearchTerm(NamedTuple):
    """A parsed search text; all three fields are None for any other text."""

    address: HexBytes | None = None
    hash: HexBytes | None = None
    number: int | None = None


def parse_term(text: str) -> SearchTerm:
    """Parse a text by its length: 40 hex digits, 64 hex digits, or a number below 2^63.

    Letter case does not matter, and addresses and hashes may begin with 0x. A number with 0x is
    hexadecimal. `#7` is accepted too, because that is how blocks are displayed.
    """
    digits = text.strip().removeprefix("#").lower()
    prefixed = digits.startswith("0x")
    digits = digits.removeprefix("0x")
    if not digits or not _DIGITS.issuperset(digits):
        return SearchTerm()
    if len(digits) == 40:
        return SearchTerm(address=HexBytes.fromhex(digits))
    if len(digits) == 64:
        return SearchTerm(hash=HexBytes.fromhex(digits))
    if len(digits) > 40 or not (prefixed or digits.isdecimal()):
        return SearchTerm()
    number = int(digits, 16 if prefixed else 10)
    return SearchTerm() if number >> _NUMBER_BITS else SearchTerm(number=number)
