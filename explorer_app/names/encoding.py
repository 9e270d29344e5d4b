"""Encodes the texts of a form as arguments of a call: parsed by the types of an ABI, encoded by eth-abi. Pure.

Numbers are decimal or 0x, addresses with capital letters must have a valid EIP-55 checksum, bytes are 0x and digits, and
a string is used unchanged. Arrays and tuples are JSON: a list, or for a tuple also an object with its members' names.
Their elements are texts as above, or JSON's own numbers and booleans.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from cchain_app.transaction_log.declarations import Declaration, Parameter
from cchain_app.transaction_log.errors import Unencodable
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

MAX_TEXT: Final = 128 * 1024
"""Limit of characters of all texts of a call: no transaction has more bytes."""
MAX_VALUES: Final = 4096
"""Limit of values in all arrays and tuples of a call: each takes a word or more, and no transaction has more words."""
_DEEPEST: Final = 32
_MAX_DIGITS: Final = 80
_COIN_DECIMALS: Final = 18
_MAX_COINS: Final = 2**256

_INTEGER: Final = re.compile(r"(u?)int(\d{1,3})")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+|0x[0-9a-fA-F]+)", re.ASCII)
_COINS: Final = re.compile(r"(\d*)(?:\.(\d*))?", re.ASCII)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_BYTES: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
_FIXED: Final = re.compile(r"bytes(\d{1,2})")
_ARRAY: Final = re.compile(r"(.*)\[(\d*)\]", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


class BadText(Exception):
    """A text that is not a value of its type.

    Args:
        what: The error, phrased to follow the field's name in a sentence.
        path: The path of the invalid part, such as `[2].amount`; empty for the whole value.
    """

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(f"{path} {what}" if path else what)
        self.what = what
        self.path = path


class BadFields(Exception):
    """Errors of several fields of a form, by the index of their parameters."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("; ".join(reasons.values()))
        self.reasons = reasons


def encode_call(declaration: Declaration, texts: Sequence[str]) -> bytes:
    """Return selector and arguments of a call.

    Args:
        declaration: The function.
        texts: One text per parameter.

    Raises:
        BadFields: Some texts are not values of their types, or the texts or types are too long in total.
    """
    from cchain_app.transaction_log import bounded_abi  # imported here for the reason in `decoding`

    if sum(map(len, declaration.types)) > bounded_abi.LONGEST_TYPE:
        raise BadFields({0: "and the other fields have types that are too long to be encoded here"})
    if sum(map(len, texts)) > MAX_TEXT:
        raise BadFields({0: f"has more than {MAX_TEXT:,} characters, with the other fields"})
    nested = [
        text for field, text in zip(declaration.parameters, texts, strict=True) if _is_nested(field)
    ]
    if sum(_STRING.sub("", text).count(",") for text in nested) >= MAX_VALUES:
        raise BadFields({0: f"has more than {MAX_VALUES:,} values, with the other fields"})
    values: list[Any] = []
    reasons: dict[int, str] = {}
    for index, (parameter, text) in enumerate(zip(declaration.parameters, texts, strict=True)):
        try:
            values.append(read_value(parameter, text))
        except BadText as error:
            reasons[index] = str(error)
    if reasons:
        raise BadFields(reasons)
    try:
        return declaration.selector + bounded_abi.encode(declaration.types, values)
    except Unencodable as error:
        raise BadFields({0: "cannot be encoded: the ABI has a type that does not exist"}) from error


def encode_key(type_: str, text: str) -> bytes:
    """Return a mapping's key in the form that Solidity hashes: a word, or for strings and bytes the bytes themselves.

    Raises:
        BadText: The text is not a value of the type.
    """
    from cchain_app.transaction_log import bounded_abi

    if len(text) > MAX_TEXT:
        raise BadText(f"has more than {MAX_TEXT:,} characters")
    value = read_value(Parameter(type_, ""), text)
    if type_ == "string":
        return str(value).encode()
    return bytes(value) if type_ == "bytes" else bounded_abi.encode([type_], [value])


def read_value(parameter: Parameter, text: str) -> Any:
    """Return the value of a field, in the form that eth-abi takes.

    Raises:
        BadText: The text is not a value of the parameter's type.
    """
    if not _is_nested(parameter):
        return _plain(parameter.type, text)
    if _depth(text) > _DEEPEST:
        raise BadText(f"is nested deeper than {_DEEPEST}")
    try:
        # Numbers remain texts, because they may be larger than JSON parsers represent exactly.
        parsed = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except ValueError as error:
        raise BadText(f"must be JSON for {parameter.type}, such as {example(parameter)}") from error
    return _nested(parameter, parsed)


def read_coins(text: str) -> int:
    """Return an amount of coins in wei; an empty text is 0.

    Raises:
        BadText: The text is not an amount, or has more decimals than wei can represent.
    """
    stripped = text.strip()
    match = _COINS.fullmatch(stripped)
    if len(stripped) > _MAX_DIGITS + _COIN_DECIMALS or match is None or stripped == ".":
        raise BadText("must be an amount, such as 0.5")
    whole, part = match[1] or "0", match[2] or ""
    if len(part.rstrip("0")) > _COIN_DECIMALS:
        raise BadText(f"has more than {_COIN_DECIMALS} decimals")
    amount = int(whole) * 10**_COIN_DECIMALS + int(part[:_COIN_DECIMALS].ljust(_COIN_DECIMALS, "0"))
    if amount >= _MAX_COINS:
        raise BadText("is more than the largest possible amount")
    return amount


