"""Signatures, proofs of possession and node IDs: vectors of the reference implementation."""

import base64
import ssl
from typing import Any

import pytest

from primitives import bls, bls_native, bls_py_ecc, identity, secp256k1
from primitives.bls import Library, Suite
from primitives.hashing import sha256
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases

libraries = pytest.mark.parametrize(
    "library", [bls_native, bls_py_ecc], ids=lambda library: library.__name__
)


@pytest.mark.parametrize("case", cases("secp256k1_signatures"))
def test_signatures_are_deterministic_and_name_their_signer(case: dict[str, Any]) -> None:
    digest = sha256(case["message"].encode())
    signature = bytes.fromhex(case["signature"])

    assert digest.hex() == case["messageSha256"]
    assert secp256k1.sign_sha256(digest, bytes.fromhex(case["privateKeyHex"])) == signature
    assert secp256k1.recover_address(digest, signature).hex() == case["address"]


@pytest.mark.parametrize("case", cases("bls_proof_of_possession"))
@libraries
def test_proofs_of_possession_are_checked(library: Library, case: dict[str, Any]) -> None:
    key, proof = _bytes(case["publicKey"]), _bytes(case["proofOfPossession"])
    assert library.verify(key, key, proof, Suite.POSSESSION.value) is case["valid"]


@pytest.mark.parametrize("case", cases("bls_proof_of_possession", secretKeyHex=...))
@libraries
def test_proofs_of_possession_are_made(library: Library, case: dict[str, Any]) -> None:
    secret = bytes.fromhex(case["secretKeyHex"])
    key = library.public_key(secret)
    assert key == _bytes(case["publicKey"])
    assert library.sign(secret, key, Suite.POSSESSION.value) == _bytes(case["proofOfPossession"])


@pytest.mark.parametrize("case", cases("bls_proof_of_possession", secretKeyHex=...))
def test_the_library_in_use_makes_and_checks_the_same_proofs(case: dict[str, Any]) -> None:
    proof = bls.prove_possession(bytes.fromhex(case["secretKeyHex"]))
    assert proof == _bytes(case["proofOfPossession"])
    assert bls.verify_possession(_bytes(case["publicKey"]), proof)


@pytest.mark.parametrize("case", cases("node_id_from_cert", error=None))
def test_certificate_is_accepted_and_gives_its_node_id(case: dict[str, Any]) -> None:
    der = ssl.PEM_cert_to_DER_cert(case["certificatePEM"])
    identity.check_certificate(der)
    assert sha256(der).hex() == case["derSha256"]
    assert str(identity.node_id_of(der)) == case["nodeID"]


@pytest.mark.parametrize("case", cases("node_id_from_cert", error=...))
def test_a_large_certificate_is_refused(case: dict[str, Any]) -> None:
    der = base64.b64decode(case["certificateDERBase64"])
    assert len(der) == case["derLength"]
    with raises(
        identity.CertificateReason.CERTIFICATE_TOO_LARGE,
        kind=identity.CertificateError,
        match=rf"^{case['error']}$",
    ):
        identity.check_certificate(der)


@pytest.mark.parametrize("case", cases("proposervm_blocks", signatureValid=True))
def test_certificates_with_the_serial_number_0_are_accepted(case: dict[str, Any]) -> None:
    der = bytes.fromhex(case["fields"]["certificateDER"])
    identity.check_certificate(der)
    assert str(identity.node_id_of(der)) == case["proposer"]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))
