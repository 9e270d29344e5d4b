"""An accepted block as a value: its header, transactions and receipts, and the whole block as RLP.

Uncles are in imported blocks of other chains only. Withdrawals (EIP-4895) are also in blocks with a payload.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cchain_app.blocks.header import Header, decode_header, encode_header
from cchain_app.blocks.receipt import Receipt
from cchain_app.txs.transaction import Transaction
from primitives import rlp
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

_LEGACY_PREFIX = b"\xc0"


EMPTY_LIST: Final = b"\xc0"
"""No uncles, or no withdrawals, as RLP."""

_VERSION: Final = b"\x80"
"""The version of the body of coreth's blocks, 0, as RLP."""

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


def encode_block(
    header: Header,
    transactions: Sequence[bytes],
    ommers: Sequence[Header] = (),
    withdrawals: Sequence[Withdrawal] = (),
    payload: bytes | None = None,
) -> bytes:
    """Return the block with the given header, signed envelopes, uncles, withdrawals and payload as RLP."""
    return join_block(
        header.raw,
        transactions,
        ommers=encode_ommers(ommers),
        withdrawals=fourth_item(header, encode_withdrawals(withdrawals)),
        payload=fifth_item(header, payload),
    )


def fourth_item(header: Header, withdrawals: bytes) -> bytes | None:
    """Return the item after the uncles: the withdrawals, given as RLP, or coreth's version; None: there is no such item."""
    if header.has_version:
        return _VERSION
    return None if header.withdrawals_root is None else withdrawals


def fifth_item(header: Header, payload: bytes | None) -> bytes | None:
    """Return the last item, not encoded, which coreth's blocks always have; None: there is no such item."""
    return payload or b"" if header.has_version else payload


def join_block(
    header: bytes,
    transactions: Sequence[bytes],
    *,
    ommers: bytes = EMPTY_LIST,
    withdrawals: bytes | None,
    payload: bytes | None = None,
) -> bytes:
    """Return a block whose parts are RLP already; since Shanghai it has withdrawals, even if there are none.

    Args:
        header: As RLP.
        transactions: Signed envelopes.
        ommers: As RLP.
        withdrawals: As RLP; None: the block has no list of them. In coreth's blocks the version, as RLP.
        payload: The extension's payload, not encoded; None: the block has none.
    """
    body = [header, rlp.encode_list(map(_encode_transaction, transactions)), ommers]
    if withdrawals is not None:
        body.append(withdrawals)
    if payload is not None:
        body.append(rlp.encode_bytes(payload))
    return rlp.encode_list(body)


def _encode_transaction(raw: bytes) -> bytes:
    """Return a legacy transaction, which is a list already, unchanged; wrap the envelope of a typed one."""
    return raw if raw[:1] >= _LEGACY_PREFIX else rlp.encode_bytes(raw)


@dataclass(frozen=True, slots=True)
class AcceptedBlock:
    """A block that is part of the chain; it never changes."""

    header: Header
    hash: Hash
    """Keccak-256 of the header's RLP."""
    size: int
    """Bytes of the block as RLP, in Ethereum's layout: without the payload. In coreth's layout of all of it."""
    transactions: tuple[Transaction, ...]
    receipts: tuple[Receipt, ...]
    """One for each transaction, in the same order."""
    ommers: tuple[Header, ...] = ()
    """Uncles; always empty in blocks of this node, but not in imported blocks of other chains."""
    withdrawals: tuple[Withdrawal, ...] = ()
    """Withdrawals; in blocks of this node those of the payload."""
    payload: bytes | None = None
    """The payload of the chain's extension (`rules.port.BlockExtension`); None: the block has none."""

    @property
    def number(self) -> int:
        """Its height."""
        return self.header.number

    @property
    def raw(self) -> bytes:
        """The whole block as RLP, with its payload, encoded each time: what nodes exchange."""
        return self._encoded(self.payload)

    @property
    def ethereum_raw(self) -> bytes:
        """The block as RLP in Ethereum's layout, without its payload, encoded each time; coreth's whole."""
        return self._encoded(self.payload if self.header.has_version else None)

    def _encoded(self, payload: bytes | None) -> bytes:
        envelopes = [transaction.raw for transaction in self.transactions]
        return encode_block(self.header, envelopes, self.ommers, self.withdrawals, payload)


def make_block(
    header: Header,
    transactions: tuple[Transaction, ...],
    receipts: tuple[Receipt, ...],
    ommers: tuple[Header, ...] = (),
    withdrawals: tuple[Withdrawal, ...] = (),
    *,
    payload: bytes | None = None,
) -> AcceptedBlock:
    """Return a block with its hash and size."""
    envelopes = [transaction.raw for transaction in transactions]
    encoded = header.raw
    whole = join_block(
        encoded,
        envelopes,
        ommers=encode_ommers(ommers),
        withdrawals=fourth_item(header, encode_withdrawals(withdrawals)),
        payload=fifth_item(header, payload if header.has_version else None),
    )
    return AcceptedBlock(
        header, keccak256(encoded), len(whole), transactions, receipts, ommers, withdrawals, payload
    )


def header_only_block(fields: Mapping[str, Any], block_hash: Hash, size: int) -> AcceptedBlock:
    """Return a block of another chain of which only the header is known.

    Args:
        fields: The fields of its header by name, without a gap.
        block_hash: Its hash, which the fields need not have.
        size: Bytes of the whole block as RLP.
    """
    return AcceptedBlock(Header(**fields), block_hash, size, (), ())