def example(parameter: Parameter) -> str:
    """Return an example of a parameter's value, for display in an empty field."""
    type_ = parameter.type
    array = _ARRAY.fullmatch(type_)
    if array:
        element = parameter._replace(type=array[1])
        return f"[{_quoted(element)}, …]"
    if type_.endswith(")"):
        return f"[{', '.join(_quoted(member) for member in parameter.members)}]"
    if type_ in {"bool", "string"}:
        return {"bool": "true", "string": "text"}[type_]
    return "1" if _INTEGER.fullmatch(type_) else "0x…"


def _is_nested(parameter: Parameter) -> bool:
    """Return whether a value is written as JSON."""
    return parameter.type.endswith(("]", ")"))


def _quoted(parameter: Parameter) -> str:
    text = example(parameter)
    is_text = parameter.type == "string" or text == "0x…"
    return f'"{text}"' if is_text else text


def _nested(parameter: Parameter, value: Any) -> Any:
    """Return the value of decoded JSON for an array, a tuple, or an element of one."""
    array = _ARRAY.fullmatch(parameter.type)
    if array:
        return _elements(parameter._replace(type=array[1]), array[2], value, parameter.type)
    if parameter.type.endswith(")"):
        return _members(parameter, value)
    if isinstance(value, bool) and parameter.type == "bool":
        return value
    if not isinstance(value, str):
        raise BadText(f"must be a value for {parameter.type}")
    return _plain(parameter.type, value)


def _elements(element: Parameter, count: str, value: Any, type_: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadText(f"must be a list for {type_}")
    if count and str(len(value)) != count:
        elements = "element" if count == "1" else "elements"
        raise BadText(f"must have {count} {elements} for {type_}, not {len(value)}")
    items = []
    for index, item in enumerate(value):
        with _within(f"[{index}]"):
            items.append(_nested(element, item))
    return items


def _members(parameter: Parameter, value: Any) -> tuple[Any, ...]:
    members = parameter.members
    names = [member.name for member in members]
    if isinstance(value, dict):
        if sorted(value) != sorted(names):
            raise BadText(f"must be an object with {', '.join(names)}")
        value = [value[name] for name in names]
    if not isinstance(value, list) or len(value) != len(members):
        raise BadText(f"must be a list of {len(members)} for {parameter.type}")
    items = []
    for index, (member, item) in enumerate(zip(members, value, strict=True)):
        with _within(f".{member.name or index}"):
            items.append(_nested(member, item))
    return tuple(items)


@contextmanager
def _within(path: str) -> Iterator[None]:
    """Add a part's path to errors raised within the block."""
    try:
        yield
    except BadText as error:
        raise BadText(error.what, path + error.path) from error


def _plain(type_: str, text: str) -> Any:
    if type_ == "string":
        return _sendable(text)
    stripped = text.strip()
    integer = _INTEGER.fullmatch(type_)
    if integer:
        return _integer(stripped, int(integer[2]), signed=not integer[1])
    if type_ == "address":
        return _address(stripped)
    if type_ == "bool":
        if stripped.lower() not in {"true", "false"}:
            raise BadText("must be true or false")
        return stripped.lower() == "true"
    if type_ == "bytes":
        return _bytes(stripped or "0x")
    fixed = _FIXED.fullmatch("bytes24" if type_ == "function" else type_)
    if fixed is None:
        raise BadText(f"has a type that cannot be entered here: {type_}")
    return _bytes(stripped, int(fixed[1]))


def _sendable(text: str) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise BadText("has incomplete characters")
    return text


def _integer(text: str, bits: int, *, signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    words = (
        f"must be a whole number from {low} to {high}"
        if bits <= 64
        else f"must be a whole number of {bits} bits"
    )
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise BadText(words)
    value = int(text, 16 if "x" in text else 10)
    if not low <= value <= high:
        raise BadText(words)
    return value


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise BadText("must be an address: 0x and 40 digits")
    digits = text[2:]
    is_mixed = digits != digits.lower() and digits != digits.upper()
    if is_mixed and checksum_address(Address(bytes.fromhex(digits))) != text:
        raise BadText("has a wrong checksum: check its digits")
    return text.lower()


def _bytes(text: str, size: int | None = None) -> bytes:
    if not _BYTES.fullmatch(text):
        raise BadText("must be 0x and an even number of digits")
    data = bytes.fromhex(text[2:])
    if size is not None and len(data) != size:
        raise BadText(f"must be 0x and {2 * size} digits")
    return data


def _depth(text: str) -> int:
    """Return how deeply brackets are nested, ignoring those in strings: JSON's parser recurses for each level."""
    level = deepest = 0
    for sign in _STRING.sub("", text):
        level += (sign in "[{") - (sign in "]}")
        deepest = max(deepest, level)
    return deepest
