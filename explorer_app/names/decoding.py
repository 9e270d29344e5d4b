"""Arguments of calls, events and errors, decoded by a declaration. Pure.

Who encoded the bytes may mean harm: what is decoded is bounded (`bounded_abi`), and texts are read whatever bytes
they have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.transaction_log.abi import SELECTOR_BYTES
from cchain_app.transaction_log.declarations import Declaration, Parameter
from cchain_app.transaction_log.errors import Undecodable
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

MOST_BYTES: Final = 128 * 1024
"""Of arguments that are decoded for a page."""

_DYNAMIC: Final = ("string", "bytes")

Value = str | tuple["Argument", ...]
"""A decoded value as text; of arrays and tuples what is in them. Addresses are as EIP-55 writes them."""


@dataclass(frozen=True)
class Argument:
    """One argument, or a part of one."""

    name: str
    """Empty where nobody gave it one; of an array's elements their place."""
    type: str
    value: Value
    is_hash: bool = False
    """Of an indexed text, bytes, array or tuple there is the hash alone."""

    @property
    def is_address(self) -> bool:
        """Whether it is one address, which a page can link to."""
        return self.type == "address"

    @property
    def is_empty(self) -> bool:
        """Whether it is an array without elements."""
        return self.value == ()

    @property
    def parts(self) -> tuple["Argument", ...]:
        """What is inside of an array or tuple."""
        return self.value if isinstance(self.value, tuple) else ()


@dataclass(frozen=True)
class Decoded:
    """A call, event or error with its name."""

    declaration: Declaration
    arguments: tuple[Argument, ...]
    is_guess: bool
    """The name is one that is common for these four bytes, or this topic, and not known from the contract's ABI."""

    @property
    def name(self) -> str:
        """Its name without parameters."""
        return self.declaration.name

    @property
    def signature(self) -> str:
        """Its name with the types of its parameters."""
        return self.declaration.signature


def arguments_of(parameters: Sequence[Parameter], data: bytes) -> tuple[Argument, ...]:
    """Read arguments.

    Args:
        parameters: What is to be there.
        data: The encoding, without a selector.

    Raises:
        Undecodable: It is not of such arguments, longer than `MOST_BYTES`, or some of it is shared too often.
    """
    # Only here: it takes a fifth of a second to import, and many processes show no page.
    from cchain_app.transaction_log import bounded_abi

    found = bounded_abi.decode([one.type for one in parameters], data, most=MOST_BYTES)
    return tuple(_argument(one, value) for one, value in zip(parameters, found, strict=True))


def count(arguments: Sequence[Argument]) -> int:
    """Return how many lines a page has for arguments: one for each, and for each part."""
    return sum(1 + count(one.parts) for one in arguments)


def first(arguments: Sequence[Argument], most: int) -> tuple[Argument, ...]:
    """Return the arguments that have together no more than so many lines (`count`), the last one perhaps in part."""
    return _first(arguments, most)[0]


def _first(arguments: Sequence[Argument], left: int) -> tuple[tuple[Argument, ...], int]:
    found: list[Argument] = []
    for one in arguments:
        if left <= 0:
            break
        parts, left = _first(one.parts, left - 1)
        if one.parts and not parts:  # without any it would look like an empty array
            break
        found.append(replace(one, value=parts) if parts else one)
    return tuple(found), left


def is_canonical(parameters: Sequence[Parameter], data: bytes) -> bool:
    """Return whether a compiler would have encoded the arguments just so: a guess is trusted only then.

    Raises:
        Undecodable: As `arguments_of`.
    """
    from cchain_app.transaction_log import bounded_abi

    return bounded_abi.is_canonical([one.type for one in parameters], data, most=MOST_BYTES)


def decode_call(declaration: Declaration, data: bytes, *, guess: bool) -> Decoded | None:
    """Return a call (or an error) whose data begins with the declaration's selector; None if it is none of it.

    Args:
        declaration: The function or error.
        data: Selector and arguments.
        guess: Whether the declaration is not the contract's own: arguments must be canonical then, but may have a word too much.
    """
    arguments = data[SELECTOR_BYTES:]
    if data[:SELECTOR_BYTES] != declaration.selector:
        return None
    try:
        if guess and not is_canonical(declaration.parameters, arguments):
            return None
        return Decoded(declaration, arguments_of(declaration.parameters, arguments), guess)
    except Undecodable:
        return None


def decode_event(
    declaration: Declaration, topics: Sequence[bytes], data: bytes, *, guess: bool
) -> Decoded | None:
    """Return an event with its arguments in their order; None if topics or data do not fit the declaration.

    Indexed values that do not fit into a topic (texts, bytes, arrays, tuples) are there as hashes.
    """
    indexed = [one for one in declaration.parameters if one.indexed]
    plain = [one for one in declaration.parameters if not one.indexed]
    if not topics or topics[0] != declaration.topic or len(topics) != len(indexed) + 1:
        return None
    try:
        of_topics = [
            _of_topic(one, bytes(word)) for one, word in zip(indexed, topics[1:], strict=True)
        ]
        if guess and not is_canonical(plain, data):
            return None
        of_data = arguments_of(plain, data)
    except Undecodable:
        return None
    kinds = {True: iter(of_topics), False: iter(of_data)}
    return Decoded(
        declaration, tuple(next(kinds[one.indexed]) for one in declaration.parameters), guess
    )


def _of_topic(parameter: Parameter, word: bytes) -> Argument:
    type_ = parameter.type
    if type_ in _DYNAMIC or type_.endswith((")", "]")):
        return Argument(parameter.name, type_, "0x" + word.hex(), is_hash=True)
    (found,) = arguments_of((parameter._replace(indexed=False),), word)
    return found


def _argument(parameter: Parameter, value: object) -> Argument:
    return Argument(parameter.name, parameter.type, _value(parameter, value))


def _value(parameter: Parameter, value: object) -> Value:
    type_ = parameter.type
    if type_.endswith("]") and isinstance(value, list | tuple):
        element = parameter._replace(type=type_.rpartition("[")[0])
        return tuple(
            Argument(str(place), element.type, _value(element, one))
            for place, one in enumerate(value)
        )
    if isinstance(value, list | tuple):
        return tuple(
            _argument(member, one) for member, one in zip(parameter.members, value, strict=True)
        )
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if type_ == "string" else "0x" + value.hex()
    if type_ == "address":
        return str(checksum_address(Address(bytes.fromhex(str(value).removeprefix("0x")))))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
