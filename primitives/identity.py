"""A node's certificate: creating it, validating those of peers, and the node ID (pchain.md 1.4).

The network trusts no certificate authority: a certificate only carries the key behind a node ID.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)

from primitives.der import DerError, subject_public_key_info
from primitives.hashing import hash160
from primitives.ids import NodeID
from primitives.reasons import ErrorWithReason

MAX_SIZE = 2048
"""Maximum bytes of a certificate."""
MODULUS_SIZES = (2048, 4096)
EXPONENT = 65537
LIFETIME_YEARS = 100
NOT_BEFORE = datetime(1999, 12, 31, tzinfo=UTC)
SERIAL_NUMBER = 1


class CertificateReason(StrEnum):
    """Why nodes do not accept a certificate."""

    CERTIFICATE_TOO_LARGE = f"certificate length is greater than {MAX_SIZE}"
    # Not a certificate, or without a readable public key.
    MALFORMED_CERTIFICATE = "malformed certificate"
    # Neither RSA nor ECDSA, or on a curve without a name.
    UNSUPPORTED_KEY = "unknown public key algorithm"
    UNSUPPORTED_CURVE = "unsupported elliptic curve: {name}"
    UNSUPPORTED_MODULUS_SIZE = "unsupported RSA modulus bitlen: {bits}"
    # It is not a product of two large primes.
    EVEN_MODULUS = "RSA modulus is an even number"
    UNSUPPORTED_EXPONENT = "unsupported RSA public exponent: {exponent}"


class CertificateError(ErrorWithReason):
    """A certificate that nodes do not accept."""


class KeyAndCertificate(NamedTuple):
    """Key and certificate as the node stores them in two files, in PEM."""

    key_pem: bytes
    """PKCS#8, not encrypted."""
    certificate_pem: bytes


def make_certificate(now: int) -> KeyAndCertificate:
    """Create a new key and its certificate, valid until 100 years from now (Unix seconds).

    Unspecified: the specification defines no kind of certificate. This is the reference's, but with
    serial number 1 instead of 0, which X.509 forbids and the library refuses to write.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    nobody = x509.Name([])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(nobody)
        .issuer_name(nobody)
        .public_key(key.public_key())
        .serial_number(SERIAL_NUMBER)
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(_years_later(datetime.fromtimestamp(now, UTC), LIFETIME_YEARS))
        .add_extension(_digital_signature_only(), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    return KeyAndCertificate(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        certificate.public_bytes(Encoding.PEM),
    )


def node_id_of(der: bytes) -> NodeID:
    """Return the node ID of a certificate: the hash of the whole certificate, not of its key."""
    return NodeID(hash160(der))


def check_certificate(der: bytes) -> None:
    """Check that the network accepts a certificate as a node's.

    Raises:
        CertificateError: Size, structure or key is not acceptable.
    """
    if len(der) > MAX_SIZE:
        raise CertificateError(CertificateReason.CERTIFICATE_TOO_LARGE)
    match _public_key(der):
        case rsa.RSAPublicKey() as key:
            _check_rsa(key.public_numbers())
        case ec.EllipticCurvePublicKey() as key:
            if not isinstance(key.curve, ec.SECP256R1):
                raise CertificateError(CertificateReason.UNSUPPORTED_CURVE, name=key.curve.name)
        case _:
            raise CertificateError(CertificateReason.UNSUPPORTED_KEY)


def _public_key(der: bytes) -> object:
    try:
        return load_der_public_key(subject_public_key_info(der))
    except (DerError, ValueError):
        raise CertificateError(CertificateReason.MALFORMED_CERTIFICATE) from None
    except UnsupportedAlgorithm:
        raise CertificateError(CertificateReason.UNSUPPORTED_KEY) from None


def _check_rsa(numbers: rsa.RSAPublicNumbers) -> None:
    if numbers.n.bit_length() not in MODULUS_SIZES:
        raise CertificateError(
            CertificateReason.UNSUPPORTED_MODULUS_SIZE, bits=numbers.n.bit_length()
        )
    if numbers.n % 2 == 0:
        raise CertificateError(CertificateReason.EVEN_MODULUS)
    if numbers.e != EXPONENT:
        raise CertificateError(CertificateReason.UNSUPPORTED_EXPONENT, exponent=numbers.e)


def _years_later(day: datetime, years: int) -> datetime:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return day.replace(year=day.year + years, month=3, day=1)


def _digital_signature_only() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
