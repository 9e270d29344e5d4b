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

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class CodecReason(StrEnum):
    """Why bytes cannot be decoded, or a value cannot be encoded."""

    INPUT_TOO_LARGE = "byte array exceeds maximum length: {size} > {limit}"
    MISSING_VERSION = "couldn't unpack codec version"
    UNKNOWN_VERSION = "unknown codec version"
    TRAILING_BYTES = "trailing buffer space: read {read} provided {provided}"
    # The bytes end before the value does.
    INPUT_TOO_SHORT = "{place}packer has insufficient length for input"
    MISSING_TYPE_ID = "couldn't unmarshal interface: packer has insufficient length for input"
    UNKNOWN_TYPE_ID = "couldn't unmarshal interface: unknown type ID {type_id}"
    WRONG_INTERFACE = (
        "couldn't unmarshal interface: {type} does not implement interface {interface}"
    )
    # A type contains itself through an interface; the rule bounds the depth.
    RECURSIVE_TYPE = "recursive interface types: {type}"
    INVALID_BOOL = "unexpected value when unpacking bool"
    # A four-byte length could announce any number of elements of zero bytes.
    ZERO_LENGTH_ELEMENT = "couldn't unmarshal slice of zero length values"
    # Unknown to the codec, or it does not implement the interface.
    UNREGISTERED_TYPE = "can't marshal unregistered type {type}"
    UNENCODABLE_VALUE = "can't marshal value: {cause}"


class CodecError(ErrorWithReason):
    """Bytes that cannot be decoded, or a value that cannot be encoded."""
