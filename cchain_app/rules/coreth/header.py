"""The header of a block of coreth (coreth.md 3): Ethereum's first fields, then its own, most of them optional.

Encoding ends with the last field that has a value; a field without one before it is written as zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, ClassVar, Final

from typing_extensions import override

from cchain_app.blocks.header import Header, MalformedHeader
from chainvm.port import MILLISECONDS
from primitives import rlp
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import keccak256

_REQUIRED: Final = 16


class CorethHeaderReason(StrEnum):
    """Why bytes are not a header of coreth."""

    ENCODING = "rlp: {problem} for customtypes.HeaderSerializable"
    FIELD = "rlp: {problem} for {kind}, decoding into (types.Header)(customtypes.HeaderSerializable).{field}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorethHeader(Header):
    """A header of coreth. Ethereum's fields that coreth does not have are None: withdrawals root and requests hash."""

    has_version: ClassVar[bool] = True

    ext_data_hash: Hash = ZERO_HASH
    """Keccak-256 of the RLP of the body's extra data; zero in block 0."""
    ext_data_gas_used: int | None = None
    """Gas of the atomic transactions; since Apricot phase 4, like the next one."""
    block_gas_cost: int | None = None
    """Gas that the block's tips have to buy; 0 since Granite."""
    time_milliseconds: int | None = None
    """Unix milliseconds; since Granite, like the next one."""
    min_delay_excess: int | None = None
    """The vote on the time between blocks (ACP-226)."""
    target_exponent: int | None = None
    """Since Helicon, like the rest."""
    min_price_exponent: int | None = None
    settled_height: int | None = None
    settled_gas_unix: int | None = None
    settled_gas_numerator: int | None = None
    settled_excess: int | None = None

    @override
    def __post_init__(self) -> None:
        """Accept gaps among the optional fields: they are written as zero."""

    @property
    @override
    def raw(self) -> bytes:
        """The header as RLP, encoded on every access."""
        values = [getattr(self, name) for name in _READERS]
        while values[-1] is None:
            values.pop()
        return rlp.encode_list(
            rlp.encode_bytes(value) if isinstance(value, bytes) else rlp.encode_uint(value or 0)
            for value in values
        )

    @property
    def milliseconds(self) -> int:
        """The block's time in Unix milliseconds; before Granite whole seconds."""
        if self.time_milliseconds is None:
            return self.timestamp * MILLISECONDS
        return self.time_milliseconds


def ext_data_hash(ext_data: bytes) -> Hash:
    """Return the hash with which a header commits to the body's extra data; no bytes have a hash too."""
    return keccak256(rlp.encode_bytes(ext_data))


def is_header_of_coreth(data: bytes) -> bool:
    """Return whether the bytes of a stored header are coreth's: the 16th field is a hash, Ethereum's is the base fee."""
    items = list(islice(rlp.iterate(rlp.read_only_item(data)), _REQUIRED))
    return len(items) == _REQUIRED and len(items[-1]) == len(ZERO_HASH)


def decode_header(data: bytes) -> CorethHeader:
    """Read a header.

    Raises:
        MalformedHeader: The bytes are not the canonical RLP of a header.
    """
    try:
        item = rlp.read_only_item(data)
        items = list(islice(rlp.iterate(item), len(_READERS) + 1))
    except rlp.RlpError as error:
        raise MalformedHeader(CorethHeaderReason.ENCODING, problem=error.reason) from error
    if type(item) is not rlp.RlpList:
        raise MalformedHeader(CorethHeaderReason.ENCODING, problem=rlp.RlpReason.EXPECTED_LIST)
    fields = {
        name: _read(name, item)
        for name, item in zip(_READERS, items[: len(_READERS)], strict=False)
    }
    if len(items) < _REQUIRED:
        raise MalformedHeader(CorethHeaderReason.ENCODING, problem=rlp.RlpReason.TOO_FEW_ELEMENTS)
    if len(items) > len(_READERS):
        raise MalformedHeader(CorethHeaderReason.ENCODING, problem=rlp.RlpReason.TOO_MANY_ELEMENTS)
    return CorethHeader(**fields)


def _read(name: str, item: bytes) -> Any:
    read, kind, field = _READERS[name]
    try:
        return read(item)
    except rlp.RlpError as error:
        raise MalformedHeader(
            CorethHeaderReason.FIELD, problem=error.reason, kind=kind, field=field
        ) from error


def _big(item: bytes) -> int:
    """Read an integer of any size."""
    if type(item) is rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_STRING)
    if item[:1] == b"\0":
        raise rlp.RlpError(rlp.RlpReason.NON_CANONICAL_INTEGER)
    return int.from_bytes(item, "big")


def _fixed(size: int) -> Callable[[bytes], bytes]:
    return lambda item: rlp.read_fixed(item, size)


_HASH: Final = (_fixed(32), "common.Hash")
_BIG: Final = (_big, "*big.Int")
_UINT64: Final = (rlp.read_uint64, "uint64")

_READERS: Final[dict[str, tuple[Callable[[bytes], Any], str, str]]] = {
    "parent_hash": (*_HASH, "ParentHash"),
    "ommers_hash": (*_HASH, "UncleHash"),
    "coinbase": (_fixed(20), "common.Address", "Coinbase"),
    "state_root": (*_HASH, "Root"),
    "transactions_root": (*_HASH, "TxHash"),
    "receipts_root": (*_HASH, "ReceiptHash"),
    "logs_bloom": (_fixed(256), "types.Bloom", "Bloom"),
    "difficulty": (*_BIG, "Difficulty"),
    "number": (*_BIG, "Number"),
    "gas_limit": (*_UINT64, "GasLimit"),
    "gas_used": (*_UINT64, "GasUsed"),
    "timestamp": (*_UINT64, "Time"),
    "extra_data": (rlp.read_bytes, "[]uint8", "Extra"),
    "mix_hash": (*_HASH, "MixDigest"),
    "nonce": (_fixed(8), "types.BlockNonce", "Nonce"),
    "ext_data_hash": (*_HASH, "ExtDataHash"),
    "base_fee": (*_BIG, "BaseFee"),
    "ext_data_gas_used": (*_BIG, "ExtDataGasUsed"),
    "block_gas_cost": (*_BIG, "BlockGasCost"),
    "blob_gas_used": (*_UINT64, "BlobGasUsed"),
    "excess_blob_gas": (*_UINT64, "ExcessBlobGas"),
    "parent_beacon_block_root": (*_HASH, "ParentBeaconRoot"),
    "time_milliseconds": (*_UINT64, "TimeMilliseconds"),
    "min_delay_excess": (*_UINT64, "MinDelayExcess"),
    "target_exponent": (*_UINT64, "TargetExponent"),
    "min_price_exponent": (*_UINT64, "MinPriceExponent"),
    "settled_height": (*_UINT64, "SettledHeight"),
    "settled_gas_unix": (*_UINT64, "SettledGasUnix"),
    "settled_gas_numerator": (*_UINT64, "SettledGasNumerator"),
    "settled_excess": (*_UINT64, "SettledExcess"),
}
"""How each field is read, in order, with the names of its type and of the field in the reference's messages."""
