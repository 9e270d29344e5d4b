"""Base classes of transactions: the fields that most types start with, and a signed transaction with its ID."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Annotated

from primitives.codec import INTERFACE, U32, Blob
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.components import Credential, TransferableInput, TransferableOutput


class UnsignedTx:
    """Interface: the part of a transaction that is signed."""


@dataclass(frozen=True, slots=True)
class SpendingTx(UnsignedTx):
    """The fields at the start of every transaction that users sign (pchain.md 3, base fields)."""

    network_id: U32
    blockchain_id: ID
    outputs: tuple[TransferableOutput, ...]
    inputs: tuple[TransferableInput, ...]
    memo: Blob


@dataclass(frozen=True, slots=True)
class BaseTx(SpendingTx):
    """Moves funds on the P-Chain (type 34)."""


@dataclass(frozen=True, slots=True)
class SignedBody:
    """The layout of a signed transaction."""

    unsigned: Annotated[UnsignedTx, INTERFACE]
    credentials: tuple[Annotated[Credential, INTERFACE], ...]


@dataclass(frozen=True)
class Tx:
    """A signed transaction with the bytes that it was parsed from or built to.

    Created by `txs.codec` only: `raw` starts with the codec version; its first `unsigned_size` bytes
    (including the version) are the signed ones.
    """

    unsigned: UnsignedTx
    credentials: tuple[Credential, ...]
    raw: bytes
    unsigned_size: int

    @cached_property
    def tx_id(self) -> ID:
        """The sha256 hash of the signed bytes."""
        return ID(sha256(self.raw))

    @cached_property
    def digest(self) -> bytes:
        """The sha256 hash of the unsigned bytes: the 32 bytes that are signed."""
        return sha256(self.raw[: self.unsigned_size])


class TxStatus(IntEnum):
    """The status of a transaction; `label` is the result of platform.getTxStatus."""

    UNKNOWN = 0
    COMMITTED = 4
    ABORTED = 5
    PROCESSING = 6
    DROPPED = 8

    @property
    def label(self) -> str:
        """The specification's name of the status."""
        return self.name.capitalize()
