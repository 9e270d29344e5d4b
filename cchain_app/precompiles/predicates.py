"""Predicates: warp messages in the access lists of transactions, and the results of verifying them (ACP-30).

A message is written as storage keys of the warp precompile: its bytes, 0xff, and zeros up to a multiple of 32.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from cchain_app.precompiles.active import TransactionPredicates, WarpGas, WarpPredicate, WarpRules
from cchain_app.precompiles.addresses import WARP
from primitives.codec_errors import CodecError
from primitives.evm import Address
from primitives.warp import (
    AddressedCall,
    HashPayload,
    SignedMessage,
    WarpError,
    parse_payload,
    parse_signed,
)

AccessList = Sequence[tuple[Address, Sequence[bytes]]]

_CHUNK: Final = 32
_END: Final = b"\xff"
_TUPLE_GAS: Final = 2_400
"""TxAccessListAddressGas (EIP-2930)."""
_KEY_GAS: Final = 1_900
"""TxAccessListStorageKeyGas (EIP-2930)."""

RESULTS_VERSION: Final = b"\0\0"
NO_RESULTS: Final = RESULTS_VERSION + bytes(4)
"""The results of a block whose transactions have no predicates."""

INVALID_MESSAGE: Final = b"".join(word.to_bytes(32, "big") for word in (64, 0, 0, 0, 96, 0))
"""Result of getVerifiedWarpMessage without a valid message."""
INVALID_BLOCK_HASH: Final = bytes(96)
"""Result of getVerifiedWarpBlockHash without a valid message."""


class PredicateError(Exception):
    """Bytes that are not a predicate, or not results; the message is the reference's."""


def pack(data: bytes) -> list[bytes]:
    """Return bytes as storage keys."""
    padded = data + _END
    padded += bytes(-len(padded) % _CHUNK)
    return [padded[start : start + _CHUNK] for start in range(0, len(padded), _CHUNK)]


