"""The certificates that this node creates, and those that it accepts."""

import ssl
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st

from primitives import identity
from primitives.hashing import hash160
from tests.builders.reasons import raises

NOW = int(datetime(2025, 3, 1, 12, tzinfo=UTC).timestamp())
MADE = identity.make_certificate(NOW)
DER = ssl.PEM_cert_to_DER_cert(MADE.certificate_pem.decode())


def element(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    size = len(content)
    length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def certificate_of(public_key_info: bytes, *, version: bool = True) -> bytes:
    """Return a minimal certificate: ignored fields are empty."""
    nothing = element(0x30)
    fields = [element(0xA0, b"\x02\x01\x02")] if version else []
    fields += [b"\x02\x01\x00", nothing, nothing, nothing, nothing, public_key_info]
    return element(0x30, element(0x30, *fields), nothing, b"\x03\x01\x00")


def info(key: object) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]


def rsa_info(modulus: int, exponent: int = 65537) -> bytes:
    """Return a handmade RSA key, because the library refuses to create bad ones."""

    def integer(number: int) -> bytes:
        return element(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))

    algorithm = element(0x30, bytes.fromhex("06092a864886f70d010101"), b"\x05\x00")
    key = element(0x30, integer(modulus), integer(exponent))
    return element(0x30, algorithm, element(0x03, b"\x00", key))


def test_a_new_certificate_is_accepted_by_ourselves() -> None:
    identity.check_certificate(DER)


def test_new_certificate_has_the_form_of_avalanchegos() -> None:
    certificate = x509.load_der_x509_certificate(DER)
    key = load_pem_private_key(MADE.key_pem, None)

    assert MADE.key_pem.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"
    assert certificate.public_key() == key.public_key()
    certificate.verify_directly_issued_by(certificate)
    assert certificate.not_valid_before_utc == datetime(1999, 12, 31, tzinfo=UTC)
    assert certificate.not_valid_after_utc == datetime(2125, 3, 1, 12, tzinfo=UTC)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_encipherment
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_on_a_leap_day_the_certificate_ends_a_day_later() -> None:
    leap_day = int(datetime(2000, 2, 29, tzinfo=UTC).timestamp())
    pem = identity.make_certificate(leap_day).certificate_pem
    end = x509.load_pem_x509_certificate(pem).not_valid_after_utc
    assert end == datetime(2100, 3, 1, tzinfo=UTC)


def test_node_identities_are_distinct() -> None:
    other = ssl.PEM_cert_to_DER_cert(identity.make_certificate(NOW).certificate_pem.decode())
    assert identity.node_id_of(other) != identity.node_id_of(DER)


def test_the_node_id_is_the_hash_of_the_whole_certificate() -> None:
    assert identity.node_id_of(DER) == hash160(DER)


@pytest.mark.parametrize("version", [True, False])
def test_the_key_is_found_with_and_without_a_version(*, version: bool) -> None:
    key_info = info(ec.generate_private_key(ec.SECP256R1()).public_key())
    outline = certificate_of(key_info, version=version)
    assert identity.subject_public_key_info(outline) == key_info
    identity.check_certificate(outline)


@pytest.mark.parametrize("bits", [2048, 4096])
def test_rsa_keys_of_two_sizes_are_accepted(bits: int) -> None:
    identity.check_certificate(certificate_of(rsa_info(2**bits - 1)))


@pytest.mark.parametrize("bits", [2047, 2049, 3072, 8192])
def test_rsa_keys_of_other_sizes_are_refused(bits: int) -> None:
    message = rf"^unsupported RSA modulus bitlen: {bits}$"
    with raises(
        identity.CertificateReason.UNSUPPORTED_MODULUS_SIZE,
        kind=identity.CertificateError,
        match=message,
    ):
        identity.check_certificate(certificate_of(rsa_info(2**bits - 1)))


def test_an_even_modulus_is_refused() -> None:
    with raises(
        identity.CertificateReason.EVEN_MODULUS,
        kind=identity.CertificateError,
        match=r"^RSA modulus is an even number$",
    ):
        identity.check_certificate(certificate_of(rsa_info(2**2048 - 2)))


