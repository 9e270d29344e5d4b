"""A block as it came from another node: parsed, but not trusted; and a block as consensus handles it.

Only the form is checked here; `verification` compares the fields with their required values. A header can be
read without the rest of the block, at a cost that does not depend on the rest. Consensus needs only the header of an
`EvmBlock`, so the rest is parsed or encoded on demand.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, decode_ommers, decode_withdrawals
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused
from cchain_app.blocks.header import Header, MalformedHeader, decode_header
from cchain_app.txs.transaction import TX_BASE_COST, InvalidTransaction, TransactionReason
from primitives import rlp
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.ids import ID

MAX_BYTES = 2 * 1024 * 1024
"""Maximum size of a block, which is that of a message between nodes and below that of EIP-7934."""

MIN_TRANSACTION = 12
"""Bytes of a signed envelope: even a legacy transaction whose nine fields are as short as possible has more."""

MIN_GAS = TX_BASE_COST // 2
"""Minimum gas of a transaction: its intrinsic gas less a refund of up to one half (before EIP-3529)."""

MAX_WITHDRAWALS_BYTES = 40_960
"""Maximum size of the withdrawals of a block with a payload: each follows from 60 bytes of the payload at least, and
has at most 50 bytes."""

_NO_TYPE = b"\x80"
"""From this first byte on an envelope has no type (EIP-2718)."""

_WITHOUT_WITHDRAWALS = 3
_WITH_WITHDRAWALS = 4


@dataclass(frozen=True, slots=True)
class CandidateBlock:
    """A block that may become part of the chain."""

    header: Header
    transactions: tuple[bytes, ...]
    """Signed envelopes, not parsed yet."""
    hash: Hash
    """Keccak-256 of the header's RLP."""
    raw: bytes
    """The whole block as RLP."""
    ommers: tuple[Header, ...] = ()
    """Uncles; `parse_foreign_block` reads them."""
    withdrawals: tuple[Withdrawal, ...] = ()
    """Withdrawals; `parse_foreign_block` reads them, and `parse_block` those of a block with a payload."""
    payload: bytes | None = None
    """The payload of the chain's extension, not parsed yet; None: the block has none."""


@dataclass(frozen=True, slots=True)
class CandidateHeader:
    """The header of a block that may be invalid; the rest of the block is not parsed."""

    header: Header
    hash: Hash


@dataclass(frozen=True, slots=True)
class EvmBlock:
    """A block of an EVM chain, either parsed or executed; a `chainvm.port.Block`.

    Two blocks are equal if their headers are equal.
    """

    header: Header
    hash: Hash
    """Keccak-256 of the header's RLP."""
    _source: bytes | CandidateBlock | AcceptedBlock = field(compare=False, repr=False)

    @property
    def block_id(self) -> ID:
        """Its hash."""
        return ID(self.hash)

    @property
    def parent_id(self) -> ID:
        """Its parent's hash."""
        return ID(self.header.parent_hash)

    @property
    def height(self) -> int:
        """Its number."""
        return self.header.number

    @property
    def raw(self) -> bytes:
        """The whole block as RLP; of an executed block it is encoded each time."""
        source = self._source
        if isinstance(source, bytes):
            return source
        return source.raw

    def candidate(self, parse: Callable[[bytes], CandidateBlock]) -> CandidateBlock:
        """Return the whole block, parsed.

        Args:
            parse: Parses a block (`rules.port.BlockFormat.parse_block`).

        Raises:
            InvalidBlock: By a subclass, as `parse` does.
        """
        source = self._source
        return source if isinstance(source, CandidateBlock) else parse(self.raw)


def unparsed_block(header: CandidateHeader, raw: bytes) -> EvmBlock:
    """Return a block of which only the header has been read."""
    return EvmBlock(header.header, header.hash, raw)


def evm_block(block: CandidateBlock | AcceptedBlock) -> EvmBlock:
    """Return a parsed or executed block as a block for consensus."""
    return EvmBlock(block.header, block.hash, block)


DecodeHeader = Callable[[bytes], Header]
"""Reads a header; raises `MalformedHeader`."""


def parse_header(raw: bytes, decode: DecodeHeader = decode_header) -> CandidateHeader:
    """Read the header of a block, without the rest.

    Args:
        raw: The whole block.
        decode: Reads a header of the chain's format.

    Raises:
        BlockRefused: It has more bytes than a message between nodes can have, or does not begin as the canonical RLP
            of a block does.
    """
    _check_size(raw)
    with _reading():
        block = _list(rlp.read_only_item(raw))
        _, stop = rlp.read_item(block, 0, len(block))
        encoded = bytes(block[:stop])
        return CandidateHeader(decode(encoded), keccak256(encoded))


def parse_block(raw: bytes, decode: DecodeHeader = decode_header) -> CandidateBlock:
    """Read a block of a chain whose blocks have no payload.

    Args:
        raw: The whole block.
        decode: Reads a header of the chain's format.

    Raises:
        BlockRefused: It has more bytes than a message between nodes can have, is not the canonical RLP of a block, has
            a transaction that is too short or more transactions than its gas limit allows, has uncles, has withdrawals
            and no payload, or only one of a list of withdrawals and its root.
        TransactionRefused: One of its transactions has an unknown type.
    """
    return _parse(raw, decode, may_have_payload=False)


def parse_block_with_payload(raw: bytes) -> CandidateBlock:
    """Read a block whose body may have a fifth item: a payload. Raises as `parse_block`."""
    return _parse(raw, decode_header, may_have_payload=True)


