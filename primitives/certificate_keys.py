"""Keys of certificates: how a node signs with its own, and how others check it (p2p.md 4, 11.1).

What makes a certificate acceptable is in `primitives.identity`.
"""

from functools import lru_cache
from typing import TypeAlias, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from primitives.der import subject_public_key_info
from primitives.identity import check_certificate

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

_REMEMBERED = 1024
"""Certificates whose keys are kept: the same nodes sign again and again."""


@lru_cache(maxsize=_REMEMBERED)
def public_key_of(der: bytes) -> PublicKey:
    """Return the key of a certificate that nodes accept of each other.

    Raises:
        CertificateError: It is none.
    """
    check_certificate(der)
    # only these two kinds pass the check
    return cast(PublicKey, load_der_public_key(subject_public_key_info(der)))


def sign(key: PrivateKey, message: bytes) -> bytes:
    """Sign the SHA-256 of a message: RSA with PKCS#1 v1.5, or ECDSA in DER."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, PKCS1v15(), SHA256())
    return key.sign(message, ec.ECDSA(SHA256()))


def verify(key: PublicKey, message: bytes, signature: bytes) -> bool:
    """Say whether a signature is this message's by this key."""
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, PKCS1v15(), SHA256())
        else:
            key.verify(signature, message, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True
