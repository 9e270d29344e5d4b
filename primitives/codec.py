"""The linear codec of the P-Chain (pchain.md 2.1): dataclasses to bytes and back.

The annotations of a dataclass are its layout: `U8` to `U64`, `bool`, `Text`, `Blob`, fixed bytes
(`Annotated[bytes, Fixed(65)]`, identifiers), `tuple[X, ...]`, nested dataclasses, and
`Annotated[Base, INTERFACE]` for a registered subclass of Base. They are compiled in
`codec_compiler` to `codec_forms`; here are version and limits. Errors are drawn in `codec_errors`.
"""

import struct
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, overload

from primitives.codec_compiler import BLOB, INTERFACE, TEXT, Compiler, Fixed, Number
from primitives.codec_errors import (
    InputTooLarge,
    InputTooShort,
    MissingVersion,
    TrailingBytes,
    UnencodableValue,
    UnknownVersion,
)
from primitives.codec_forms import Form

__all__ = ["INTERFACE", "U8", "U16", "U32", "U64", "Blob", "Codec", "Fixed", "Text"]

U8 = Annotated[int, Number("B")]
U16 = Annotated[int, Number("H")]
U32 = Annotated[int, Number("I")]
U64 = Annotated[int, Number("Q")]
Text = Annotated[str, TEXT]
"""A length of two bytes and UTF-8. Bytes that are none come back unchanged (surrogateescape)."""
Blob = Annotated[bytes, BLOB]
"""A length of four bytes and bytes."""

VERSION = b"\0\0"
"""What every value that stands alone begins with. There has never been another version."""

DEFAULT_MAX_SIZE = 256 * 1024

Value = TypeVar("Value")


class Codec:
    """Types with their numbers, and a limit. Layouts are compiled when they are first used."""

    def __init__(self, types: Mapping[int, type], *, max_size: int = DEFAULT_MAX_SIZE) -> None:
        """Take the types that may stand behind an interface, by number."""
        self._max_size = max_size
        self._compiler = Compiler(types)
        self._forms: dict[object, Form] = {}

    def type_id(self, cls: type) -> int:
        """Return the number of a type.

        Raises:
            UnregisteredType: It has none.
        """
        return self._compiler.type_id(cls)

    def marshal(self, value: object, as_type: object = None) -> bytes:
        """Return the bytes of a value that stands alone, the version in front.

        Raises:
            CodecError: As `pack`, and InputTooLarge for more than the codec's limit.
        """
        data = VERSION + self.pack(value, as_type)
        self._verify_size(data)
        return data

    def pack(self, value: object, as_type: object = None) -> bytes:
        """Return the bytes of a value within another; without as_type those of its own class.

        Raises:
            UnencodableValue: A number, text or byte string does not fit into its field.
            UnregisteredType: The type behind an interface has no number.
            RecursiveType: A type stands, behind an interface, within itself.
            ZeroLengthElement: A list has elements without bytes.
        """
        form = self._form(type(value) if as_type is None else as_type)
        try:
            return form.write(value)
        except (struct.error, UnicodeEncodeError) as error:
            raise UnencodableValue(str(error)) from None

    @overload
    def unmarshal(self, as_type: type[Value], data: bytes) -> Value: ...

    @overload
    def unmarshal(self, as_type: object, data: bytes) -> Any: ...

    def unmarshal(self, as_type: object, data: bytes) -> Any:
        """Read a value that stands alone: the version, then the value, then nothing.

        Raises:
            InputTooLarge: There are more bytes than the codec's limit.
            MissingVersion: There are fewer than two.
            UnknownVersion: They are not zero.
            TrailingBytes: Something follows.
            CodecError: As `read`.
        """
        self._verify_size(data)
        version = data[: len(VERSION)]
        if len(version) < len(VERSION):
            raise MissingVersion
        if version != VERSION:
            raise UnknownVersion(int.from_bytes(version, "big"))
        value, offset = self.read(as_type, data, len(VERSION))
        if offset != len(data):
            raise TrailingBytes(offset, len(data))
        return value

    @overload
    def read(self, as_type: type[Value], data: bytes, offset: int) -> tuple[Value, int]: ...

    @overload
    def read(self, as_type: object, data: bytes, offset: int) -> tuple[Any, int]: ...

    def read(self, as_type: object, data: bytes, offset: int) -> tuple[Any, int]:
        """Read the value at offset; also return where it ends. What follows is not looked at.

        Raises:
            InputTooShort: The bytes end before the value does.
            UnknownTypeId: A number behind an interface belongs to no type.
            WrongInterface: It belongs to a type that is not of the interface.
            RecursiveType: It belongs to a type within which it stands.
            InvalidBool: A truth value is neither 0 nor 1.
            ZeroLengthElement: A list has elements without bytes.
        """
        form = self._form(as_type)
        try:
            return form.read(data, offset)
        except struct.error:
            raise InputTooShort from None

    def _form(self, as_type: object) -> Form:
        try:
            return self._forms[as_type]
        except KeyError:
            return self._forms.setdefault(as_type, self._compiler.form(as_type))

    def _verify_size(self, data: bytes) -> None:
        if len(data) > self._max_size:
            raise InputTooLarge(len(data), self._max_size)
