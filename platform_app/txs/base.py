"""Transactions in general: the fields that most begin with, and a signed one with its ID."""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Annotated

from platform_app.txs.components import Credential, TransferableInput, TransferableOutput
from primitives.codec import INTERFACE, U32, Blob
from primitives.hashing import sha256
from primitives.ids import ID


class UnsignedTx:
    """Interface: what is signed."""


@dataclass(frozen=True, slots=True)
class SpendingTx(UnsignedTx):
    """The fields with which every transaction that users sign begins (pchain.md 3, base fields)."""

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
    """A signed transaction with the bytes that it came in, or was built to.

    Made by `txs.codec` only: `raw` begins with the codec version, `unsigned_size` of its bytes
    (the version among them) are what was signed.
    """

    unsigned: UnsignedTx
    credentials: tuple[Credential, ...]
    raw: bytes
    unsigned_size: int

    @cached_property
    def tx_id(self) -> ID:
        """sha256 of the signed bytes."""
        return ID(sha256(self.raw))

    @cached_property
    def digest(self) -> bytes:
        """sha256 of the unsigned bytes: the 32 bytes that are signed."""
        return sha256(self.raw[: self.unsigned_size])


class TxStatus(IntEnum):
    """Where a transaction is in its life; `label` is what platform.getTxStatus answers."""

    UNKNOWN = 0
    COMMITTED = 4
    ABORTED = 5
    PROCESSING = 6
    DROPPED = 8

    @property
    def label(self) -> str:
        """The specification's word for it."""
        return self.name.capitalize()
