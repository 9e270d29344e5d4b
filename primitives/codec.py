"""The reference's linear codec (pchain.md 2.1): dataclasses to bytes and back.

The P-Chain, the X-Chain, atomic transactions and warp messages use it. The annotations of a dataclass are its
layout: `U8` to `U64`, `bool`, `Text`, `Blob`, fixed bytes (`Annotated[bytes, FixedLayout(65)]`, identifiers),
`tuple[X, ...]`, nested dataclasses, and `Annotated[Base, INTERFACE]` for a registered subclass of Base.
`codec_compiler` compiles them to `codec_forms`; this module adds the version and the size limit. `codec_errors`
has the errors.
"""

import struct
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, overload

from primitives.codec_compiler import BLOB, INTERFACE, TEXT, Compiler, FixedLayout, Number
from primitives.codec_errors import CodecError, CodecReason
from primitives.codec_forms import CodecForm

__all__ = ["INTERFACE", "U8", "U16", "U32", "U64", "Blob", "Codec", "FixedLayout", "Text"]

U8 = Annotated[int, Number("B")]
U16 = Annotated[int, Number("H")]
U32 = Annotated[int, Number("I")]
U64 = Annotated[int, Number("Q")]
Text = Annotated[str, TEXT]
"""A two-byte length and UTF-8. Invalid UTF-8 comes back unchanged (surrogateescape)."""
Blob = Annotated[bytes, BLOB]
"""A four-byte length and bytes."""

VERSION = b"\0\0"
"""Prefix of every top-level value. There has never been another version."""

DEFAULT_MAX_SIZE = 256 * 1024

Value = TypeVar("Value")


class Codec:
    """Registered types with their numbers, and a size limit. Layouts are compiled at their first use."""

    def __init__(self, types: Mapping[int, type], *, max_size: int = DEFAULT_MAX_SIZE) -> None:
        """Take the types that interfaces may contain, by number."""
        self._max_size = max_size
        self._compiler = Compiler(types)
        self._forms: dict[object, CodecForm] = {}

    def type_id(self, cls: type) -> int:
        """Return the number of a type.

        Raises:
            CodecError: The type has no number.
        """
        return self._compiler.type_id(cls)

    def marshal(self, value: object, as_type: object = None) -> bytes:
        """Return the bytes of a top-level value, prefixed by the version.

        Raises:
            CodecError: As `pack`, and also above the codec's size limit.
        """
        data = VERSION + self.pack(value, as_type)
        self._verify_size(data)
        return data

    def pack(self, value: object, as_type: object = None) -> bytes:
        """Return the bytes of a nested value; without `as_type`, in the layout of its own class.

        Raises:
            CodecError: A number, text or byte string does not fit into its field; the type of an interface
                value has no number; a type contains itself through an interface; or a list has elements of
                zero bytes.
        """
        form = self._form(type(value) if as_type is None else as_type)
        try:
            return form.write(value)
        except (struct.error, UnicodeEncodeError) as error:
            raise CodecError(CodecReason.UNENCODABLE_VALUE, cause=str(error)) from None

    @overload
    def unmarshal(self, as_type: type[Value], data: bytes) -> Value: ...

    @overload
    def unmarshal(self, as_type: object, data: bytes) -> Any: ...

    def unmarshal(self, as_type: object, data: bytes) -> Any:
        """Read a top-level value: the version, the value, and nothing after it.

        Raises:
            CodecError: There are more bytes than the codec's limit; there are fewer than two bytes; the
                version is not zero; there are bytes after the value; or as `read`.
        """
        self._verify_size(data)
        version = data[: len(VERSION)]
        if len(version) < len(VERSION):
            raise CodecError(CodecReason.MISSING_VERSION)
        if version != VERSION:
            raise CodecError(CodecReason.UNKNOWN_VERSION)
        value, offset = self.read(as_type, data, len(VERSION))
        if offset != len(data):
            raise CodecError(CodecReason.TRAILING_BYTES, read=offset, provided=len(data))
        return value

    @overload
    def read(self, as_type: type[Value], data: bytes, offset: int) -> tuple[Value, int]: ...

    @overload
    def read(self, as_type: object, data: bytes, offset: int) -> tuple[Any, int]: ...

    def read(self, as_type: object, data: bytes, offset: int) -> tuple[Any, int]:
        """Read the value at `offset`; also return its end. Bytes after it are not examined.

        Raises:
            CodecError: The bytes end before the value does; no type has the number of an interface value; the
                type of that number does not implement the interface; the type of that number contains this
                value already; a boolean is neither 0 nor 1; or a list has elements of zero bytes.
        """
        return self._form(as_type).read(data, offset)

    def _form(self, as_type: object) -> CodecForm:
        try:
            return self._forms[as_type]
        except KeyError:
            return self._forms.setdefault(as_type, self._compiler.form(as_type))

    def _verify_size(self, data: bytes) -> None:
        if len(data) > self._max_size:
            raise CodecError(CodecReason.INPUT_TOO_LARGE, size=len(data), limit=self._max_size)
