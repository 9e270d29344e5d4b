"""The header of blocks of subnet-evm: Ethereum's fields up to the base fee, then fields of its own (etna.md 12.4).

The place of a field that does not exist yet is empty if a later one exists.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from typing_extensions import override

from cchain_app.blocks.header import Header, HeaderReason, MalformedHeader
from chainvm.port import MILLISECONDS
from primitives import rlp
from primitives.evm import Hash

DIFFICULTY: Final = 1
"""Difficulty of each block after block 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetEvmHeader(Header):
    """A header of subnet-evm; it has no withdrawals and no requests."""

    block_gas_cost: int | None = None
    """None in block 0; zero since Granite."""
    timestamp_milliseconds: int | None = None
    """Unix milliseconds; since Granite, like the next field."""
    min_delay_excess: int | None = None

    @property
    def milliseconds(self) -> int:
        """The block's time in Unix milliseconds."""
        time = self.timestamp_milliseconds
        return self.timestamp * MILLISECONDS if time is None else time

    @override
    def __post_init__(self) -> None:
        """Accept any fields: each one has its own place."""

    @property
    @override
    def raw(self) -> bytes:
        """The header as RLP, encoded on every access."""
        values = [getattr(self, name) for name in _READERS]
        while values[-1] is None:
            values.pop()
        return rlp.encode_list(map(_encode, values))

    @property
    @override
    def own_fields(self) -> Mapping[str, int]:
        fields = {
            "blockGasCost": self.block_gas_cost,
            "timestampMilliseconds": self.timestamp_milliseconds,
            "minDelayExcess": self.min_delay_excess,
        }
        return {name: value for name, value in fields.items() if value is not None}


def decode_header(data: bytes) -> SubnetEvmHeader:
    """Read a header.

    Raises:
        MalformedHeader: The bytes are not the canonical RLP of a header.
    """
    try:
        return SubnetEvmHeader(**_read_fields(data))
    except rlp.RlpError as error:
        raise MalformedHeader(HeaderReason.HEADER_ENCODING, problem=error.reason) from error


def _encode(value: int | bytes | None) -> bytes:
    if value is None:
        return rlp.encode_bytes(b"")
    return rlp.encode_uint(value) if isinstance(value, int) else rlp.encode_bytes(value)


def _read_fields(data: bytes) -> dict[str, Any]:
    item = rlp.read_only_item(data)
    if type(item) is not rlp.RlpList:
        raise rlp.RlpError(rlp.RlpReason.EXPECTED_LIST)
    items = list(islice(rlp.iterate(item), len(_READERS) + 1))
    if len(items) < _FEWEST:
        raise rlp.RlpError(rlp.RlpReason.TOO_FEW_ELEMENTS)
    if len(items) > len(_READERS):
        raise rlp.RlpError(rlp.RlpReason.TOO_MANY_ELEMENTS)
    found = {name: read(one) for (name, read), one in zip(_READERS.items(), items, strict=False)}
    if found.get("parent_beacon_block_root") is None:  # before Etna
        found |= {"blob_gas_used": None, "excess_blob_gas": None}
    if not found["number"]:
        found["block_gas_cost"] = found.get("block_gas_cost") or None
    return found


def _fixed(size: int) -> Callable[[bytes], bytes]:
    return lambda item: rlp.read_fixed(item, size)


def _read_root(item: bytes) -> Hash | None:
    return Hash(rlp.read_fixed(item, 32)) if item else None


_READERS: Final[dict[str, Callable[[bytes], Any]]] = {
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
    "block_gas_cost": rlp.read_uint256,
    "blob_gas_used": rlp.read_uint64,
    "excess_blob_gas": rlp.read_uint64,
    "parent_beacon_block_root": _read_root,
    "timestamp_milliseconds": rlp.read_uint64,
    "min_delay_excess": rlp.read_uint64,
}
_FEWEST: Final = list(_READERS).index("base_fee") + 1
