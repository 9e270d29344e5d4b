"""A node's identity, read from its three files: staking certificate, its key, and BLS key (pchain.md 1.4, 1.7).

Nobody else reads these files. They are made, and checked at the start, by `nodeproject.startup.identity`.

IdentityError
├── NoCertificate          the file has no certificate in PEM
├── NoPrivateKey           the file has no key of the two kinds that nodes have
├── KeyOfAnother           certificate and key do not belong together
└── UnusableSignerKey      the file has no BLS key
"""

import binascii
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

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


class UnusableSignerKey(IdentityError):
    """A file that holds no BLS key."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} holds no BLS key: it must be 32 bytes, below the group's order")
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


class SignerKey(NamedTuple):
    """A BLS key as everybody may know it."""

    public_key: bytes
    """Compressed, 48 bytes."""
    proof_of_possession: bytes
    """That somebody has its secret: 96 bytes."""


@dataclass(frozen=True)
class IdentityFiles:
    """Where a node's identity is kept, and what the files say: each is read when it is first asked for, once.

    Before a node's first start there are none.
    """

    certificate: Path
    """In PEM."""
    key: Path
    """In PEM, not encrypted."""
    signer: Path
    """The BLS key: 32 bytes."""

    @classmethod
    def below(cls, directory: Path) -> Self:
        """Return the files of a data directory that names none elsewhere."""
        staking = directory / "staking"
        return cls(staking / "staker.crt", staking / "staker.key", staking / "signer.key")

    @cached_property
    def node_id(self) -> NodeID:
        """The node ID, which needs no secret.

        Raises:
            OSError: The certificate cannot be read.
            NoCertificate: The file holds none.
        """
        return node_id_of(self._certificate)

    @cached_property
    def signer_key(self) -> SignerKey:
        """The public side of the BLS key.

        Raises:
            OSError: The key cannot be read.
            UnusableSignerKey: The file holds none.
        """
        return signer_key_of(self._secret, self.signer)

    @cached_property
    def keys(self) -> NodeIdentity:
        """All that the node proves to its peers who it is with.

        Raises:
            OSError: A file cannot be read.
            IdentityError: Certificate or keys are none, or not of one node.
            CertificateError: It is a certificate that peers refuse.
        """
        certificate, key = self._certificate, _private_key(self.key)
        if key.public_key() != public_key_of(certificate):
            raise KeyOfAnother(self.key)
        return NodeIdentity(
            node_id=self.node_id,
            certificate_der=certificate,
            tls_key=key,
            bls_secret=self._secret,
            bls_public_key=self.signer_key.public_key,
        )

    @cached_property
    def _certificate(self) -> bytes:
        return _certificate(self.certificate)

    @cached_property
    def _secret(self) -> bytes:
        return self.signer.read_bytes()


def signer_key_of(secret: bytes, path: Path) -> SignerKey:
    """Return the public side of a BLS key that was read from a file.

    Raises:
        UnusableSignerKey: It is none.
    """
    try:
        return SignerKey(bls.public_key(secret), bls.prove_possession(secret))
    except bls.InvalidSecretKey as error:
        raise UnusableSignerKey(path) from error


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