def unpack(keys: Iterable[bytes]) -> bytes:
    """Return the bytes that storage keys encode.

    Raises:
        PredicateError: The keys have no delimiter, another one, or too much padding.
    """
    padded = b"".join(keys)
    trimmed = padded.rstrip(b"\0")
    if not trimmed:
        raise PredicateError(f"no delimiter found: length ({len(padded) // _CHUNK})")
    if trimmed[-1:] != _END:
        raise PredicateError("wrong delimiter")
    needed = -(-len(trimmed) // _CHUNK) * _CHUNK
    if len(padded) != needed:
        raise PredicateError(
            f"predicate included excess padding: got length ({len(padded)}), expected length ({needed})"
        )
    return trimmed[:-1]


class SignedPredicate(NamedTuple):
    """A predicate and the message in it."""

    chunks: int
    message: SignedMessage


def parse_predicate(keys: Sequence[bytes]) -> SignedPredicate:
    """Return the message in a tuple of an access list.

    Raises:
        PredicateError: The bytes are not a message, or its payload is of an unknown kind.
    """
    try:
        raw = unpack(keys)
    except PredicateError as error:
        raise PredicateError(f"cannot unpack predicate bytes: {error}") from error
    try:
        message = parse_signed(raw)
    except CodecError as error:
        raise PredicateError(f"cannot unpack warp message: {error}") from error
    except WarpError as error:
        raise PredicateError(f"cannot fetch num signers from warp message: {error}") from error
    try:
        parse_payload(message.message.payload)
    except CodecError as error:
        raise PredicateError(f"cannot unpack warp message payload: {error}") from error
    return SignedPredicate(len(keys), message)


def parse_predicates(access_list: AccessList) -> list[SignedPredicate]:
    """Return the messages of an access list, in order. Raises as `parse_predicate`."""
    return [parse_predicate(keys) for address, keys in access_list if address == WARP]


def has_predicates(access_list: AccessList) -> bool:
    """Return whether an access list names the warp precompile."""
    return any(address == WARP for address, _ in access_list)


def extra_gas(predicates: Iterable[SignedPredicate], gas: WarpGas) -> int:
    """Return the intrinsic gas of predicates, less that of the same keys in an ordinary access list."""
    return sum(
        gas.predicate
        + (gas.chunk - _KEY_GAS) * item.chunks
        + gas.signer * item.message.signer_count
        - _TUPLE_GAS
        for item in predicates
    )


def prepared(
    rules: WarpRules, access_lists: Iterable[tuple[bytes, AccessList]]
) -> tuple[TransactionPredicates, ...]:
    """Return the predicates in access lists as engines need them; lists without predicates are omitted.

    Args:
        rules: The block's rules, with the results.
        access_lists: Each with the hash of its transaction, or with no bytes for a call.
    """
    failed = dict(rules.failed)
    return tuple(
        _prepare(rules, transaction, access_list, failed.get(transaction, 0))
        for transaction, access_list in access_lists
        if has_predicates(access_list)
    )


def _prepare(
    rules: WarpRules, transaction: bytes, access_list: AccessList, failed: int
) -> TransactionPredicates:
    try:
        found = parse_predicates(access_list)
    except PredicateError as error:
        return TransactionPredicates(transaction, 0, str(error), ())
    items = tuple(_readable(item, valid=not failed >> i & 1) for i, item in enumerate(found))
    return TransactionPredicates(transaction, extra_gas(found, rules.gas), None, items)


def _readable(predicate: SignedPredicate, *, valid: bool) -> WarpPredicate:
    unsigned = predicate.message.message
    source, payload = bytes(unsigned.source_chain_id), parse_payload(unsigned.payload)
    message = block_hash = None
    if isinstance(payload, AddressedCall):
        message = _encode_message(source, payload)
    elif isinstance(payload, HashPayload):
        block_hash = source + bytes(payload.hash) + _word(1)
    return WarpPredicate(predicate.chunks, valid, message, block_hash)


def _encode_message(source: bytes, call: AddressedCall) -> bytes:
    """Return ((sourceChainID, originSenderAddress, payload), true) in the ABI's form."""
    sender = call.source_address[-20:].rjust(32, b"\0")
    payload = call.payload + bytes(-len(call.payload) % 32)
    head = _word(64) + _word(1)
    return head + source + sender + _word(96) + _word(len(call.payload)) + payload


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def encode_results(results: Mapping[bytes, int]) -> bytes:
    """Return the results of a block's predicates as its extra data has them.

    Args:
        results: By hash of each transaction with predicates: the set of bits of those that failed.
    """
    encoded = [RESULTS_VERSION, len(results).to_bytes(4, "big")]
    for transaction, failed in sorted(results.items()):
        bits = failed.to_bytes((failed.bit_length() + 7) // 8, "big")
        encoded += [transaction, (1).to_bytes(4, "big"), WARP, len(bits).to_bytes(4, "big"), bits]
    return b"".join(encoded)


def parse_results(raw: bytes) -> dict[bytes, int]:
    """Return the results of predicates in a block's extra data, as `encode_results` takes them.

    Raises:
        PredicateError: They are not in canonical form.
    """
    results = {
        transaction: int.from_bytes(by_address[WARP], "big")
        for transaction, by_address in parse_all_results(raw).items()
        if WARP in by_address
    }
    if encode_results(results) != raw:
        raise PredicateError("failed to unmarshal predicate results: not in canonical form")
    return results


def parse_all_results(raw: bytes) -> dict[bytes, dict[bytes, bytes]]:
    """Return results by transaction and address of the precompile.

    Raises:
        PredicateError: The bytes are not results.
    """
    reader = _Reader(raw)
    if len(raw) < len(RESULTS_VERSION):
        raise PredicateError("failed to unmarshal predicate results: couldn't unpack codec version")
    if reader.take(2) != RESULTS_VERSION:
        raise PredicateError("failed to unmarshal predicate results: unknown codec version")
    results = {
        reader.take(32): {
            reader.take(20): reader.take(reader.number()) for _ in range(reader.number())
        }
        for _ in range(reader.number())
    }
    if reader.place != len(raw):
        raise PredicateError(
            f"failed to unmarshal predicate results: trailing buffer space: read {reader.place} "
            f"provided {len(raw)}"
        )
    return results


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.place = 0

    def take(self, size: int) -> bytes:
        part = self._raw[self.place : self.place + size]
        if len(part) < size:
            raise PredicateError(
                "failed to unmarshal predicate results: couldn't unmarshal map: "
                "packer has insufficient length for input"
            )
        self.place += size
        return part

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")


def results_of(
    transactions: Collection[tuple[bytes, AccessList]], failed: Mapping[bytes, int]
) -> dict[bytes, int]:
    """Return the results that a block with these transactions has to carry."""
    return {
        transaction: failed.get(transaction, 0)
        for transaction, access_list in transactions
        if has_predicates(access_list)
    }
