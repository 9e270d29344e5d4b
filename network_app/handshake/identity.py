"""This node as its peers know it: certificate and keys, read from its files.

The files are made, and checked at the start, by `nodeproject.identity`.

IdentityError
├── NoCertificate          the file has no certificate in PEM
├── NoPrivateKey           the file has no key of the two kinds that nodes have
└── KeyOfAnother           certificate and key do not belong together
"""

import binascii
import re
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from primitives import bls
from primitives.certificate_keys import PrivateKey, public_key_of
from primitives.identity import node_id_of
from primitives.ids import NodeID

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")


class IdentityError(Exception):
    """Files that make no node."""


class NoCertificate(IdentityError):
    """A file without a certificate."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} holds no certificate")
        self.path = path


class NoPrivateKey(IdentityError):
    """A file without a key that can be used."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} holds no private key of a node")
        self.path = path


class KeyOfAnother(IdentityError):
    """A key that is not the certificate's."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} holds the key of another certificate")
        self.path = path


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Who this node is, and what it proves that with."""

    node_id: NodeID
    certificate_der: bytes = field(repr=False)
    tls_key: PrivateKey = field(repr=False, compare=False)
    bls_secret: bytes = field(repr=False)
    bls_public_key: bytes = field(repr=False)
    """Compressed, 48 bytes."""


def load(certificate_path: Path, key_path: Path, signer_path: Path) -> NodeIdentity:
    """Read a node's three files: certificate and key in PEM, the BLS key as 32 bytes.

    Raises:
        OSError: A file cannot be read.
        IdentityError: Certificate or key are none, or not of one node.
        CertificateError: It is a certificate that peers refuse.
        InvalidSecretKey: The BLS key is none.
    """
    certificate = _certificate(certificate_path)
    key = _private_key(key_path)
    if key.public_key() != public_key_of(certificate):
        raise KeyOfAnother(key_path)
    secret = signer_path.read_bytes()
    return NodeIdentity(
        node_id=node_id_of(certificate),
        certificate_der=certificate,
        tls_key=key,
        bls_secret=secret,
        bls_public_key=bls.public_key(secret),
    )


def _certificate(path: Path) -> bytes:
    """Return the DER of a file's first certificate, whatever an X.509 library thinks of it."""
    found = _CERTIFICATE.search(path.read_bytes())
    if found is None:
        raise NoCertificate(path)
    try:
        return binascii.a2b_base64(found.group(1))
    except binascii.Error:
        raise NoCertificate(path) from None


def _private_key(path: Path) -> PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        raise NoPrivateKey(path) from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise NoPrivateKey(path)
    return key
