"""The header of a block in Ethereum's layout, and its hash.

The first 15 fields always exist; each fork since London appended one or more, so the number of
fields identifies the fork. coreth has another order and fields of its own (`rules.coreth.header`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import islice
from typing import Any, ClassVar

from primitives import rlp
from primitives.evm import ZERO_HASH, Address, Hash
from primitives.hashing import keccak256
from primitives.reasons import ErrorWithReason

EMPTY_OMMERS_HASH = Hash(
    bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
)
"""keccak256 of the empty list: sha3Uncles of every block without uncles."""

EMPTY_REQUESTS_HASH = Hash(
    bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
)
"""sha256 of nothing: requestsHash of a block without requests (EIP-7685)."""

_FIRST_OPTIONAL = 15


class HeaderReason(StrEnum):
    """Why something is not a valid header."""

    # A field of a later fork is present, but one of an earlier fork is missing.
    HEADER_GAP = "header has fields of later forks, but no {missing}"
    # Not the canonical RLP of a header; the cause is the `RlpError`.
    HEADER_ENCODING = "rlp: {problem} for types.Header"


class MalformedHeader(ErrorWithReason):
    """Something that is not a valid header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A block's header; its fields are in the order in which they are hashed.

    Raises:
        MalformedHeader: A fork's field is None although a later fork's is not.
    """

    has_version: ClassVar[bool] = False
    """Whether the body has coreth's last items, a version and extra data, instead of withdrawals."""

    parent_hash: Hash
    ommers_hash: Hash = EMPTY_OMMERS_HASH
    coinbase: Address
    """Recipient of the tips: `miner` in JSON."""
    state_root: Hash
    transactions_root: Hash
    receipts_root: Hash
    logs_bloom: bytes
    """256 bytes; see `receipt.bloom_of`."""
    difficulty: int = 0
    number: int
    gas_limit: int
    gas_used: int
    timestamp: int
    """Unix seconds."""
    extra_data: bytes = b""
    """At most 32 bytes."""
    mix_hash: Hash = ZERO_HASH
    """PREVRANDAO since Paris."""
    nonce: bytes = bytes(8)
    """8 bytes."""
    base_fee: int | None = None
    """Wei per gas; since London."""
    withdrawals_root: Hash | None = None
    """Since Shanghai."""
    blob_gas_used: int | None = None
    """Since Cancun, like the next two."""
    excess_blob_gas: int | None = None
    parent_beacon_block_root: Hash | None = None
    requests_hash: Hash | None = None
    """Since Prague."""

    def __post_init__(self) -> None:
        """Refuse a gap among the optional fields, which the encoding could not represent."""
        missing = None
        for field in _OPTIONAL:
            if getattr(self, field) is None:
                missing = missing or field
            elif missing:
                raise MalformedHeader(HeaderReason.HEADER_GAP, missing=missing)

    @property
    def raw(self) -> bytes:
        """The header as RLP, encoded on every access."""
        return encode_header(self)

    @property
    def own_fields(self) -> Mapping[str, int]:
        """The fields that Ethereum's headers do not have, by their names in JSON."""
        return {}

    @property
    def hash(self) -> Hash:
        """The block's hash; computed on every access, so store it."""
        return keccak256(self.raw)


_FIELDS = tuple(field.name for field in fields(Header))
_OPTIONAL = _FIELDS[_FIRST_OPTIONAL:]


def encode_header(header: Header) -> bytes:
    """Return the header as RLP, whose Keccak-256 is the block's hash."""
    values = (getattr(header, name) for name in _FIELDS)
    return rlp.encode_list(
        rlp.encode_uint(value) if isinstance(value, int) else rlp.encode_bytes(value)
        for value in values
        if value is not None
    )


def decode_header(data: bytes) -> Header:
    """Read a header.

    Raises:
        MalformedHeader: The bytes are not the canonical RLP of a header of any fork, or the number of fields fits no
            fork.
    """
    try:
        return Header(**_read_fields(data))
    except rlp.RlpError as error:
        raise MalformedHeader(HeaderReason.HEADER_ENCODING, problem=error.reason) from error


def _read_fields(data: bytes) -> dict[str, Any]:
    item = rlp.read_only_item(data)
    if type(item) is not rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_LIST)
    items = list(islice(rlp.iterate(item), len(_READERS) + 1))
    if len(items) < _FIRST_OPTIONAL:
        raise rlp.RlpError(rlp.RlpReason.TOO_FEW_ELEMENTS)
    if len(items) > len(_READERS):
        raise rlp.RlpError(rlp.RlpReason.TOO_MANY_ELEMENTS)
    return {name: read(item) for (name, read), item in zip(_READERS.items(), items, strict=False)}


def _fixed(size: int) -> Callable[[bytes], bytes]:
    return lambda item: rlp.read_fixed(item, size)


_READERS: dict[str, Callable[[bytes], Any]] = {
    "parent_hash": _fixed(32),
    "ommers_hash": _fixed(32),
    "coinbase": _fixed(20),
    "state_root": _fixed(32),
    "transactions_root": _fixed(32),
    "receipts_root": _fixed(32),
    "logs_bloom": _fixed(256),
    "difficulty": rlp.read_uint256,
    "number": rlp.read_uint64,
    "gas_limit": rlp.read_uint64,
    "gas_used": rlp.read_uint64,
    "timestamp": rlp.read_uint64,
    "extra_data": rlp.read_bytes,
    "mix_hash": _fixed(32),
    "nonce": _fixed(8),
    "base_fee": rlp.read_uint256,
    "withdrawals_root": _fixed(32),
    "blob_gas_used": rlp.read_uint64,
    "excess_blob_gas": rlp.read_uint64,
    "parent_beacon_block_root": _fixed(32),
    "requests_hash": _fixed(32),
}
