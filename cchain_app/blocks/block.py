"""A whole block as RLP: header, transactions, no uncles and, since Shanghai, no withdrawals.

Nobody stores it; it is what debug_getRawBlock gives and what `size` counts.
"""

from collections.abc import Sequence

from cchain_app.blocks.header import Header, encode_header
from primitives import rlp

_EMPTY_LIST = b"\xc0"
_LEGACY_PREFIX = 0xC0


def encode_block(header: Header, transactions: Sequence[bytes]) -> bytes:
    """Return the block with the given header and signed envelopes as RLP."""
    body = [
        encode_header(header),
        rlp.encode_list(map(_encode_transaction, transactions)),
        _EMPTY_LIST,
    ]
    if header.withdrawals_root is not None:
        body.append(_EMPTY_LIST)
    return rlp.encode_list(body)


def block_size(header: Header, transactions: Sequence[bytes]) -> int:
    """Return the bytes of the block as RLP: what JSON calls its `size`."""
    return len(encode_block(header, transactions))


def _encode_transaction(raw: bytes) -> bytes:
    """Return a legacy transaction, itself a list, as it is; wrap the envelope of a typed one."""
    return raw if raw[0] >= _LEGACY_PREFIX else rlp.encode_bytes(raw)
