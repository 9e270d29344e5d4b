"""The results of verifying a block's warp messages, in the extra data of a header of Ethereum's form.

Unspecified: chains with Ethereum's blocks write one bit for each message of the block's transactions, in order: 1 for
a message whose signature is invalid. The bits are a big-endian number without leading zero bytes, whose lowest bit is
the first message. If all messages of a block are valid, its header is an ordinary one; no header becomes longer than
Ethereum allows. (coreth and subnet-evm name the transactions: `predicates.encode_results`.)
"""

from collections.abc import Iterable, Mapping
from typing import Final

from cchain_app.precompiles.addresses import WARP
from cchain_app.precompiles.predicates import AccessList

MOST_BITS: Final = 31 * 8
"""32 bytes of extra data are the hash of a payload."""

AccessLists = Iterable[tuple[bytes, AccessList]]
"""Of the transactions of a block in order, each with the hash of its transaction."""


def count_messages(access_list: AccessList) -> int:
    """Return the number of messages in an access list."""
    return sum(address == WARP for address, _ in access_list)


def encode_bits(access_lists: AccessLists, failed: Mapping[bytes, int]) -> bytes:
    """Return the bits of a block.

    Args:
        access_lists: Of its transactions.
        failed: By transaction, the bits of its own messages that do not hold.
    """
    bits = place = 0
    for transaction, access_list in access_lists:
        bits |= failed.get(transaction, 0) << place
        place += count_messages(access_list)
    return bits.to_bytes((bits.bit_length() + 7) // 8, "big")


def decode_bits(data: bytes, access_lists: AccessLists) -> dict[bytes, int]:
    """Return the bits of invalid messages by transaction, from those of the block."""
    bits = int.from_bytes(data, "big")
    failed = {}
    for transaction, access_list in access_lists:
        count = count_messages(access_list)
        own = bits & ((1 << count) - 1)
        if own:
            failed[transaction] = own
        bits >>= count
    return failed


def without_room(
    access_lists: AccessLists, failed: Mapping[bytes, int], *, most: int
) -> frozenset[int]:
    """Return the indexes of transactions that a block cannot contain, because it has too few bits for their messages.

    Args:
        access_lists: Of the transactions that could be in the block.
        failed: By transaction, the bits of its own messages that do not hold.
        most: The number of bits that the header has.
    """
    out, place = [], 0
    for index, (transaction, access_list) in enumerate(access_lists):
        if (failed.get(transaction, 0) << place).bit_length() > most:
            out.append(index)
        else:
            place += count_messages(access_list)
    return frozenset(out)
