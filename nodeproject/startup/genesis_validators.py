"""The validators of a new network, each named by its certificate and its BLS key, secret or public."""

import json
import ssl
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any, Final

from platform_app.genesis.building import Founder
from platform_app.txs.base import ProofOfPossession
from primitives import bls
from primitives.cb58 import Cb58Error
from primitives.identity import CertificateError, check_certificate, node_id_of
from primitives.ids import IdError, NodeID
from primitives.node_identity import UnusableSignerKey, signer_key_of

_MAX_BYTES: Final = 64 * 1024
"""Bytes of a JSON file that are read: an answer of info.getNodeID has less than a kilobyte."""


def founder(text: str) -> Founder:
    """Parse `CERT:SIGNER` from a command line.

    CERT is a node's staking certificate, or its node ID. SIGNER is the file of its BLS key, or a JSON file
    with `publicKey` and `proofOfPossession`, which may be a whole answer of info.getNodeID: with that the
    node's owner reveals no secret.

    Raises:
        ArgumentTypeError: CERT or SIGNER is invalid; the message is the reason.
    """
    node, separator, signer = text.rpartition(":")
    if not separator:
        raise ArgumentTypeError(f"{text!r} is not CERT:SIGNER")
    try:
        return Founder(_node_id(node), _signer(Path(signer)))
    except OSError as error:
        raise ArgumentTypeError(str(error)) from error


def _node_id(text: str) -> NodeID:
    if text.startswith("NodeID-"):
        try:
            return NodeID.parse(text)
        except (Cb58Error, IdError) as error:
            raise ArgumentTypeError(f"{text}: {error}") from error
    try:
        der = ssl.PEM_cert_to_DER_cert(Path(text).read_text())
        check_certificate(der)
    except (ValueError, CertificateError) as error:
        raise ArgumentTypeError(f"{text} holds no staking certificate: {error}") from error
    return node_id_of(der)


def _signer(path: Path) -> ProofOfPossession:
    if path.stat().st_size == bls.SECRET_KEY_SIZE:
        try:
            return ProofOfPossession(*signer_key_of(path.read_bytes(), path))
        except UnusableSignerKey as error:
            raise ArgumentTypeError(str(error)) from error
    proof = _public(path)
    if not bls.verify_possession(proof.public_key, proof.proof_of_possession):
        raise ArgumentTypeError(f"{path}: the proof is not that of the public key")
    return proof


def _public(path: Path) -> ProofOfPossession:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
        found: Any = json.loads(text if len(text) <= _MAX_BYTES else b"")
        for name in ("result", "nodePOP"):
            found = found.get(name, found)
        key, proof = found["publicKey"], found["proofOfPossession"]
        return ProofOfPossession(_bytes(key), _bytes(proof))
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise ArgumentTypeError(
            f"{path} holds neither a BLS key of 32 bytes nor publicKey and proofOfPossession"
        ) from error


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))
