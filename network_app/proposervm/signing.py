"""Who signed an outer block, and what they signed (p2p.md 11.1)."""

from functools import lru_cache

from network_app.proposervm.errors import InvalidCertificate, WrongSignature
from primitives.certificate_keys import public_key_of, verify
from primitives.codec import VERSION
from primitives.identity import CertificateError, node_id_of
from primitives.ids import ID, NodeID

_REMEMBERED = 1024
"""Certificates whose node is kept: proposers are few and come back."""


@lru_cache(maxsize=_REMEMBERED)
def proposer_of(certificate: bytes) -> NodeID:
    """Return whom a certificate (DER) stands for.

    Raises:
        InvalidCertificate: It is none that nodes accept of each other.
    """
    try:
        public_key_of(certificate)
    except CertificateError as error:
        raise InvalidCertificate(error) from None
    return node_id_of(certificate)


def header(chain_id: ID, parent_id: ID, outer_id: ID) -> bytes:
    """Return what is signed of a block: 98 bytes."""
    return VERSION + chain_id + parent_id + outer_id


def verify_signature(certificate: bytes, message: bytes, signature: bytes) -> None:
    """Accept a signature of a certificate's key; the certificate is one of a parsed block.

    Raises:
        InvalidCertificate: It is none that nodes accept of each other.
        WrongSignature: The signature is of another key, or over something else.
    """
    proposer = proposer_of(certificate)
    if not verify(public_key_of(certificate), message, signature):
        raise WrongSignature(proposer)
