"""Search terms of the admin: an address, a hash or a number, and the identifiers of the P-Chain."""

from typing import NamedTuple, TypeVar

from chaindb.fields import HexBytes
from primitives.addresses import SEPARATOR, AddressError, parse_address
from primitives.cb58 import Cb58Error
from primitives.ids import ID, FixedId, IdError, NodeID, ShortID

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


Identifier = TypeVar("Identifier", bound=FixedId)


class IdentifierTerm(NamedTuple):
    """A parsed search text; a field is None if the text cannot mean it."""

    text: str = ""
    id: ID | None = None
    """The ID of a transaction, block, UTXO, subnet or blockchain; their texts have the same form."""
    node_id: NodeID | None = None
    address: ShortID | None = None
    number: int | None = None


def read_term(text: str) -> IdentifierTerm:
    """Parse a text: cb58, bech32 with any prefix and with or without a chain, 0x hex, or a number.

    Twenty bytes in hex may be an address or a node ID.
    """
    text = text.strip()
    term = IdentifierTerm(text)
    if text.startswith(NodeID.PREFIX):
        return term._replace(node_id=_read(NodeID, text))
    plain = parse_term(text)
    if plain.address is not None:
        return term._replace(node_id=NodeID(plain.address), address=ShortID(plain.address))
    if plain.hash is not None:
        return term._replace(id=ID(plain.hash))
    if plain.number is not None:
        return term._replace(number=plain.number)
    if (found := _read(ID, text)) is not None:
        return term._replace(id=found)
    return term._replace(address=_read(ShortID, text) or _read_bech32(text))


def _read(kind: type[Identifier], text: str) -> Identifier | None:
    try:
        return kind.parse(text)
    except (Cb58Error, IdError):
        return None


def _read_bech32(text: str) -> ShortID | None:
    with_chain = text if SEPARATOR in text else f"P{SEPARATOR}{text}"
    try:
        return parse_address(with_chain).short_id
    except AddressError:
        return None
