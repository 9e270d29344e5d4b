"""The bytes of coreth's blocks, and the checks of a block that need no parent (coreth.md 4, 6 A).

A body has five items: header, transactions, uncles (none), version (0) and extra data, which are the atomic
transactions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.atomic.transactions import AtomicTx, parse, split_payload
from cchain_app.blocks.accepted import EMPTY_LIST, AcceptedBlock, make_block
from cchain_app.blocks.assembly import OrderedRoot
from cchain_app.blocks.candidate import MAX_BYTES, CandidateBlock, CandidateHeader
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.header import MalformedHeader
from cchain_app.config import BLACKHOLE
from cchain_app.genesis import Genesis
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.gas_state import STATE_SIZE
from cchain_app.rules.coreth.genesis import genesis_header
from cchain_app.rules.coreth.header import CorethHeader, decode_header, ext_data_hash
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from cchain_app.rules.coreth.window import WINDOW_SIZE
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.transaction import TX_BASE_COST, InvalidTransaction
from primitives import rlp, uint64
from primitives.codec_errors import CodecError
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from primitives.upgrades import UpgradeTimes
from utxo.errors import InvalidTx

_ITEMS: Final = 5
_LEGACY: Final = 0xC0
_MAX_BASE_FEE_BITS: Final = 256
_MAX_LAUNCH_EXTRA: Final = 64
_GWEI: Final = 10**9
_LEAST_PRICES: Final = ((CorethPhase.APRICOT_1, 470 * _GWEI), (CorethPhase.APRICOT_3, 225 * _GWEI))
"""The least price of gas in blocks before each of these phases, in wei."""


class BlockParts(NamedTuple):
    """A block, whose meaning is not checked."""

    header: CorethHeader
    header_raw: bytes
    transactions: tuple[bytes, ...]
    """Signed envelopes."""
    ommers: bytes
    """The list of uncles as RLP."""
    version: int
    ext_data: bytes


def split_block(raw: bytes) -> BlockParts:
    """Read a block's items.

    Raises:
        BlockRefused: It has more bytes than a message between nodes can have, or is not the canonical RLP of a block.
    """
    items = _items(raw)
    try:
        header = decode_header(items[0])
    except MalformedHeader as error:
        raise BlockRefused(CorethReason.HEADER, problem=error) from error
    transactions = tuple(_envelopes(_list(items[1], "[]*types.Transaction"), header))
    _list(items[2], "[]*types.Header")
    return BlockParts(
        header, items[0], transactions, items[2], _version(items[3]), _string(items[4], "[]uint8")
    )


def _items(raw: bytes) -> list[bytes]:
    """Return the encodings of a block's five items."""
    if len(raw) > MAX_BYTES:
        raise BlockRefused(BlockReason.BLOCK_TOO_LARGE, size=len(raw), most=MAX_BYTES)
    if not raw:
        raise BlockRefused(CorethReason.EMPTY_INPUT)
    try:
        body = rlp.read_only_item(raw)
        if type(body) is not rlp.RlpList:
            raise BlockRefused(CorethReason.NOT_A_LIST)
        items: list[bytes] = []
        position = 0
        while position < len(body) and len(items) < _ITEMS:
            _, stop = rlp.read_item(body, position, len(body))
            items.append(bytes(body[position:stop]))
            position = stop
    except rlp.RlpError as error:
        raise BlockRefused(CorethReason.ENCODING, problem=error.reason) from error
    if len(items) > _VERSION_AT:
        _version(items[_VERSION_AT])
    if len(items) < _ITEMS:
        raise BlockRefused(CorethReason.TOO_FEW_ITEMS)
    if position < len(body):
        raise BlockRefused(CorethReason.TOO_MANY_ITEMS)
    return items


_VERSION_AT: Final = 3


def _list(encoded: bytes, kind: str) -> bytes:
    item = rlp.read_only_item(encoded)
    if type(item) is not rlp.RlpList:
        raise BlockRefused(CorethReason.ITEM, problem=rlp.RlpReason.EXPECTED_LIST, kind=kind)
    return item


def _string(encoded: bytes, kind: str) -> bytes:
    try:
        return bytes(rlp.read_bytes(rlp.read_only_item(encoded)))
    except rlp.RlpError as error:
        raise BlockRefused(CorethReason.ITEM, problem=error.reason, kind=kind) from error


def _version(encoded: bytes) -> int:
    try:
        item = rlp.read_only_item(encoded)
        version = rlp.read_uint64(item)
    except rlp.RlpError as error:
        raise BlockRefused(CorethReason.ITEM, problem=error.reason, kind="uint32") from error
    if version >> 32:
        raise BlockRefused(CorethReason.ITEM, problem=rlp.RlpReason.INPUT_TOO_LONG, kind="uint32")
    return version


