"""The owners of outputs and accounts of a seeded chain: keys that anyone can derive, and those of every local network."""

from dataclasses import dataclass, field
from typing import Final

from primitives.evm import Address
from primitives.hashing import sha256
from primitives.ids import NodeID, ShortID
from primitives.keys import DEV_KEYS, EWOQ_KEY, address_of
from primitives.secp256k1 import address_of_private_key


@dataclass(frozen=True, slots=True)
class SeededOwner:
    """A key, and its addresses on the P-Chain and on the C-Chain."""

    key: bytes = field(repr=False)
    short_id: ShortID
    address: Address


def owner(purpose: str, number: int = 0) -> SeededOwner:
    """Return the owner for a purpose, always the same: its key is the hash of purpose and number."""
    return owner_of(sha256(f"{purpose} {number}".encode()))


def owner_of(key: bytes) -> SeededOwner:
    """Return the owner of a private key of 32 bytes."""
    return SeededOwner(key, address_of(key), address_of_private_key(key))


def node_id(number: int) -> NodeID:
    """Return the ID of a validator without a running node."""
    return NodeID(sha256(f"node {number}".encode())[: NodeID.SIZE])


RICH: Final = owner_of(EWOQ_KEY)
"""The owner that every local network funds on the P-Chain."""

FUNDER: Final = owner_of(bytes.fromhex(list(DEV_KEYS.values())[1][2:]))
"""The owner that it funds on the C-Chain: account 0 of the well-known mnemonic."""
