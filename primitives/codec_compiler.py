"""Compiles the annotations of `primitives.codec` to forms, and resolves the types of interfaces.

A type must not contain itself through an interface: within a value of a type, no interface holds a
value of the same type. The reference rejects that too, and it bounds the depth of untrusted input.
Forms are therefore made for a type *and* the types that contain it.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from primitives.codec_errors import CodecError, CodecReason
from primitives.codec_forms import (
    CodecForm,
    Read,
    Write,
    blob_form,
    bool_form,
    fixed_form,
    list_form,
    number_form,
    struct_form,
    text_form,
)
from primitives.ids import FixedId

_TYPE_ID = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Number:
    """Marks an unsigned integer, by its letter in `struct`."""

    letter: str


@dataclass(frozen=True, slots=True)
class FixedLayout:
    """Marks a fixed number of bytes without a length prefix: `Annotated[bytes, FixedLayout(65)]`."""

    size: int


@dataclass(frozen=True, slots=True)
class Marker:
    """Marks any other kind of field."""

    name: str


TEXT = Marker("text")
BLOB = Marker("blob")
INTERFACE = Marker("interface")
"""Marks a base class; the field holds a registered subclass after its four-byte number."""

_NO_TYPES: frozenset[type] = frozenset()


def reference_name(cls: type) -> str:
    """Return the name that the reference's errors have for a class: its REFERENCE_NAME, or its own name."""
    name: str = vars(cls).get("REFERENCE_NAME", cls.__name__)
    return name


class Compiler:
    """Compiles annotations to forms, for one registry of types."""

    def __init__(self, types: Mapping[int, type]) -> None:
        """Take the types of interfaces, by number."""
        self._types = dict(types)
        self._type_ids = {registered: type_id for type_id, registered in types.items()}
        self._forms: dict[tuple[object, frozenset[type]], CodecForm] = {}

    def type_id(self, cls: type) -> int:
        """Return the number of a type.

        Raises:
            CodecError: The type has no number.
        """
        try:
            return self._type_ids[cls]
        except KeyError:
            raise CodecError(CodecReason.UNREGISTERED_TYPE, type=cls.__name__) from None

    def form(self, annotation: object, within: frozenset[type] = _NO_TYPES) -> CodecForm:
        """Return the form of an annotation that is nested in values of the types `within`."""
        key = annotation, within
        form = self._forms.get(key)
        if form is None:
            form = self._forms[key] = self._make(annotation, within)
        return form

    def implementation(self, interface: type, type_id: int, within: frozenset[type]) -> CodecForm:
        """Return the form of the type with this number, for an interface.

        Raises:
            CodecError: No type has this number; the type does not implement the interface; or the type would
                contain itself.
        """
        type_form = self._types.get(type_id)
        if type_form is None:
            raise CodecError(CodecReason.UNKNOWN_TYPE_ID, type_id=type_id)
        if not issubclass(type_form, interface):
            raise CodecError(
                CodecReason.WRONG_INTERFACE,
                type=reference_name(type_form),
                interface=reference_name(interface),
            )
        if type_form in within:
            raise CodecError(CodecReason.RECURSIVE_TYPE, type=type_form.__name__)
        return self.form(type_form, within | {type_form})

    def _make(self, annotation: object, within: frozenset[type]) -> CodecForm:
        arguments = get_args(annotation)
        if get_origin(annotation) is Annotated:
            return self._make_marked(*arguments, within=within)
        if get_origin(annotation) is tuple:
            element, ellipsis = arguments
            assert ellipsis is ..., annotation
            return list_form(self.form(element, within))
        if annotation is bool:
            return bool_form()
        assert isinstance(annotation, type), annotation
        if issubclass(annotation, FixedId):
            # skips the constructor, which checks the size again
            return fixed_form(annotation.SIZE, partial(bytes.__new__, annotation))
        return self._make_struct(annotation, within)

    def _make_marked(self, annotation: type, mark: object, *, within: frozenset[type]) -> CodecForm:
        match mark:
            case Number(letter):
                return number_form(letter)
            case FixedLayout(size):
                return fixed_form(size)
        if mark is INTERFACE:
            return _interface_form(self, annotation, within)
        assert mark in {TEXT, BLOB}, mark
        return text_form() if mark is TEXT else blob_form()

    def _make_struct(self, cls: type, within: frozenset[type]) -> CodecForm:
        assert is_dataclass(cls), cls
        hints = get_type_hints(cls, include_extras=True)
        names = [field.name for field in fields(cls)]
        return struct_form(cls, [(name, self.form(hints[name], within)) for name in names])


def _interface_form(compiler: Compiler, interface: type, within: frozenset[type]) -> CodecForm:
    readers = _Readers(compiler, interface, within)
    writers = _Writers(compiler, interface, within)

    def write(value: object) -> bytes:
        return writers[type(value)](value)

    def read(data: bytes, offset: int) -> tuple[Any, int]:
        try:
            (type_id,) = _TYPE_ID.unpack_from(data, offset)
        except struct.error:
            raise CodecError(CodecReason.MISSING_TYPE_ID) from None
        return readers[type_id](data, offset + 4)

    return CodecForm(write, read)


class _Readers(dict[int, Read]):
    """The readers of an interface's types by number, each made at its first use."""

    def __init__(self, compiler: Compiler, interface: type, within: frozenset[type]) -> None:
        super().__init__()
        self._compiler = compiler
        self._interface = interface
        self._within = within

    def __missing__(self, type_id: int) -> Read:
        form = self._compiler.implementation(self._interface, type_id, self._within)
        self[type_id] = form.read
        return form.read


class _Writers(dict[type, Write]):
    """The writers of an interface's types, including the number, each made at its first use."""

    def __init__(self, compiler: Compiler, interface: type, within: frozenset[type]) -> None:
        super().__init__()
        self._compiler = compiler
        self._interface = interface
        self._within = within

    def __missing__(self, cls: type) -> Write:
        if not issubclass(cls, self._interface):
            raise CodecError(CodecReason.UNREGISTERED_TYPE, type=cls.__name__)
        type_id = self._compiler.type_id(cls)
        prefix = _TYPE_ID.pack(type_id)
        write = self._compiler.implementation(self._interface, type_id, self._within).write
        self[cls] = writer = _prefixed(prefix, write)
        return writer


def _prefixed(prefix: bytes, write: Write) -> Write:
    return lambda value: prefix + write(value)
