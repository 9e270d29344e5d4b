"""A genesis validator is given by its certificate or node ID, and its BLS key or proof."""

import json
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

from nodeproject.management.commands.make_genesis import founder
from platform_app.txs.base import ProofOfPossession
from primitives import bls
from primitives.identity import make_certificate, node_id_of
from tests.builders.platform import NOW, proof_of_possession

SECRET = (7).to_bytes(32, "big")
PROOF = proof_of_possession(7)
PUBLIC = {
    "publicKey": "0x" + PROOF.public_key.hex(),
    "proofOfPossession": "0x" + PROOF.proof_of_possession.hex(),
}
NODE = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory that contains a certificate and a key."""
    made = make_certificate(NOW)
    (tmp_path / "staker.crt").write_bytes(made.certificate_pem)
    (tmp_path / "staker.key").write_bytes(made.key_pem)
    (tmp_path / "signer.key").write_bytes(SECRET)
    return tmp_path


def public(files: Path, document: Any) -> Path:
    path = files / "signer.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def refusal(text: str) -> str:
    with pytest.raises(ArgumentTypeError) as refused:
        founder(text)
    return str(refused.value)


def test_a_certificate_and_a_key(files: Path) -> None:
    import ssl

    der = ssl.PEM_cert_to_DER_cert((files / "staker.crt").read_text())

    found = founder(f"{files / 'staker.crt'}:{files / 'signer.key'}")

    assert found.node_id == node_id_of(der)
    assert found.signer == ProofOfPossession(bls.public_key(SECRET), bls.prove_possession(SECRET))


def test_a_file_that_is_too_long_for_a_proof_is_not_read_to_its_end(files: Path) -> None:
    path = public(files, json.dumps(PUBLIC) + " " * 100_000)

    assert "holds neither" in refusal(f"{NODE}:{path}")


@pytest.mark.parametrize(
    "document", [PUBLIC, {"nodePOP": PUBLIC}, {"result": {"nodeID": NODE, "nodePOP": PUBLIC}}]
)
def test_founder_from_node_id_and_public_document(files: Path, document: Any) -> None:
    found = founder(f"{NODE}:{public(files, document)}")

    assert (str(found.node_id), found.signer) == (NODE, PROOF)


def test_founder_with_malformed_key_is_refused(files: Path) -> None:
    certificate, key = files / "staker.crt", files / "signer.key"

    assert refusal("staker.crt") == "'staker.crt' is not CERT:SIGNER"
    assert "No such file" in refusal(f"/nowhere:{key}")
    assert "No such file" in refusal(f"{certificate}:/nowhere")
    assert f"{key} holds no staking certificate" in refusal(f"{key}:{key}")
    assert refusal(f"NodeID-1:{key}").startswith("NodeID-1: ")
    key.write_bytes(bytes(32))
    assert refusal(f"{certificate}:{key}") == (
        f"{key} holds no BLS key: it must be 32 bytes, below the group's order"
    )


@pytest.mark.parametrize(
    "document",
    ["", "{}", "[]", "1", '"text"', "{" * 100_000, '{"publicKey": "0x", "proofOfPossession": 5}',
     {"publicKey": "zz", "proofOfPossession": "zz"}],
)  # fmt: skip
def test_founder_without_proof_of_possession_is_refused(files: Path, document: Any) -> None:
    path = public(files, document)

    assert refusal(f"{NODE}:{path}") == (
        f"{path} holds neither a BLS key of 32 bytes nor publicKey and proofOfPossession"
    )


def test_founder_with_foreign_proof_is_refused(files: Path) -> None:
    proof = {"proofOfPossession": proof_of_possession(8).proof_of_possession.hex()}
    path = public(files, PUBLIC | proof)

    assert refusal(f"{NODE}:{path}") == f"{path}: the proof is not that of the public key"
