"""The parts of a block's body besides transactions, as values and as RLP: uncles, and withdrawals (EIP-4895).

Blocks of this node have neither; imported blocks of other chains may have both.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks.header import Header, decode_header, encode_header
from primitives import rlp
from primitives.evm import Address

EMPTY_LIST: Final = b"\xc0"
"""No uncles, or no withdrawals, as RLP."""

_WEI_OF_GWEI: Final = 10**9

_FIELDS: Final = 4
"""Number of fields of a withdrawal."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawal from the beacon chain to an account."""

    index: int
    validator_index: int
    address: Address
    amount: int
    """Gwei."""

    @property
    def wei(self) -> int:
        """The amount in wei."""
        return self.amount * _WEI_OF_GWEI


def encode_ommers(ommers: Iterable[Header]) -> bytes:
    """Return uncles' headers as RLP, whose Keccak-256 is a header's sha3Uncles."""
    return rlp.encode_list(map(encode_header, ommers))


def decode_ommers(payload: bytes) -> tuple[Header, ...]:
    """Read uncles from a list's payload.

    Raises:
        RlpError: It is not the canonical RLP of a list of items.
        MalformedHeader: One of these is not a header.
    """
    return tuple(decode_header(bytes(item)) for item in _encodings(payload))


def encode_withdrawal(withdrawal: Withdrawal) -> bytes:
    """Return a withdrawal as RLP, as the withdrawals root commits to it."""
    return rlp.encode_list(
        (
            rlp.encode_uint(withdrawal.index),
            rlp.encode_uint(withdrawal.validator_index),
            rlp.encode_bytes(withdrawal.address),
            rlp.encode_uint(withdrawal.amount),
        )
    )


def encode_withdrawals(withdrawals: Iterable[Withdrawal]) -> bytes:
    """Return the list of a block's withdrawals as RLP."""
    return rlp.encode_list(map(encode_withdrawal, withdrawals))


def decode_withdrawals(payload: bytes) -> tuple[Withdrawal, ...]:
    """Read withdrawals from a list's payload.

    Raises:
        RlpError: It is not the canonical RLP of a list of withdrawals.
    """
    return tuple(map(_withdrawal, rlp.iterate(payload)))


def _withdrawal(item: bytes) -> Withdrawal:
    if type(item) is not rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_LIST)
    index, validator_index, address, amount = rlp.split(item, _FIELDS)
    return Withdrawal(
        rlp.read_uint64(index),
        rlp.read_uint64(validator_index),
        Address(rlp.read_fixed(address, 20)),
        rlp.read_uint64(amount),
    )


def _encodings(payload: bytes) -> Iterator[bytes]:
    """Return the encoding of each element, where `rlp.iterate` returns its payload."""
    position, end = 0, len(payload)
    while position < end:
        _, stop = rlp.read_item(payload, position, end)
        yield payload[position:stop]
        position = stop
