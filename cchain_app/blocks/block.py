"""A whole block as RLP: header, transactions, no uncles and, since Shanghai, no withdrawals.

Nobody stores it; it is what nodes send each other, what debug_getRawBlock gives and what `size`
counts. `candidate` reads it.
"""

from collections.abc import Sequence

from cchain_app.blocks.header import Header, encode_header
from primitives import rlp

_EMPTY_LIST = b"\xc0"
_LEGACY_PREFIX = b"\xc0"


def encode_block(header: Header, transactions: Sequence[bytes]) -> bytes:
    """Return the block with the given header and signed envelopes as RLP."""
    withdrawals = header.withdrawals_root is not None
    return join_block(encode_header(header), transactions, withdrawals=withdrawals)


def join_block(header: bytes, transactions: Sequence[bytes], *, withdrawals: bool) -> bytes:
    """Return the same of a header that is RLP already; since Shanghai it has withdrawals."""
    body = [header, rlp.encode_list(map(_encode_transaction, transactions)), _EMPTY_LIST]
    if withdrawals:
        body.append(_EMPTY_LIST)
    return rlp.encode_list(body)


def _encode_transaction(raw: bytes) -> bytes:
    """Return a legacy transaction, itself a list, as it is; wrap the envelope of a typed one."""
    return raw if raw[:1] >= _LEGACY_PREFIX else rlp.encode_bytes(raw)