def _envelopes(payload: bytes, header: CorethHeader) -> Iterator[bytes]:
    """Read transactions: legacy ones are lists, typed ones strings. There cannot be more than the gas allows."""
    most = max(header.gas_limit, header.gas_used) // TX_BASE_COST
    index, position = 0, 0
    while position < len(payload):
        try:
            item, stop = rlp.read_item(payload, position, len(payload))
        except rlp.RlpError as error:
            raise BlockRefused(CorethReason.ENCODING, problem=error.reason) from error
        if type(item) is not rlp.RlpList and (len(item) <= 1 or item[0] >= _LEGACY):
            raise BlockRefused(CorethReason.TRANSACTION_TOO_SHORT)
        if index == most:
            raise BlockRefused(BlockReason.TOO_MANY_TRANSACTIONS, most=most)
        yield bytes(payload[position:stop]) if type(item) is rlp.RlpList else bytes(item)
        position = stop
        index += 1


@dataclass(frozen=True, slots=True)
class CorethFormat:
    """Blocks of coreth; a `rules.port.BlockFormat`."""

    ordered_root: OrderedRoot
    """Computes the root of a block's transactions."""
    upgrades: UpgradeTimes

    decode_header = staticmethod(decode_header)

    def parse_header(self, raw: bytes) -> CandidateHeader:
        """Read the header of a block, without the rest.

        Raises:
            BlockRefused: It has more bytes than a message between nodes can have, does not begin as the canonical RLP of
                a block does, or its number has more than 64 bits.
        """
        if len(raw) > MAX_BYTES:
            raise BlockRefused(BlockReason.BLOCK_TOO_LARGE, size=len(raw), most=MAX_BYTES)
        try:
            body = rlp.read_only_item(raw)
            if type(body) is not rlp.RlpList:
                raise BlockRefused(CorethReason.NOT_A_LIST)
            _, stop = rlp.read_item(body, 0, len(body))
            encoded = bytes(body[:stop])
            header = decode_header(encoded)
        except rlp.RlpError as error:
            raise BlockRefused(CorethReason.ENCODING, problem=error.reason) from error
        except MalformedHeader as error:
            raise BlockRefused(CorethReason.HEADER, problem=error) from error
        _verify_number(header)
        return CandidateHeader(header, keccak256(encoded))

    def parse_block(self, raw: bytes) -> CandidateBlock:
        """Read a block, and check everything that needs no parent.

        Raises:
            BlockRefused: It is not a block, or breaks a rule.
        """
        parts = split_block(raw)
        self._verify_syntax(parts)
        return CandidateBlock(
            parts.header,
            parts.transactions,
            keccak256(parts.header_raw),
            raw,
            payload=parts.ext_data or None,
        )

    def genesis_block(self, genesis: Genesis, state_root: Hash) -> AcceptedBlock:
        """Return block 0."""
        return make_block(genesis_header(genesis, state_root), (), ())

    def _verify_syntax(self, parts: BlockParts) -> None:
        header = parts.header
        phase = phase_at(self.upgrades, header.timestamp)
        if phase >= CorethPhase.HELICON:
            raise BlockRefused(CorethReason.HELICON)
        _verify_ext_data(parts.ext_data, phase)
        _verify_number(header)
        _verify_constants(header)
        _verify_extra_length(len(header.extra_data), phase)
        if parts.version:
            raise BlockRefused(CorethReason.VERSION, have=parts.version)
        root = self.ordered_root(parts.transactions)
        if header.transactions_root != root:
            raise BlockRefused(
                CorethReason.TRANSACTIONS_ROOT,
                have=header.transactions_root.hex(),
                want=root.hex(),
            )
        uncles = keccak256(parts.ommers)
        if header.ommers_hash != uncles:
            raise BlockRefused(
                CorethReason.UNCLE_HASH, have=header.ommers_hash.hex(), want=uncles.hex()
            )
        if header.coinbase != BLACKHOLE:
            raise BlockRefused(
                CorethReason.COINBASE,
                have=checksum_address(header.coinbase),
                want=checksum_address(BLACKHOLE),
            )
        if parts.ommers != EMPTY_LIST:
            raise BlockRefused(CorethReason.UNCLES)
        _verify_prices(parts.transactions, phase)
        _verify_fee_fields(header, phase)
        _verify_blob_fields(header, phase)
        _verify_ext_data_hash(header, parts.ext_data, phase)
        if not parts.transactions and not parts.ext_data:
            raise BlockRefused(CorethReason.EMPTY_BLOCK)


def atomic_transactions(ext_data: bytes | None, phase: CorethPhase) -> tuple[AtomicTx, ...]:
    """Return the atomic transactions of a block's extra data: before Apricot phase 5 it is a single one.

    Raises:
        CodecError: The bytes are not atomic transactions.
        InvalidTx: The list is empty.
    """
    if not ext_data:
        return ()
    return split_payload(ext_data) if phase >= CorethPhase.APRICOT_5 else (parse(ext_data),)


def _verify_ext_data(ext_data: bytes, phase: CorethPhase) -> None:
    try:
        atomic_transactions(ext_data, phase)
    except InvalidTx as error:
        raise BlockRefused(CorethReason.EXT_DATA_EMPTY) from error
    except CodecError as error:
        is_list = phase >= CorethPhase.APRICOT_5
        reason = CorethReason.EXT_DATA if is_list else CorethReason.EXT_DATA_OF_ONE
        raise BlockRefused(reason, problem=error) from error


