"""Signatures by both kinds of certificate keys."""

import ssl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from primitives.identity import (
    CertificateError,
    CertificateReason,
    PrivateKey,
    make_certificate,
    public_key_of,
    sign,
    verify,
)
from tests.builders.reasons import raises

MESSAGE = b"what is signed"
EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(65537, 2048)

kinds = pytest.mark.parametrize("key", [EC_KEY, RSA_KEY], ids=["ECDSA", "RSA"])


@kinds
def test_signature_is_valid_only_for_its_message_and_key(key: PrivateKey) -> None:
    signature = sign(key, MESSAGE)
    stranger = ec.generate_private_key(ec.SECP256R1())

    assert verify(key.public_key(), MESSAGE, signature)
    assert not verify(key.public_key(), MESSAGE + b"!", signature)
    assert not verify(stranger.public_key(), MESSAGE, signature)
    assert not verify(key.public_key(), MESSAGE, sign(stranger, MESSAGE))


@kinds
@pytest.mark.parametrize(
    "signature", [b"", b"\x30\x00", bytes(64), bytes(256), b"\xff" * 10_000], ids=len
)
def test_other_bytes_do_not_verify(key: PrivateKey, signature: bytes) -> None:
    assert not verify(key.public_key(), MESSAGE, signature)


def test_the_hash_of_the_message_is_signed() -> None:
    RSA_KEY.public_key().verify(sign(RSA_KEY, MESSAGE), MESSAGE, PKCS1v15(), SHA256())
    EC_KEY.public_key().verify(sign(EC_KEY, MESSAGE), MESSAGE, ec.ECDSA(SHA256()))


def test_a_certificate_has_its_key() -> None:
    made = make_certificate(now=0)
    key = load_pem_private_key(made.key_pem, None)

    der = ssl.PEM_cert_to_DER_cert(made.certificate_pem.decode())
    assert public_key_of(der) == key.public_key()


def test_public_key_of_malformed_certificate_is_refused() -> None:
    with raises(
        CertificateReason.MALFORMED_CERTIFICATE,
        kind=CertificateError,
        match=r"^malformed certificate$",
    ):
        public_key_of(b"none")
