"""This node's identity out of its three files, and files that make none."""

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from network_app.handshake import identity
from network_app.handshake.identity import KeyOfAnother, NoCertificate, NodeIdentity, NoPrivateKey
from primitives.bls import InvalidSecretKey
from primitives.identity import MalformedCertificate
from tests.builders.nodes import node

NODE = node(0)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
PEM, PKCS8 = Encoding.PEM, PrivateFormat.PKCS8


def load(
    directory: Path,
    certificate: bytes = NODE.files.certificate_pem,
    key: bytes = NODE.files.key_pem,
    secret: bytes = NODE.bls_secret,
) -> NodeIdentity:
    files = {"staker.crt": certificate, "staker.key": key, "signer.key": secret}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return identity.load(*(directory / name for name in files))


def test_an_identity_is_read_from_its_files(tmp_path: Path) -> None:
    assert load(tmp_path) == NODE.identity
    assert load(tmp_path).tls_key.public_key() == NODE.identity.tls_key.public_key()


def test_secrets_are_not_shown() -> None:
    shown = repr(NODE.identity)

    assert shown == f"NodeIdentity(node_id={NODE.identity.node_id!r})"


def test_the_first_certificate_counts_whatever_stands_around_it(tmp_path: Path) -> None:
    chain = b"subject: nobody\n" + NODE.files.certificate_pem + node(1).files.certificate_pem

    assert load(tmp_path, certificate=chain) == NODE.identity


def test_an_older_form_of_key_is_read(tmp_path: Path) -> None:
    key = NODE.identity.tls_key.private_bytes(PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())

    assert key.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert load(tmp_path, key=key) == NODE.identity


@pytest.mark.parametrize(
    "certificate",
    [
        b"",
        NODE.files.key_pem,
        b"-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----",
        NODE.files.certificate_pem[:-30],
    ],
    ids=["empty", "a key", "no base64", "cut off"],
)
def test_a_file_without_a_certificate_is_refused(tmp_path: Path, certificate: bytes) -> None:
    message = f"{tmp_path / 'staker.crt'} holds no certificate"
    with pytest.raises(NoCertificate, match=f"^{re.escape(message)}$"):
        load(tmp_path, certificate=certificate)


def test_a_certificate_that_peers_refuse_is_refused(tmp_path: Path) -> None:
    certificate = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
    with pytest.raises(MalformedCertificate, match=r"^malformed certificate$"):
        load(tmp_path, certificate=certificate)


@pytest.mark.parametrize(
    "key",
    [
        b"",
        NODE.files.certificate_pem,
        EC_KEY.private_bytes(PEM, PKCS8, BestAvailableEncryption(b"password")),
        ed25519.Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, NoEncryption()),
    ],
    ids=["empty", "a certificate", "encrypted", "other kind"],
)
def test_a_file_without_a_usable_key_is_refused(tmp_path: Path, key: bytes) -> None:
    message = f"{tmp_path / 'staker.key'} holds no private key of a node"
    with pytest.raises(NoPrivateKey, match=f"^{re.escape(message)}$"):
        load(tmp_path, key=key)


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    message = f"{tmp_path / 'staker.key'} holds the key of another certificate"
    with pytest.raises(KeyOfAnother, match=f"^{re.escape(message)}$"):
        load(tmp_path, key=node(1).files.key_pem)


@pytest.mark.parametrize("secret", [b"", bytes(32), b"\xff" * 32, b"\x01" * 33])
def test_a_file_without_a_bls_key_is_refused(tmp_path: Path, secret: bytes) -> None:
    with pytest.raises(InvalidSecretKey, match=r"^invalid BLS secret key$"):
        load(tmp_path, secret=secret)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "signer.key").unlink()
    with pytest.raises(FileNotFoundError, match=r"signer\.key"):
        identity.load(*(tmp_path / name for name in ("staker.crt", "staker.key", "signer.key")))