@pytest.mark.parametrize("exponent", [3, 65539])
def test_another_exponent_is_refused(exponent: int) -> None:
    message = rf"^unsupported RSA public exponent: {exponent}$"
    with raises(
        identity.CertificateReason.UNSUPPORTED_EXPONENT,
        kind=identity.CertificateError,
        match=message,
    ):
        identity.check_certificate(certificate_of(rsa_info(2**2048 - 1, exponent)))


@pytest.mark.parametrize("curve", [ec.SECP384R1(), ec.SECP256K1()], ids=lambda curve: curve.name)
def test_another_curve_is_refused(curve: ec.EllipticCurve) -> None:
    key_info = info(ec.generate_private_key(curve).public_key())
    message = rf"^unsupported elliptic curve: {curve.name}$"
    with raises(
        identity.CertificateReason.UNSUPPORTED_CURVE, kind=identity.CertificateError, match=message
    ):
        identity.check_certificate(certificate_of(key_info))


def test_another_kind_of_key_is_refused() -> None:
    key_info = info(ed25519.Ed25519PrivateKey.generate().public_key())
    with raises(
        identity.CertificateReason.UNSUPPORTED_KEY,
        kind=identity.CertificateError,
        match=r"^unknown public key algorithm$",
    ):
        identity.check_certificate(certificate_of(key_info))


def test_unknown_curve_is_refused() -> None:
    elliptic, curve = bytes.fromhex("06072a8648ce3d0201"), bytes.fromhex("06032a0304")
    point = element(0x03, b"\x00\x04", bytes(64))
    key_info = element(0x30, element(0x30, elliptic, curve), point)
    with raises(
        identity.CertificateReason.UNSUPPORTED_KEY,
        kind=identity.CertificateError,
        match=r"^unknown public key algorithm$",
    ):
        identity.check_certificate(certificate_of(key_info))


def test_unknown_key_algorithm_is_refused() -> None:
    key_info = element(0x30, element(0x30, bytes.fromhex("06032a0304")), b"\x03\x02\x00\x00")
    with raises(
        identity.CertificateReason.UNSUPPORTED_KEY,
        kind=identity.CertificateError,
        match=r"^unknown public key algorithm$",
    ):
        identity.check_certificate(certificate_of(key_info))


def test_2048_bytes_are_the_limit() -> None:
    with raises(identity.CertificateReason.MALFORMED_CERTIFICATE, kind=identity.CertificateError):
        identity.check_certificate(bytes(2048))
    message = r"^certificate length is greater than 2048$"
    with raises(
        identity.CertificateReason.CERTIFICATE_TOO_LARGE,
        kind=identity.CertificateError,
        match=message,
    ):
        identity.check_certificate(bytes(2049))


def test_a_certificate_that_is_cut_off_anywhere_is_malformed() -> None:
    for size in range(len(DER)):
        with raises(
            identity.CertificateReason.MALFORMED_CERTIFICATE,
            kind=identity.CertificateError,
            match=r"^malformed certificate$",
        ):
            identity.check_certificate(DER[:size])


def test_bytes_after_a_certificate_are_refused() -> None:
    with raises(identity.CertificateReason.MALFORMED_CERTIFICATE, kind=identity.CertificateError):
        identity.check_certificate(DER + b"\0")


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(identity.CertificateError):
        identity.check_certificate(data)


@given(st.integers(0, len(DER) - 1), st.integers(0, 255))
def test_a_changed_byte_ends_in_nothing_but_a_refusal(place: int, byte: int) -> None:
    changed = DER[:place] + bytes([byte]) + DER[place + 1 :]
    # names and dates may have any contents
    with suppress(identity.CertificateError):
        identity.check_certificate(changed)


@pytest.mark.parametrize(
    "data",
    [
        "3080",  # indefinite length
        "3083000001 00",  # a length of three bytes
        "3000",
        "30023000",
        "3105 3003 020100",  # a set
        "3007 3005 0201000201",
    ],
)
def test_malformed_der_is_refused(data: str) -> None:
    with pytest.raises(identity.DerError, match=r"^malformed certificate$"):
        identity.subject_public_key_info(bytes.fromhex(data))