def _verify_number(header: CorethHeader) -> None:
    if header.number > uint64.MAX:
        raise BlockRefused(CorethReason.NUMBER_SIZE, have=header.number)


def _verify_constants(header: CorethHeader) -> None:
    if header.difficulty != 1:
        raise BlockRefused(CorethReason.DIFFICULTY, have=header.difficulty)
    if any(header.nonce):
        raise BlockRefused(CorethReason.NONCE, have=int.from_bytes(header.nonce, "big"))
    if header.mix_hash != ZERO_HASH:
        raise BlockRefused(CorethReason.MIX_DIGEST, have=header.mix_hash.hex())


def _verify_extra_length(size: int, phase: CorethPhase) -> None:
    if phase >= CorethPhase.FORTUNA:
        fits, want = size >= STATE_SIZE, f">= {STATE_SIZE}"
    elif phase >= CorethPhase.DURANGO:
        fits, want = size >= WINDOW_SIZE, f">= {WINDOW_SIZE}"
    elif phase >= CorethPhase.APRICOT_3:
        fits, want = size == WINDOW_SIZE, f"{WINDOW_SIZE}"
    elif phase >= CorethPhase.APRICOT_1:
        fits, want = size == 0, "0"
    else:
        fits, want = size <= _MAX_LAUNCH_EXTRA, f"<= {_MAX_LAUNCH_EXTRA}"
    if not fits:
        raise BlockRefused(CorethReason.EXTRA_LENGTH, have=size, want=want)


def _verify_prices(transactions: Sequence[bytes], phase: CorethPhase) -> None:
    """Check the prices of gas in a block without a base fee; the execution refuses what cannot be read."""
    least = next((price for first, price in _LEAST_PRICES if phase < first), None)
    if least is None:
        return
    for raw in transactions:
        try:
            transaction = decode_unsigned(raw)
        except InvalidTransaction:
            continue
        price = transaction.max_fee_per_gas
        if price < least:
            raise BlockRefused(
                CorethReason.PRICE_TOO_LOW, hash=transaction.hash.hex(), have=price, least=least
            )


def _verify_fee_fields(header: CorethHeader, phase: CorethPhase) -> None:
    if phase >= CorethPhase.APRICOT_3:
        if header.base_fee is None:
            raise BlockRefused(CorethReason.NO_BASE_FEE)
        bits = header.base_fee.bit_length()
        if bits > _MAX_BASE_FEE_BITS:
            raise BlockRefused(CorethReason.BASE_FEE_SIZE, bits=bits)
    if phase >= CorethPhase.APRICOT_4:
        if header.block_gas_cost is None:
            raise BlockRefused(CorethReason.NO_BLOCK_GAS_COST)
        if header.block_gas_cost > uint64.MAX:
            raise BlockRefused(CorethReason.BLOCK_GAS_COST_SIZE, have=header.block_gas_cost)


def _verify_blob_fields(header: CorethHeader, phase: CorethPhase) -> None:
    root = header.parent_beacon_block_root
    if phase < CorethPhase.ETNA:
        for reason, have in (
            (CorethReason.BEACON_ROOT_TOO_SOON, None if root is None else root.hex()),
            (CorethReason.EXCESS_BLOB_GAS_TOO_SOON, header.excess_blob_gas),
            (CorethReason.BLOB_GAS_USED_TOO_SOON, header.blob_gas_used),
        ):
            if have is not None:
                raise BlockRefused(reason, have=have)
        return
    if root is None:
        raise BlockRefused(CorethReason.NO_BEACON_ROOT)
    if root != ZERO_HASH:
        raise BlockRefused(CorethReason.BEACON_ROOT, have=root.hex())
    if header.blob_gas_used is None:
        raise BlockRefused(CorethReason.NO_BLOB_GAS_USED)
    if header.blob_gas_used:
        raise BlockRefused(CorethReason.BLOB_GAS_USED, have=header.blob_gas_used)
    if header.excess_blob_gas != 0:
        have = "nil" if header.excess_blob_gas is None else header.excess_blob_gas
        raise BlockRefused(CorethReason.EXCESS_BLOB_GAS, have=have)


def _verify_ext_data_hash(header: CorethHeader, ext_data: bytes, phase: CorethPhase) -> None:
    """Check the hash of the extra data.

    Unspecified: before Apricot phase 1 the reference compares the data of fuji's and mainnet's blocks with a table, which
    this node does not have: their block hashes do not depend on that data.
    """
    have = header.ext_data_hash
    if phase < CorethPhase.APRICOT_1:
        if have != ZERO_HASH:
            raise BlockRefused(CorethReason.EXT_DATA_HASH_TOO_SOON, have=have.hex())
        return
    hashed = ext_data_hash(ext_data)
    if have != hashed:
        raise BlockRefused(CorethReason.EXT_DATA_HASH, have=have.hex(), want=hashed.hex())
