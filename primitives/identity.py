"""A node's certificate: creating it, validating those of peers, the node ID (pchain.md 1.4), and signatures (p2p.md 4, 11.1).

The network trusts no certificate authority: a certificate only carries the key behind a node ID. X.509 libraries
reject certificates that the network accepts, such as those with serial number 0 that its nodes generate. Therefore a
minimal DER parser checks the outer structure of a certificate and finds its public key.
"""

from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_public_key,
)

from primitives.hashing import hash160
from primitives.ids import NodeID
from primitives.reasons import ErrorWithReason

if TYPE_CHECKING:  # only a new node makes a certificate
    from cryptography import x509

_SEQUENCE = 0x30
_EXPLICIT_VERSION = 0xA0


class DerError(Exception):
    """Bytes that are not the expected DER."""

    def __init__(self) -> None:
        super().__init__("malformed certificate")


class Element(NamedTuple):
    """One element: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    raw: bytes


def subject_public_key_info(certificate: bytes) -> bytes:
    """Return the DER of a certificate's public key.

    Raises:
        DerError: The bytes do not have the structure of a certificate.
    """
    outer, end = _read(certificate, 0)
    if end != len(certificate):
        raise DerError
    fields = _children(_children(outer)[0])
    if fields and fields[0].tag == _EXPLICIT_VERSION:
        del fields[0]
    # serial number, signature algorithm, issuer, validity, subject
    if len(fields) < 6:
        raise DerError
    return fields[5].raw


def _children(parent: Element) -> list[Element]:
    """Return the elements of a sequence, at least one."""
    if parent.tag != _SEQUENCE or not parent.content:
        raise DerError
    elements, position = [], 0
    while position < len(parent.content):
        element, position = _read(parent.content, position)
        elements.append(element)
    return elements


def _read(data: bytes, start: int) -> tuple[Element, int]:
    """Read the element at `start`; also return its end."""
    header = data[start : start + 2]
    if len(header) < 2:
        raise DerError
    tag, size = header
    position = start + 2
    if size >= 0x80:
        # certificates have lengths of at most two bytes; 0x80 alone is indefinite, which is BER
        size_of_size = size - 0x80
        if size_of_size not in {1, 2}:
            raise DerError
        size = int.from_bytes(data[position : position + size_of_size], "big")
        position += size_of_size
    end = position + size
    if end > len(data):
        raise DerError
    return Element(tag, data[position:end], data[start:end]), end


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
    from cryptography import x509

    key = ec.generate_private_key(ec.SECP256R1())
    empty_name = x509.Name([])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(empty_name)
        .issuer_name(empty_name)
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


def _digital_signature_only() -> "x509.KeyUsage":
    from cryptography import x509

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
