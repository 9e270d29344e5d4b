"""Errors of the linear codec, with the reference's messages.

CodecError
├── InputTooLarge        more bytes than the codec's limit
├── MissingVersion       fewer than the two bytes of the version
├── UnknownVersion       a version other than 0
├── TrailingBytes        bytes after the value
├── InputTooShort        the bytes end before the value does
│   └── MissingTypeId    … at the number of a type
├── UnknownTypeId        a number of no registered type
├── WrongInterface       a number of a type that does not implement the interface
├── RecursiveType        a type that contains itself
├── InvalidBool          neither 0 nor 1
├── ZeroLengthElement    a list of elements of zero bytes
├── UnregisteredType     a type without a number, where one is needed
└── UnencodableValue     a value that does not fit into its field
"""


class CodecError(Exception):
    """Bytes that cannot be decoded, or a value that cannot be encoded."""


class InputTooLarge(CodecError):
    """More bytes than the codec's limit."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"byte array exceeds maximum length: {size} > {limit}")
        self.size = size
        self.limit = limit


class MissingVersion(CodecError):
    """Fewer than the two bytes of the version."""

    def __init__(self) -> None:
        super().__init__("couldn't unpack codec version")


class UnknownVersion(CodecError):
    """A version of another codec."""

    def __init__(self, version: int) -> None:
        super().__init__("unknown codec version")
        self.version = version


class TrailingBytes(CodecError):
    """Bytes after the value."""

    def __init__(self, read: int, provided: int) -> None:
        super().__init__(f"trailing buffer space: read {read} provided {provided}")
        self.read = read
        self.provided = provided


class InputTooShort(CodecError):
    """The bytes end before the value does."""

    def __init__(self, place: str = "") -> None:
        super().__init__(f"{place}packer has insufficient length for input")


class MissingTypeId(InputTooShort):
    """The bytes end at the number of a type."""

    def __init__(self) -> None:
        super().__init__("couldn't unmarshal interface: ")


class UnknownTypeId(CodecError):
    """A number of no registered type."""

    def __init__(self, type_id: int) -> None:
        super().__init__(f"couldn't unmarshal interface: unknown type ID {type_id}")
        self.type_id = type_id


class WrongInterface(CodecError):
    """A type that does not implement the interface."""

    def __init__(self, class_: type, interface: type) -> None:
        super().__init__(
            f"couldn't unmarshal interface: {class_.__name__} does not implement interface "
            f"{interface.__name__}"
        )
        self.found = class_
        self.interface = interface


class RecursiveType(CodecError):
    """A type that contains itself through an interface; the rule bounds the depth."""

    def __init__(self, class_: type) -> None:
        super().__init__(f"recursive interface types: {class_.__name__}")
        self.found = class_


class InvalidBool(CodecError):
    """A boolean that is neither 0 nor 1."""

    def __init__(self) -> None:
        super().__init__("unexpected value when unpacking bool")


class ZeroLengthElement(CodecError):
    """Elements of zero bytes, of which a four-byte length could announce any number."""

    def __init__(self) -> None:
        super().__init__("couldn't unmarshal slice of zero length values")


class UnregisteredType(CodecError):
    """A type that the codec does not know, or that does not implement the interface."""

    def __init__(self, class_: type) -> None:
        super().__init__(f"can't marshal unregistered type {class_.__name__}")
        self.found = class_


class UnencodableValue(CodecError):
    """A number, text or byte string that does not fit into its field."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"can't marshal value: {reason}")
