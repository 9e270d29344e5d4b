"""How this node proves that its BLS key is its own (pchain.md 1.7). The secret stays in its file."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from primitives import bls
from primitives.ids import NodeID


class Identity(NamedTuple):
    """What a node tells everybody of itself."""

    node_id: NodeID
    public_key: bytes
    """Compressed BLS key."""
    proof_of_possession: bytes


class NoIdentity(Exception):
    """The files that say which node this is are not there, or hold something else."""

    def __init__(self) -> None:
        super().__init__("this node has no identity yet: init_node makes its keys")


class IdentityFiles:
    """The files that say which node this is: read when it is first asked for, and not again.

    Args:
        node_id: returns what the certificate says; None where there is none to read.
        signer: the file of the BLS key.
    """

    def __init__(self, node_id: Callable[[], NodeID | None], signer: Path) -> None:
        self._node_id = node_id
        self._signer = signer
        self._read: Identity | None = None

    def identity(self) -> Identity:
        """Return who this node is.

        Raises:
            NoIdentity: Certificate or BLS key cannot be read.
        """
        if self._read is None:
            self._read = self._identity()
        return self._read

    def _identity(self) -> Identity:
        node_id = self._node_id()
        try:
            secret = self._signer.read_bytes()
            public_key, proof = bls.public_key(secret), bls.prove_possession(secret)
        except (OSError, bls.InvalidSecretKey) as error:
            raise NoIdentity from error
        if node_id is None:
            raise NoIdentity
        return Identity(node_id, public_key, proof)
