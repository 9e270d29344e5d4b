"""Chain files as written by `geth export`: the RLP of blocks, without separators. Pure."""

from collections.abc import Iterator
from typing import BinaryIO, Final

from cchain_app.foreign.errors import ChainFileError, ChainFileReason

MAX_BYTES: Final = 64 * 1024 * 1024
"""Limit of a block in a file: more than any chain allows."""

_LONG_LIST: Final = 0xF7
_SHORT_LIST: Final = 0xC0


def read_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the RLP of each block; only its first bytes are checked.

    Raises:
        ChainFileError: The bytes are not an RLP list, longer than any block, or incomplete.
        OSError: The stream cannot be read.
    """
    position = 0
    while first := stream.read(1):
        prefix, size = _list_size(first, stream, position)
        if size > MAX_BYTES:
            raise ChainFileError(
                ChainFileReason.TOO_LONG, position=position, size=size, limit=MAX_BYTES
            )
        block = prefix + _read(stream, size, position)
        yield block
        position += len(block)


def _list_size(first: bytes, stream: BinaryIO, position: int) -> tuple[bytes, int]:
    """Return the prefix of a list, and the length of its payload in bytes."""
    kind = first[0]
    if kind < _SHORT_LIST:
        raise ChainFileError(ChainFileReason.NO_BLOCK, position=position)
    if kind <= _LONG_LIST:
        return first, kind - _SHORT_LIST
    size = _read(stream, kind - _LONG_LIST, position)
    return first + size, int.from_bytes(size, "big")


def _read(stream: BinaryIO, size: int, position: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise ChainFileError(ChainFileReason.INCOMPLETE, position=position)
    return content
