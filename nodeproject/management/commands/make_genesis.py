"""`make_genesis`: the genesis files of a new network with several validators, each named by its certificate and BLS key."""

import json
import ssl
import time
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from cchain_app.accounts.keyring import KeyringError
from cchain_app.apps import evm_chain
from cchain_app.genesis import complete_text
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.services.genesis import begin_time
from platform_app.apps import platform_chain
from platform_app.genesis.building import Founder, own_network
from platform_app.genesis.config import format_genesis_config
from platform_app.genesis.errors import GenesisError
from platform_app.txs.base import ProofOfPossession
from primitives import bls
from primitives.cb58 import Cb58Error
from primitives.identity import CertificateError, check_certificate, node_id_of
from primitives.ids import IdError, NodeID
from primitives.node_identity import UnusableSignerKey, signer_key_of
from primitives.whole_files import write_whole

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


class Command(BaseCommand):
    """Writes the genesis files of both chains, which all nodes of the network need."""

    help = "Write the genesis files of a new network whose validators are named."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--validator",
            action="append",
            required=True,
            type=founder,
            metavar="CERT:SIGNER",
            help="a validator: its certificate's file or node ID, and its BLS key's file or a JSON "
            "file with publicKey and proofOfPossession; may be repeated, and the first one makes "
            "the blocks if the validators do not vote, unless NODE_PRODUCER names another",
        )
        parser.add_argument(
            "--start", type=int, help="when the network begins, Unix seconds (default: now)"
        )
        parser.add_argument("directory", type=Path, help="where the files are written")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        start: int = int(time.time()) if options["start"] is None else options["start"]
        directory: Path = options["directory"]
        try:
            c_chain = complete_text(
                evm_chain().genesis_file(),
                timestamp=begin_time(evm_chain(), start),
                config=evm_chain().config,
            )
            config = own_network(
                platform_chain().config,
                options["validator"],
                start_time=start,
                c_chain_genesis=c_chain,
            )
            config.verify()
        except (GenesisError, GenesisFileError, KeyringError, OSError) as error:
            raise CommandError(str(error)) from error
        files = {"platform.json": format_genesis_config(config), "cchain.json": c_chain}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                write_whole(directory / name, text.encode())
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror or error}") from error
        self.stdout.write("Give these to every node of the network:")
        self.stdout.write(f"  NODE_PLATFORM_GENESIS={directory / 'platform.json'}")
        self.stdout.write(f"  NODE_GENESIS={directory / 'cchain.json'}")