def _parse(raw: bytes, decode: DecodeHeader, *, may_have_payload: bool) -> CandidateBlock:
    _check_size(raw)
    with _reading():
        parts, payload = _parts(raw, may_have_payload=may_have_payload)
        header = decode(parts[0])
        transactions = tuple(
            _envelopes(parts[1], max(header.gas_limit, header.gas_used) // MIN_GAS)
        )
        withdrawals = () if payload is None else _withdrawals(parts)
    _check_empty(parts, header, has_payload=payload is not None)
    return CandidateBlock(
        header, transactions, keccak256(parts[0]), raw, withdrawals=withdrawals, payload=payload
    )


def parse_foreign_block(raw: bytes) -> CandidateBlock:
    """Read a block of a chain that other clients made: of any size, with uncles and withdrawals.

    Raises:
        BlockRefused: As `parse_block`, except for the size, uncles and withdrawals.
        TransactionRefused: One of its transactions has an unknown type.
    """
    with _reading():
        parts, _ = _parts(raw)
        header = decode_header(parts[0])
        transactions = tuple(
            _envelopes(parts[1], max(header.gas_limit, header.gas_used) // MIN_GAS)
        )
        ommers = decode_ommers(parts[2])
        withdrawals = decode_withdrawals(parts[3]) if len(parts) == _WITH_WITHDRAWALS else ()
    _check_withdrawals(parts, header)
    return CandidateBlock(header, transactions, keccak256(parts[0]), raw, ommers, withdrawals)


@contextmanager
def _reading() -> Iterator[None]:
    """Raise `BlockRefused` for bytes that cannot be read in the body."""
    try:
        yield
    except rlp.RlpError as error:
        raise BlockRefused(
            BlockReason.BLOCK_ENCODING, problem=f"rlp: {error.reason} for types.Block"
        ) from error
    except MalformedHeader as error:
        raise BlockRefused(BlockReason.BLOCK_ENCODING, problem=str(error)) from error


def _check_size(raw: bytes) -> None:
    if len(raw) > MAX_BYTES:
        raise BlockRefused(BlockReason.BLOCK_TOO_LARGE, size=len(raw), most=MAX_BYTES)


def _parts(raw: bytes, *, may_have_payload: bool = False) -> tuple[list[bytes], bytes | None]:
    """Return the block's header as RLP with the contents of its lists, and its payload."""
    block = _list(rlp.read_only_item(raw))
    header, stop = rlp.read_item(block, 0, len(block))
    del header
    most = _WITH_WITHDRAWALS + may_have_payload
    parts, payload = [bytes(block[:stop])], None
    for item in islice(rlp.iterate(block[stop:]), most):
        if may_have_payload and len(parts) == _WITH_WITHDRAWALS and payload is None:
            payload = rlp.read_bytes(item)
        else:
            parts.append(_list(item))
    if len(parts) < _WITHOUT_WITHDRAWALS:
        raise rlp.RlpError(rlp.RlpReason.TOO_FEW_ELEMENTS)
    if len(parts) > _WITH_WITHDRAWALS:
        raise rlp.RlpError(rlp.RlpReason.TOO_MANY_ELEMENTS)
    return parts, payload


def _list(item: bytes) -> bytes:
    if type(item) is not rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_LIST)
    return item


def _envelopes(payload: bytes, most: int) -> Iterator[bytes]:
    """Read transactions: legacy ones are lists and stay unchanged, typed ones are strings."""
    index, position, end = 0, 0, len(payload)
    while position < end:
        if index == most:
            raise BlockRefused(BlockReason.TOO_MANY_TRANSACTIONS, most=most)
        item, stop = rlp.read_item(payload, position, end)
        if stop - position < MIN_TRANSACTION:
            raise BlockRefused(BlockReason.TRANSACTION_TOO_SHORT, index=index, size=stop - position)
        if type(item) is rlp.RlpList:
            yield bytes(payload[position:stop])
        elif item[:1] < _NO_TYPE:
            yield item
        else:  # a legacy transaction as a string would give the same root with other bytes
            raise TransactionRefused(
                index, InvalidTransaction(TransactionReason.TYPE_NOT_SUPPORTED)
            )
        position = stop
        index += 1


def _withdrawals(parts: list[bytes]) -> tuple[Withdrawal, ...]:
    """Read the withdrawals of a block with a payload, which are not many."""
    encoded = parts[3] if len(parts) == _WITH_WITHDRAWALS else b""
    if len(encoded) > MAX_WITHDRAWALS_BYTES:
        raise BlockRefused(
            BlockReason.WITHDRAWALS_TOO_LARGE, size=len(encoded), most=MAX_WITHDRAWALS_BYTES
        )
    return decode_withdrawals(encoded)


def _check_empty(parts: list[bytes], header: Header, *, has_payload: bool) -> None:
    if parts[2]:
        raise BlockRefused(BlockReason.UNCLES_NOT_EMPTY)
    _check_withdrawals(parts, header)
    if len(parts) == _WITH_WITHDRAWALS and parts[3] and not has_payload:
        raise BlockRefused(BlockReason.WITHDRAWALS_NOT_EMPTY)


def _check_withdrawals(parts: list[bytes], header: Header) -> None:
    if len(parts) < _WITH_WITHDRAWALS:
        if header.withdrawals_root is not None:
            raise BlockRefused(BlockReason.WITHDRAWALS_MISSING)
    elif header.withdrawals_root is None:
        raise BlockRefused(BlockReason.WITHDRAWALS_UNEXPECTED)
