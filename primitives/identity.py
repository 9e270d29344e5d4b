"""A node's certificate: creating it, validating those of peers, and the node ID (pchain.md 1.4).

The network trusts no certificate authority: a certificate only carries the key behind a node ID.

    CertificateError
    ├── CertificateTooLarge      more than 2048 bytes
    ├── MalformedCertificate     not a certificate, or without a readable public key
    ├── UnsupportedKey           neither RSA nor ECDSA, or on a curve without a name
    ├── UnsupportedCurve         ECDSA on another curve than P-256
    ├── UnsupportedModulusSize   RSA of other than 2048 or 4096 bits
    ├── EvenModulus              an RSA modulus that has the factor 2
    └── UnsupportedExponent      an RSA exponent other than 65537
"""

from datetime import UTC, datetime
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

MAX_SIZE = 2048
"""Maximum bytes of a certificate."""
MODULUS_SIZES = (2048, 4096)
EXPONENT = 65537
LIFETIME_YEARS = 100
NOT_BEFORE = datetime(1999, 12, 31, tzinfo=UTC)
SERIAL_NUMBER = 1


class CertificateError(Exception):
    """A certificate that nodes do not accept."""


class CertificateTooLarge(CertificateError):
    """The certificate has too many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"certificate length is greater than {MAX_SIZE}")
        self.size = size


class MalformedCertificate(CertificateError):
    """The bytes are not a certificate, or have no readable public key."""

    def __init__(self) -> None:
        super().__init__("malformed certificate")


class UnsupportedKey(CertificateError):
    """The key is of a kind that the network does not support."""

    def __init__(self) -> None:
        super().__init__("unknown public key algorithm")


class UnsupportedCurve(CertificateError):
    """The curve is not P-256."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unsupported elliptic curve: {name}")
        self.name = name


class UnsupportedModulusSize(CertificateError):
    """The RSA modulus does not have a supported size."""

    def __init__(self, bits: int) -> None:
        super().__init__(f"unsupported RSA modulus bitlen: {bits}")
        self.bits = bits


class EvenModulus(CertificateError):
    """The modulus is even, so it is not a product of two large primes."""

    def __init__(self) -> None:
        super().__init__("RSA modulus is an even number")


class UnsupportedExponent(CertificateError):
    """The exponent is not 65537."""

    def __init__(self, exponent: int) -> None:
        super().__init__(f"unsupported RSA public exponent: {exponent}")
        self.exponent = exponent


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
        raise CertificateTooLarge(len(der))
    match _public_key(der):
        case rsa.RSAPublicKey() as key:
            _check_rsa(key.public_numbers())
        case ec.EllipticCurvePublicKey() as key:
            if not isinstance(key.curve, ec.SECP256R1):
                raise UnsupportedCurve(key.curve.name)
        case _:
            raise UnsupportedKey


def _public_key(der: bytes) -> object:
    try:
        return load_der_public_key(subject_public_key_info(der))
    except (DerError, ValueError):
        raise MalformedCertificate from None
    except UnsupportedAlgorithm:
        raise UnsupportedKey from None


def _check_rsa(numbers: rsa.RSAPublicNumbers) -> None:
    if numbers.n.bit_length() not in MODULUS_SIZES:
        raise UnsupportedModulusSize(numbers.n.bit_length())
    if numbers.n % 2 == 0:
        raise EvenModulus
    if numbers.e != EXPONENT:
        raise UnsupportedExponent(numbers.e)


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
