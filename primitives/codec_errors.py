"""Why bytes are no value of the linear codec, or a value has no bytes. In the reference's words.

CodecError
├── InputTooLarge        more bytes than the codec takes
├── MissingVersion       not even the two bytes of the version
├── UnknownVersion       a version other than 0
├── TrailingBytes        something behind the value
├── InputTooShort        the bytes end before the value does
│   └── MissingTypeId    … where the number of a type belongs
├── UnknownTypeId        a number that belongs to no type
├── WrongInterface       a number of a type that does not belong there
├── RecursiveType        a type within itself
├── InvalidBool          neither 0 nor 1
├── ZeroLengthElement    a list of elements without bytes
├── UnregisteredType     a type without a number where one is needed
└── UnencodableValue     a value that does not fit into its field
"""


class CodecError(Exception):
    """Bytes that are not what was expected, or a value that has no bytes."""


class InputTooLarge(CodecError):
    """More bytes than the codec takes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"byte array exceeds maximum length: {size} > {limit}")
        self.size = size
        self.limit = limit


class MissingVersion(CodecError):
    """Fewer than two bytes."""

    def __init__(self) -> None:
        super().__init__("couldn't unpack codec version")


class UnknownVersion(CodecError):
    """Bytes of another codec."""

    def __init__(self, version: int) -> None:
        super().__init__("unknown codec version")
        self.version = version


class TrailingBytes(CodecError):
    """Bytes behind the value."""

    def __init__(self, read: int, provided: int) -> None:
        super().__init__(f"trailing buffer space: read {read} provided {provided}")
        self.read = read
        self.provided = provided


class InputTooShort(CodecError):
    """The bytes end too early."""

    def __init__(self, place: str = "") -> None:
        super().__init__(f"{place}packer has insufficient length for input")


class MissingTypeId(InputTooShort):
    """The bytes end where the number of a type belongs."""

    def __init__(self) -> None:
        super().__init__("couldn't unmarshal interface: ")


class UnknownTypeId(CodecError):
    """A number that belongs to no type."""

    def __init__(self, type_id: int) -> None:
        super().__init__(f"couldn't unmarshal interface: unknown type ID {type_id}")
        self.type_id = type_id


class WrongInterface(CodecError):
    """A type where another kind of type belongs."""

    def __init__(self, found: type, interface: type) -> None:
        super().__init__(
            f"couldn't unmarshal interface: {found.__name__} does not implement interface "
            f"{interface.__name__}"
        )
        self.found = found
        self.interface = interface


class RecursiveType(CodecError):
    """A type that stands, behind an interface, within itself; so depth is bounded."""

    def __init__(self, found: type) -> None:
        super().__init__(f"recursive interface types: {found.__name__}")
        self.found = found


class InvalidBool(CodecError):
    """A truth value of another number than 0 and 1."""

    def __init__(self) -> None:
        super().__init__("unexpected value when unpacking bool")


class ZeroLengthElement(CodecError):
    """Elements that take no bytes: any number of them would fit into four bytes."""

    def __init__(self) -> None:
        super().__init__("couldn't unmarshal slice of zero length values")


class UnregisteredType(CodecError):
    """A type that the codec does not know, or that is not of the interface."""

    def __init__(self, found: type) -> None:
        super().__init__(f"can't marshal unregistered type {found.__name__}")
        self.found = found


class UnencodableValue(CodecError):
    """A number, text or byte string that does not fit into its field."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"can't marshal value: {reason}")
