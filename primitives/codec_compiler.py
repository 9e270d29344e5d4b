"""From annotations to forms: what `primitives.codec`'s annotations mean, and the types behind them.

An interface is closed against itself: within a value of a type no value of that type stands behind
an interface. The reference refuses it too, and it bounds the depth of what strangers send. Forms
are therefore made for a type *and* the types that it stands within.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from primitives.codec_errors import (
    MissingTypeId,
    RecursiveType,
    UnknownTypeId,
    UnregisteredType,
    WrongInterface,
)
from primitives.codec_forms import (
    Form,
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
    """Marks an unsigned integer, by the letter that `struct` has for it."""

    letter: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """Marks so many bytes, without a length in front: `Annotated[bytes, Fixed(65)]`."""

    size: int


@dataclass(frozen=True, slots=True)
class Marker:
    """Marks something else."""

    name: str


TEXT = Marker("text")
BLOB = Marker("blob")
INTERFACE = Marker("interface")
"""Marks a class of which a registered subclass stands there, behind its number of four bytes."""

_NO_TYPES: frozenset[type] = frozenset()


class Compiler:
    """Makes forms of annotations, for one registry of types."""

    def __init__(self, types: Mapping[int, type]) -> None:
        """Take the types behind interfaces, by number."""
        self._types = dict(types)
        self._type_ids = {registered: type_id for type_id, registered in types.items()}
        self._forms: dict[tuple[object, frozenset[type]], Form] = {}

    def type_id(self, cls: type) -> int:
        """Return the number of a type.

        Raises:
            UnregisteredType: It has none.
        """
        try:
            return self._type_ids[cls]
        except KeyError:
            raise UnregisteredType(cls) from None

    def form(self, annotation: object, within: frozenset[type] = _NO_TYPES) -> Form:
        """Return the form of an annotation that stands within values of these types."""
        key = annotation, within
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = self._make(annotation, within)
        return found

    def implementation(self, interface: type, type_id: int, within: frozenset[type]) -> Form:
        """Return the form of the type with this number, behind an interface.

        Raises:
            UnknownTypeId: There is no such type.
            WrongInterface: It is not of the interface.
            RecursiveType: It stands within itself.
        """
        found = self._types.get(type_id)
        if found is None:
            raise UnknownTypeId(type_id)
        if not issubclass(found, interface):
            raise WrongInterface(found, interface)
        if found in within:
            raise RecursiveType(found)
        return self.form(found, within | {found})

    def _make(self, annotation: object, within: frozenset[type]) -> Form:
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
            # not through its constructor, which checks the size again
            return fixed_form(annotation.SIZE, partial(bytes.__new__, annotation))
        return self._make_struct(annotation, within)

    def _make_marked(self, annotation: type, mark: object, *, within: frozenset[type]) -> Form:
        match mark:
            case Number(letter):
                return number_form(letter)
            case Fixed(size):
                return fixed_form(size)
        if mark is INTERFACE:
            return _interface_form(self, annotation, within)
        assert mark in {TEXT, BLOB}, mark
        return text_form() if mark is TEXT else blob_form()

    def _make_struct(self, cls: type, within: frozenset[type]) -> Form:
        assert is_dataclass(cls), cls
        hints = get_type_hints(cls, include_extras=True)
        names = [field.name for field in fields(cls)]
        return struct_form(cls, [(name, self.form(hints[name], within)) for name in names])


def _interface_form(compiler: Compiler, interface: type, within: frozenset[type]) -> Form:
    readers = _Readers(compiler, interface, within)
    writers = _Writers(compiler, interface, within)

    def write(value: object) -> bytes:
        return writers[type(value)](value)

    def read(data: bytes, offset: int) -> tuple[Any, int]:
        try:
            (type_id,) = _TYPE_ID.unpack_from(data, offset)
        except struct.error:
            raise MissingTypeId from None
        return readers[type_id](data, offset + 4)

    return Form(write, read)


class _Readers(dict[int, Read]):
    """The readers of an interface's types by number, each made when it is first needed."""

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
    """The writers of an interface's types, numbers first, each made when it is first needed."""

    def __init__(self, compiler: Compiler, interface: type, within: frozenset[type]) -> None:
        super().__init__()
        self._compiler = compiler
        self._interface = interface
        self._within = within

    def __missing__(self, cls: type) -> Write:
        if not issubclass(cls, self._interface):
            raise UnregisteredType(cls)
        type_id = self._compiler.type_id(cls)
        prefix = _TYPE_ID.pack(type_id)
        write = self._compiler.implementation(self._interface, type_id, self._within).write
        self[cls] = writer = _prefixed(prefix, write)
        return writer


def _prefixed(prefix: bytes, write: Write) -> Write:
    return lambda value: prefix + write(value)
