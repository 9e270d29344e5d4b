"""The layout of atomic transactions and of a block's payload, which is a list of them (atomic.md 4, 9).

The type IDs are this chain's own. Credentials, inputs and outputs have the bytes that they have on the other chains.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Self

from cchain_app.atomic.errors import AtomicReason
from chainvm.shared_memory import AtomicRequests
from primitives.codec import INTERFACE, U32, U64, VERSION, Codec, FixedLayout
from primitives.codec_errors import CodecError, CodecReason
from primitives.evm import Address
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.secp256k1 import SIGNATURE_SIZE
from utxo.components import (
    Credential,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    utxos_of,
)
from utxo.errors import InvalidTx

EVM_OUTPUT_SIZE: Final = 60
"""Bytes of an `EvmOutput`."""
EVM_INPUT_SIZE: Final = 68
"""Bytes of an `EvmInput`."""


class UnsignedAtomicTx:
    """Interface: the part of an atomic transaction that is signed."""


class AtomicInput:
    """A placeholder for type ID 10 (the reference's `Input`), which is in no transaction."""


@dataclass(frozen=True, slots=True)
class EvmOutput:
    """An amount that an import credits to an account."""

    address: Annotated[Address, FixedLayout(20)]
    amount: U64
    """In units of the other chains."""
    asset_id: ID


@dataclass(frozen=True, slots=True)
class EvmInput:
    """An amount that an export debits from an account."""

    address: Annotated[Address, FixedLayout(20)]
    amount: U64
    """In units of the other chains."""
    asset_id: ID
    nonce: U64
    """The account's nonce before the transaction."""


@dataclass(frozen=True, slots=True)
class UnsignedImportTx(UnsignedAtomicTx):
    """Spends outputs that another chain has exported, and credits accounts."""

    network_id: U32
    blockchain_id: ID
    source_chain: ID
    imported_inputs: tuple[TransferableInput, ...]
    outputs: tuple[EvmOutput, ...]


@dataclass(frozen=True, slots=True)
class UnsignedExportTx(UnsignedAtomicTx):
    """Debits accounts, and exports outputs to another chain."""

    network_id: U32
    blockchain_id: ID
    destination_chain: ID
    inputs: tuple[EvmInput, ...]
    exported_outputs: tuple[TransferableOutput, ...]


@dataclass(frozen=True, slots=True)
class SignedAtomicBody:
    """The layout of a signed atomic transaction."""

    unsigned: Annotated[UnsignedAtomicTx, INTERFACE]
    credentials: tuple[Annotated[Credential, INTERFACE], ...]


CODEC: Final = Codec(
    {
        0: UnsignedImportTx,
        1: UnsignedExportTx,
        5: TransferInput,
        7: TransferOutput,
        9: SignatureCredential,
        10: AtomicInput,
        11: OutputOwners,
    }
)

_UNSIGNED = Annotated[UnsignedAtomicTx, INTERFACE]
_COUNT_SIZE: Final = 4


@dataclass(frozen=True)
class AtomicTx:
    """A signed atomic transaction. `parse`, `build` and `split_payload` create it.

    `raw` starts with the codec version; its first `unsigned_size` bytes are the signed ones.
    """

    unsigned: UnsignedImportTx | UnsignedExportTx
    credentials: tuple[Credential, ...]
    raw: bytes
    unsigned_size: int

    @classmethod
    def of(cls, body: SignedAtomicBody, raw: bytes) -> Self:
        """Return the transaction of a body and its bytes, version included."""
        assert isinstance(body.unsigned, UnsignedImportTx | UnsignedExportTx)
        size = len(raw) - _size_of(body.credentials)
        return cls(body.unsigned, body.credentials, raw, size)

    @cached_property
    def tx_id(self) -> ID:
        """The SHA-256 of the signed bytes."""
        return ID(sha256(self.raw))

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the unsigned bytes: the 32 bytes that are signed."""
        return sha256(self.raw[: self.unsigned_size])

    @property
    def signature_count(self) -> int:
        """The number of signatures that the fee is charged for."""
        unsigned = self.unsigned
        if isinstance(unsigned, UnsignedExportTx):
            return len(unsigned.inputs)
        return sum(
            len(spent.input.signature_indices)
            for spent in unsigned.imported_inputs
            if isinstance(spent.input, TransferInput)
        )

    @cached_property
    def conflict_keys(self) -> tuple[bytes, ...]:
        """The 32-byte keys of which no two transactions of a branch may have one in common.

        Of an import the IDs of the UTXOs, of an export each account with its nonce.
        """
        unsigned = self.unsigned
        if isinstance(unsigned, UnsignedImportTx):
            return tuple(spent.utxo_id for spent in unsigned.imported_inputs)
        return tuple(
            spent.nonce.to_bytes(8, "big") + len(spent.address).to_bytes(4, "big") + spent.address
            for spent in unsigned.inputs
        )

    @property
    def requests(self) -> AtomicRequests:
        """The changes that the transaction makes to shared memory."""
        unsigned = self.unsigned
        if isinstance(unsigned, UnsignedImportTx):
            removed = tuple(spent.utxo_id for spent in unsigned.imported_inputs)
            importers = (self.tx_id,) * len(removed)
            return AtomicRequests(unsigned.source_chain, remove=removed, importers=importers)
        put = tuple(utxos_of(self.tx_id, 0, unsigned.exported_outputs))
        return AtomicRequests(unsigned.destination_chain, put=put)


def parse(raw: bytes) -> AtomicTx:
    """Parse a signed atomic transaction.

    Raises:
        CodecError: The bytes are not a transaction.
    """
    return AtomicTx.of(CODEC.unmarshal(SignedAtomicBody, raw), raw)


def sign_bytes(unsigned: UnsignedAtomicTx) -> bytes:
    """Return the bytes that are signed: the codec version and the unsigned transaction."""
    return VERSION + CODEC.pack(unsigned, _UNSIGNED)


def build(unsigned: UnsignedAtomicTx, credentials: Sequence[Credential]) -> AtomicTx:
    """Build a signed transaction from its parts."""
    body = SignedAtomicBody(unsigned, tuple(credentials))
    return AtomicTx.of(body, CODEC.marshal(body))


def join_payload(txs: Sequence[AtomicTx]) -> bytes:
    """Return the payload with these transactions; there is at least one."""
    assert txs, "a block without atomic transactions has no payload"
    count = len(txs).to_bytes(_COUNT_SIZE, "big")
    return b"".join((VERSION, count, *(tx.raw[len(VERSION) :] for tx in txs)))


def split_payload(payload: bytes) -> tuple[AtomicTx, ...]:
    """Return the transactions of a payload.

    Raises:
        CodecError: The bytes are not a list of transactions.
        InvalidTx: The list is empty: a block without atomic transactions has no payload.
    """
    if payload[: len(VERSION)] != VERSION:
        raise CodecError(
            CodecReason.UNKNOWN_VERSION
            if len(payload) >= len(VERSION)
            else CodecReason.MISSING_VERSION
        )
    start = len(VERSION) + _COUNT_SIZE
    if len(payload) < start:
        raise CodecError(CodecReason.INPUT_TOO_SHORT)
    txs: list[AtomicTx] = []
    # Each transaction has bytes, so a count that is too large ends with an error soon.
    for _ in range(int.from_bytes(payload[len(VERSION) : start], "big")):
        body, end = CODEC.read(SignedAtomicBody, payload, start)
        txs.append(AtomicTx.of(body, VERSION + payload[start:end]))
        start = end
    if start != len(payload):
        raise CodecError(CodecReason.TRAILING_BYTES, read=start, provided=len(payload))
    if not txs:
        raise InvalidTx(AtomicReason.EMPTY_PAYLOAD)
    return tuple(txs)


def read_payload(payload: bytes) -> tuple[AtomicTx, ...]:
    """Return the transactions of an accepted or processing block's payload.

    On coreth the payload of a block before Apricot phase 5 is a single transaction, and not a list of them. The first
    number of a list is a count, that of a transaction its type; no bytes are valid as both.

    Raises:
        CodecError: The bytes are neither.
    """
    try:
        return split_payload(payload)
    except (CodecError, InvalidTx):
        return (parse(payload),)


def requests_of(txs: Iterable[AtomicTx]) -> list[AtomicRequests]:
    """Return the changes of several transactions to shared memory, one entry for each peer."""
    by_peer: dict[ID, AtomicRequests] = {}
    for tx in txs:
        own = tx.requests
        known = by_peer.get(own.peer, AtomicRequests(own.peer))
        by_peer[own.peer] = known.followed_by(own)
    return list(by_peer.values())


def _size_of(credentials: tuple[Credential, ...]) -> int:
    """Return the size of credentials in bytes: a count, then type, count and signatures of each."""
    size = 4
    for credential in credentials:
        assert isinstance(credential, SignatureCredential)
        size += 8 + SIGNATURE_SIZE * len(credential.signatures)
    return size
