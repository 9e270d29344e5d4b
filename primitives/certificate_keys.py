"""Signatures with certificate keys: a node signs with its own, and peers verify it (p2p.md 4, 11.1).

`primitives.identity` defines which certificates are acceptable.
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
"""Certificates whose keys are cached, because the same nodes sign repeatedly."""


@lru_cache(maxsize=_REMEMBERED)
def public_key_of(der: bytes) -> PublicKey:
    """Return the public key of a certificate that nodes accept from each other.

    Raises:
        CertificateError: Nodes do not accept the certificate.
    """
    check_certificate(der)
    # the check passes only these two kinds of key
    return cast(PublicKey, load_der_public_key(subject_public_key_info(der)))


def sign(key: PrivateKey, message: bytes) -> bytes:
    """Sign the SHA-256 of a message: RSA with PKCS#1 v1.5, or ECDSA in DER."""
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, PKCS1v15(), SHA256())
    return key.sign(message, ec.ECDSA(SHA256()))


def verify(key: PublicKey, message: bytes, signature: bytes) -> bool:
    """Return whether a signature is valid for the message and the key."""
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, PKCS1v15(), SHA256())
        else:
            key.verify(signature, message, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True
