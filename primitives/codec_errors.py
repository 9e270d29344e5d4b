"""Errors of the linear codec, with the reference's messages."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class CodecReason(StrEnum):
    """Why bytes cannot be decoded, or a value cannot be encoded."""

    INPUT_TOO_LARGE = "byte array exceeds maximum length: {size} > {limit}"
    MISSING_VERSION = "couldn't unpack codec version"
    UNKNOWN_VERSION = "unknown codec version"
    TRAILING_BYTES = "trailing buffer space: read {read} provided {provided}"
    # `within` names a number, a text or the length of a list; it is empty for fixed bytes.
    INPUT_TOO_SHORT = "{within}packer has insufficient length for input"
    LIST_TOO_LONG = (
        "max slice length exceeded; array length, {length}, exceeds maximum length, {limit}"
    )
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
