"""Files of other implementations. Pure.

Chain files as written by `geth export` contain the RLP of blocks, without separators. Genesis files are checked for rules
that this node does not support.
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import BinaryIO, Final

from cchain_app.genesis_fields import GenesisFileError, read_number, read_object
from primitives.reasons import ErrorWithReason


class ChainFileReason(StrEnum):
    """Why a file cannot be imported."""

    TOO_LONG = "at byte {position}: a block of {size} bytes, more than {limit}"
    NO_BLOCK = "at byte {position}: not the RLP of a block"
    INCOMPLETE = "at byte {position}: the file ends within a block"
    # the chain has another block at this height
    BLOCK_DIFFERS = "block {number} differs from the chain's: have {have}, want {want}"


class ChainFileError(ErrorWithReason):
    """A file that cannot be imported."""


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


_SEALS: Final = ("clique", "parlia", "bor", "istanbul", "ibft", "qbft")
"""Keys of consensus engines that pay fees to an account that only the block's seal identifies."""


def verify_supported(text: bytes) -> None:
    """Check that a genesis file that `load_genesis` accepts requires no unsupported rules.

    Raises:
        GenesisFileError: The chain has proof of authority, or the DAO fork; or a field is malformed.
    """
    document = json.loads(text)
    config = read_object(document, "config")
    for key in _SEALS:
        if isinstance(config.get(key), Mapping):
            raise GenesisFileError(
                f"config.{key}: the block's seal determines who receives its fees, and seals are not supported"
            )
    if config.get("daoForkSupport") and read_number(config, "daoForkBlock", "config.", default=0):
        raise GenesisFileError(
            "config.daoForkBlock: the DAO fork's irregular state change is not supported"
        )
