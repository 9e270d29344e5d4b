"""Decodes arguments of calls, events and errors by a declaration. Pure.

The bytes are untrusted input: decoding is bounded (`bounded_abi`), and strings are decoded even if they are not valid
UTF-8.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.transaction_log.abi import SELECTOR_BYTES
from cchain_app.transaction_log.declarations import Declaration, Parameter
from cchain_app.transaction_log.errors import Undecodable
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

MAX_BYTES: Final = 128 * 1024
"""Limit of bytes of arguments that are decoded for a page."""

_DYNAMIC: Final = ("string", "bytes")

Value = str | tuple["DecodedArgument", ...]
"""A decoded value as text; for arrays and tuples their elements. Addresses have EIP-55's checksum."""


@dataclass(frozen=True)
class DecodedArgument:
    """An argument, or a part of one."""

    name: str
    """Empty for a parameter without a name; for an array's element its index."""
    type: str
    value: Value
    is_hash: bool = False
    """Whether the value is a hash: an indexed string, bytes, array or tuple is logged as its hash."""
    amount: str = ""
    """The value as an amount of the contract's token, such as `301 GLD`; empty if it is not an amount."""

    @property
    def is_address(self) -> bool:
        """Whether it is an address, to which a page can link."""
        return self.type == "address"

    @property
    def is_empty(self) -> bool:
        """Whether it is an array without elements."""
        return self.value == ()

    @property
    def parts(self) -> tuple["DecodedArgument", ...]:
        """The elements of an array or tuple."""
        return self.value if isinstance(self.value, tuple) else ()


@dataclass(frozen=True)
class DecodedCall:
    """A decoded call, event or error."""

    declaration: Declaration
    arguments: tuple[DecodedArgument, ...]
    is_guess: bool
    """Whether the name comes from the lists of common ones, by selector or topic, and not from the contract's ABI."""

    @property
    def name(self) -> str:
        """Its name without parameters."""
        return self.declaration.name

    @property
    def signature(self) -> str:
        """Its name with the types of its parameters."""
        return self.declaration.signature


def arguments_of(parameters: Sequence[Parameter], data: bytes) -> tuple[DecodedArgument, ...]:
    """Decode arguments.

    Args:
        parameters: The expected parameters.
        data: The encoded arguments, without a selector.

    Raises:
        Undecodable: The data does not fit, is longer than `MAX_BYTES`, or refers to the same part too often.
    """
    # Imported here, because the import takes a fifth of a second, and many processes show no page.
    from cchain_app.transaction_log import bounded_abi

    values = bounded_abi.decode([parameter.type for parameter in parameters], data, most=MAX_BYTES)
    return tuple(
        _argument(parameter, value) for parameter, value in zip(parameters, values, strict=True)
    )


def count(arguments: Sequence[DecodedArgument]) -> int:
    """Return how many lines a page needs for arguments: one for each argument and for each part."""
    return sum(1 + count(argument.parts) for argument in arguments)


def first(arguments: Sequence[DecodedArgument], maximum: int) -> tuple[DecodedArgument, ...]:
    """Return the first arguments that fit into `most` lines (`count`); the last one may be truncated."""
    return _first(arguments, maximum)[0]


def _first(
    arguments: Sequence[DecodedArgument], left: int
) -> tuple[tuple[DecodedArgument, ...], int]:
    kept_arguments: list[DecodedArgument] = []
    for argument in arguments:
        if left <= 0:
            break
        parts, left = _first(argument.parts, left - 1)
        if argument.parts and not parts:  # without its parts it would look like an empty array
            break
        kept_arguments.append(replace(argument, value=parts) if parts else argument)
    return tuple(kept_arguments), left


def is_canonical(parameters: Sequence[Parameter], data: bytes) -> bool:
    """Return whether arguments are encoded as a compiler would encode them; only then a guess is trusted.

    Raises:
        Undecodable: As `arguments_of`.
    """
    from cchain_app.transaction_log import bounded_abi

    return bounded_abi.is_canonical(
        [parameter.type for parameter in parameters], data, most=MAX_BYTES
    )


def decode_call(declaration: Declaration, data: bytes, *, guess: bool) -> DecodedCall | None:
    """Decode a call or an error; return None if the data does not fit the declaration.

    Args:
        declaration: The function or error.
        data: Selector and arguments.
        guess: Whether the declaration comes from the common lists: the arguments must then be canonical, except that
            they may have an additional word.
    """
    arguments = data[SELECTOR_BYTES:]
    if data[:SELECTOR_BYTES] != declaration.selector:
        return None
    try:
        if guess and not is_canonical(declaration.parameters, arguments):
            return None
        return DecodedCall(declaration, arguments_of(declaration.parameters, arguments), guess)
    except Undecodable:
        return None


def decode_event(
    declaration: Declaration, topics: Sequence[bytes], data: bytes, *, guess: bool
) -> DecodedCall | None:
    """Decode an event; return None if topics or data do not fit the declaration. Arguments are in declared order.

    Indexed values that do not fit into a topic (strings, bytes, arrays, tuples) are returned as hashes.
    """
    indexed = [parameter for parameter in declaration.parameters if parameter.indexed]
    plain = [parameter for parameter in declaration.parameters if not parameter.indexed]
    if not topics or topics[0] != declaration.topic or len(topics) != len(indexed) + 1:
        return None
    try:
        of_topics = [
            _of_topic(parameter, bytes(word))
            for parameter, word in zip(indexed, topics[1:], strict=True)
        ]
        if guess and not is_canonical(plain, data):
            return None
        of_data = arguments_of(plain, data)
    except Undecodable:
        return None
    kinds = {True: iter(of_topics), False: iter(of_data)}
    return DecodedCall(
        declaration,
        tuple(next(kinds[parameter.indexed]) for parameter in declaration.parameters),
        guess,
    )


def _of_topic(parameter: Parameter, word: bytes) -> DecodedArgument:
    type_ = parameter.type
    if type_ in _DYNAMIC or type_.endswith((")", "]")):
        return DecodedArgument(parameter.name, type_, "0x" + word.hex(), is_hash=True)
    (argument,) = arguments_of((parameter._replace(indexed=False),), word)
    return argument


def _argument(parameter: Parameter, value: object) -> DecodedArgument:
    return DecodedArgument(parameter.name, parameter.type, _value(parameter, value))


def _value(parameter: Parameter, value: object) -> Value:
    type_ = parameter.type
    if type_.endswith("]") and isinstance(value, list | tuple):
        element = parameter._replace(type=type_.rpartition("[")[0])
        return tuple(
            DecodedArgument(str(index), element.type, _value(element, item))
            for index, item in enumerate(value)
        )
    if isinstance(value, list | tuple):
        return tuple(
            _argument(member, item) for member, item in zip(parameter.members, value, strict=True)
        )
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if type_ == "string" else "0x" + value.hex()
    if type_ == "address":
        return str(checksum_address(Address(bytes.fromhex(str(value).removeprefix("0x")))))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
