"""Identifiers of the P-Chain and the X-Chain: bytes of a fixed length with a text form (cb58).

pchain.md 1.8 defines how identifiers are derived from transactions and blocks; this module has the
formulas that need only hashes.
"""

from enum import StrEnum
from typing import ClassVar, Self

from typing_extensions import override

from primitives import cb58
from primitives.hashing import sha256
from primitives.reasons import ErrorWithReason


class IdReason(StrEnum):
    """Why bytes or a text are not an identifier."""

    WRONG_ID_LENGTH = "invalid hash length: expected {expected} bytes but got {got}"
    MISSING_NODE_PREFIX = "ID: {text} is missing the prefix: {prefix}"


class IdError(ErrorWithReason):
    """Bytes or a text that are not an identifier."""


class WrongIdLength(IdError):
    """The length is not that of this kind of identifier."""


class FixedId(bytes):
    """Bytes of one length. Compares and sorts as bytes; its text form is cb58."""

    SIZE: ClassVar[int]

    def __new__(cls, value: bytes) -> Self:
        """Take bytes as an identifier.

        Raises:
            WrongIdLength: There are more or fewer than `SIZE`.
        """
        if len(value) != cls.SIZE:
            raise WrongIdLength(IdReason.WRONG_ID_LENGTH, expected=cls.SIZE, got=len(value))
        return super().__new__(cls, value)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text form.

        Raises:
            Cb58Error: The text is not cb58.
            IdError: It is not an identifier of this kind.
        """
        return cls(cb58.decode(text, cls.SIZE))

    @override
    def __str__(self) -> str:
        return cb58.encode(self)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class ID(FixedId):
    """32 bytes: the ID of a transaction, block, subnet, blockchain, asset, VM or UTXO."""

    SIZE = 32

    @classmethod
    def of_name(cls, name: str) -> Self:
        """Return the ID that consists of an ASCII name padded with zeros (pchain.md 1.1)."""
        return cls(name.encode("ascii").ljust(cls.SIZE, b"\0"))


class ShortID(FixedId):
    """20 bytes: the address of a key, which is its hash160."""

    SIZE = 20


class NodeID(FixedId):
    """20 bytes: a node's ID, derived from its staking certificate."""

    SIZE = 20
    PREFIX: ClassVar[str] = "NodeID-"

    @override
    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `NodeID-` and cb58.

        Raises:
            IdError: The prefix is missing.
            Cb58Error: The rest is not cb58.
            WrongIdLength: It is not 20 bytes.
        """
        if not text.startswith(cls.PREFIX):
            raise IdError(IdReason.MISSING_NODE_PREFIX, text=text[:80], prefix=NodeID.PREFIX)
        return cls(cb58.decode(text.removeprefix(cls.PREFIX), cls.SIZE))

    @override
    def __str__(self) -> str:
        return self.PREFIX + cb58.encode(self)


EMPTY_ID = ID(bytes(32))
PRIMARY_NETWORK_ID = EMPTY_ID
"""The Primary Network's subnet ID."""
P_CHAIN_ID = PRIMARY_NETWORK_ID
"""The P-Chain's blockchain ID is the same."""
EMPTY_NODE_ID = NodeID(bytes(20))

PLATFORM_VM_ID = ID.of_name("platformvm")
AVM_ID = ID.of_name("avm")
EVM_ID = ID.of_name("evm")
SECP256K1_FX_ID = ID.of_name("secp256k1fx")
NFT_FX_ID = ID.of_name("nftfx")
PROPERTY_FX_ID = ID.of_name("propertyfx")


def utxo_id(tx_id: ID, output_index: int) -> ID:
    """Return the ID of an output: sha256 of its index as 8 bytes, then the transaction's ID."""
    return ID(sha256(output_index.to_bytes(8, "big") + tx_id))
