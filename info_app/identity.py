"""How this node proves that its BLS key is its own (pchain.md 1.7). The secret stays in its file."""

from functools import cache
from typing import NamedTuple

from django.conf import settings

from platform_app.api.own_node import own_node_id
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


@cache
def identity() -> Identity:
    """Return who this node is.

    Raises:
        NoIdentity: Certificate or BLS key cannot be read.
    """
    node_id = own_node_id()
    try:
        secret = settings.NODE.signer_path.read_bytes()
        public_key, proof = bls.public_key(secret), bls.prove_possession(secret)
    except (OSError, bls.InvalidSecretKey) as error:
        raise NoIdentity from error
    if node_id is None:
        raise NoIdentity
    return Identity(node_id, public_key, proof)
