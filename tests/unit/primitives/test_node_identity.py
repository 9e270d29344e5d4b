"""This node's identity from its three files, and invalid files."""

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

from primitives import bls
from primitives.identity import CertificateError, CertificateReason
from primitives.node_identity import (
    IdentityError,
    IdentityFiles,
    IdentityReason,
    NoCertificate,
    NodeIdentity,
    UnusableSignerKey,
)
from tests.builders.nodes import node
from tests.builders.reasons import raises

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
    return IdentityFiles(*(directory / name for name in files)).keys


def test_an_identity_is_read_from_its_files(tmp_path: Path) -> None:
    assert load(tmp_path) == NODE.identity
    assert load(tmp_path).tls_key.public_key() == NODE.identity.tls_key.public_key()


def test_secrets_are_not_shown() -> None:
    shown = repr(NODE.identity)

    assert shown == f"NodeIdentity(node_id={NODE.identity.node_id!r})"


def test_first_certificate_of_a_pem_file_is_used(tmp_path: Path) -> None:
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
    with raises(
        CertificateReason.MALFORMED_CERTIFICATE,
        kind=CertificateError,
        match=r"^malformed certificate$",
    ):
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
    with raises(IdentityReason.NO_PRIVATE_KEY, kind=IdentityError, match=f"^{re.escape(message)}$"):
        load(tmp_path, key=key)


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    message = f"{tmp_path / 'staker.key'} holds the key of another certificate"
    with raises(IdentityReason.KEY_OF_ANOTHER, kind=IdentityError, match=f"^{re.escape(message)}$"):
        load(tmp_path, key=node(1).files.key_pem)


@pytest.mark.parametrize("secret", [b"", bytes(32), b"\xff" * 32, b"\x01" * 33])
def test_a_file_without_a_bls_key_is_refused(tmp_path: Path, secret: bytes) -> None:
    message = f"{tmp_path / 'signer.key'} holds no BLS key: it must be 32 bytes, below"
    with pytest.raises(UnusableSignerKey, match=f"^{re.escape(message)}"):
        load(tmp_path, secret=secret)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "signer.key").unlink()
    with pytest.raises(FileNotFoundError, match=r"signer\.key"):
        _ = IdentityFiles(
            *(tmp_path / name for name in ("staker.crt", "staker.key", "signer.key"))
        ).keys


def test_each_file_is_read_when_it_is_needed_and_once(tmp_path: Path) -> None:
    files = IdentityFiles.below(tmp_path)
    files.certificate.parent.mkdir()
    with pytest.raises(FileNotFoundError):
        _ = files.node_id

    files.certificate.write_bytes(NODE.files.certificate_pem)
    assert files.node_id == NODE.identity.node_id  # works without a key

    files.key.write_bytes(NODE.files.key_pem)
    files.signer.write_bytes(NODE.bls_secret)
    assert files.signer_key.public_key == NODE.identity.bls_public_key
    for path in (files.certificate, files.signer):
        path.unlink()
    assert files.keys == NODE.identity


def test_the_proof_of_possession_is_that_of_the_key(tmp_path: Path) -> None:
    load(tmp_path)

    key = IdentityFiles(*(tmp_path / name for name in ("staker.crt", "staker.key", "signer.key")))
    assert bls.verify_possession(*key.signer_key)
