"""A node's identity, read from three files: staking certificate, its key, and BLS key (pchain.md 1.4, 1.7).

No other module reads these files. `nodeproject.startup.identity` creates them, and checks them at the start.
"""

import binascii
import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from primitives import bls
from primitives.identity import PrivateKey, node_id_of, public_key_of
from primitives.ids import NodeID
from primitives.reasons import ErrorWithReason

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----")


class IdentityReason(StrEnum):
    """Why files are not a valid node identity."""

    NO_CERTIFICATE = "{path} holds no certificate"
    NO_PRIVATE_KEY = "{path} holds no private key of a node"
    KEY_OF_ANOTHER = "{path} holds the key of another certificate"
    UNUSABLE_SIGNER_KEY = "{path} holds no BLS key: it must be 32 bytes, below the group's order"


class IdentityError(ErrorWithReason):
    """Files that are not a valid node identity."""


class NoCertificate(IdentityError):
    """A file without a certificate."""


class UnusableSignerKey(IdentityError):
    """A file without a BLS key."""


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """This node's ID, and the keys that prove it."""

    node_id: NodeID
    certificate_der: bytes = field(repr=False)
    tls_key: PrivateKey = field(repr=False, compare=False)
    bls_secret: bytes = field(repr=False)
    bls_public_key: bytes = field(repr=False)
    """Compressed, 48 bytes."""


class SignerKey(NamedTuple):
    """The public part of a BLS key."""

    public_key: bytes
    """Compressed, 48 bytes."""
    proof_of_possession: bytes
    """Proof that the owner has the secret key: 96 bytes."""


@dataclass(frozen=True)
class IdentityFiles:
    """Paths of a node's identity files, and their contents, each read once at its first use.

    The files do not exist before a node's first start.
    """

    certificate: Path
    """In PEM."""
    key: Path
    """In PEM, not encrypted."""
    signer: Path
    """The BLS key: 32 bytes."""

    @classmethod
    def below(cls, directory: Path) -> Self:
        """Return the default paths in a data directory."""
        staking = directory / "staking"
        return cls(staking / "staker.crt", staking / "staker.key", staking / "signer.key")

    @cached_property
    def node_id(self) -> NodeID:
        """The node ID. No secret is needed.

        Raises:
            OSError: The certificate cannot be read.
            NoCertificate: The file has no certificate.
        """
        return node_id_of(self._certificate)

    @cached_property
    def signer_key(self) -> SignerKey:
        """The public part of the BLS key.

        Raises:
            OSError: The key cannot be read.
            UnusableSignerKey: The file has no BLS key.
        """
        return signer_key_of(self._secret, self.signer)

    @cached_property
    def keys(self) -> NodeIdentity:
        """The keys with which the node proves its identity to peers.

        Raises:
            OSError: A file cannot be read.
            IdentityError: The certificate or a key is missing, or they do not match.
            CertificateError: Peers reject the certificate.
        """
        certificate, key = self._certificate, _private_key(self.key)
        if key.public_key() != public_key_of(certificate):
            raise IdentityError(IdentityReason.KEY_OF_ANOTHER, path=self.key)
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
    """Return the public part of a BLS key that was read from a file.

    Raises:
        UnusableSignerKey: The bytes are not a BLS key.
    """
    try:
        return SignerKey(bls.public_key(secret), bls.prove_possession(secret))
    except bls.InvalidSecretKey as error:
        raise UnusableSignerKey(IdentityReason.UNUSABLE_SIGNER_KEY, path=path) from error


def _certificate(path: Path) -> bytes:
    """Return the DER of a file's first certificate, even if X.509 libraries would reject it."""
    match = _CERTIFICATE.search(path.read_bytes())
    if match is None:
        raise NoCertificate(IdentityReason.NO_CERTIFICATE, path=path)
    try:
        return binascii.a2b_base64(match.group(1))
    except binascii.Error:
        raise NoCertificate(IdentityReason.NO_CERTIFICATE, path=path) from None


def _private_key(path: Path) -> PrivateKey:
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: the key is encrypted
        raise IdentityError(IdentityReason.NO_PRIVATE_KEY, path=path) from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise IdentityError(IdentityReason.NO_PRIVATE_KEY, path=path)
    return key
