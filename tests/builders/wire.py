"""Messages of every kind with random content, and zstd frames that no honest peer sends."""

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from network_app.wire.p2p_pb2 import Message

KINDS = {field.name: field for field in Message.DESCRIPTOR.fields if field.message_type}
"""Every kind of message except the compressed one."""

SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=40),
    FieldDescriptor.TYPE_STRING: st.text(max_size=20),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_SINT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_ENUM: st.integers(0, 3),  # proto3 keeps numbers without a name
}

ZSTD_MAGIC = bytes.fromhex("28b52ffd")


def any_message() -> st.SearchStrategy[Message]:
    """Return messages of all kinds, with all possible fields."""
    return st.sampled_from(sorted(KINDS)).flatmap(message_of_kind)


def message_of_kind(name: str) -> st.SearchStrategy[Message]:
    content = _fields(KINDS[name].message_type)
    return content.map(lambda values: Message(**{name: values}))


def compress(content: bytes) -> bytes:
    """Return the bytes of a message that contains the compressed content, whatever it is."""
    return wrap(ZstdCompressor(level=3).compress(content))


def wrap(packed: bytes) -> bytes:
    """Return the bytes of a message that claims to contain compressed data."""
    return Message(compressed_zstd=packed).SerializeToString()


def repeated_zeros(size: int, *, blocks: int, header: bytes) -> bytes:
    """Return a handmade zstd frame of `blocks` blocks; each encodes `size` zeros in four bytes."""
    written = b"".join(
        (size << 3 | 1 << 1 | (number == blocks - 1)).to_bytes(3, "little") + b"\0"
        for number in range(blocks)
    )
    return ZSTD_MAGIC + header + written


def _fields(descriptor: Descriptor) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field.name: _values(field) for field in descriptor.fields})


def _values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    value = _value(field)
    return st.lists(value, max_size=3) if field.is_repeated else value


def _value(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    return _fields(field.message_type) if field.message_type else SCALARS[field.type]
