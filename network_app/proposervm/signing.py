"""The signer of an outer block, and the message that is signed (p2p.md 11.1)."""

from functools import lru_cache

from network_app.proposervm.errors import (
    OuterBlockError,
    OuterBlockReason,
)
from primitives.certificate_keys import public_key_of, verify
from primitives.codec import VERSION
from primitives.identity import CertificateError, node_id_of
from primitives.ids import ID, NodeID

_REMEMBERED = 1024
"""Number of certificates whose node ID is cached, because few proposers recur often."""


@lru_cache(maxsize=_REMEMBERED)
def proposer_of(certificate: bytes) -> NodeID:
    """Return the node ID of a certificate (DER).

    Raises:
        OuterBlockError: Nodes do not accept such certificates from each other.
    """
    try:
        public_key_of(certificate)
    except CertificateError as error:
        raise OuterBlockError(OuterBlockReason.INVALID_CERTIFICATE, cause=error) from None
    return node_id_of(certificate)


def header(chain_id: ID, parent_id: ID, outer_id: ID) -> bytes:
    """Return the message that is signed for a block: 98 bytes."""
    return VERSION + chain_id + parent_id + outer_id


def verify_signature(certificate: bytes, message: bytes, signature: bytes) -> None:
    """Verify a signature by the key of a certificate, which comes from a parsed block.

    Raises:
        OuterBlockError: Nodes do not accept such certificates from each other, or the signature is by another key or
            over another message.
    """
    proposer = proposer_of(certificate)
    if not verify(public_key_of(certificate), message, signature):
        raise OuterBlockError(OuterBlockReason.WRONG_SIGNATURE, proposer=proposer)
