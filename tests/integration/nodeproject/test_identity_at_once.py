"""Several starts on one volume create one node, and files of two nodes are rejected."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from nodeproject.apps import this_node
from nodeproject.startup import identity
from nodeproject.startup.identity import make_identity
from nodeproject.startup.process import CannotStart, StartReason
from primitives.identity import KeyAndCertificate, make_certificate
from tests.builders.node_settings import updated
from tests.builders.reasons import raises

NOW = 1_700_000_000
STARTS = 4


@pytest.fixture(autouse=True)
def directory(node_settings: Any, settings: Any, tmp_path: Path) -> Path:
    """The directory of the three files, in a data directory that does not exist yet."""
    settings.NODE = updated(node_settings, data_dir=str(tmp_path / "data"))
    return tmp_path / "data" / "staking"


def test_concurrent_starts_create_one_identity(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a lock, one start could write its key between another one's key and certificate."""
    made: list[KeyAndCertificate] = []

    def make(now: int) -> KeyAndCertificate:
        made.append(make_certificate(now))
        return made[-1]

    monkeypatch.setattr(identity, "make_certificate", make)
    barrier = Barrier(STARTS)

    def start(_number: int) -> bytes:
        barrier.wait()
        make_identity(this_node().settings, NOW)
        return (directory / "signer.key").read_bytes()

    with ThreadPoolExecutor(STARTS) as threads:
        signers = set(threads.map(start, range(STARTS)))

    (one,) = made
    assert (directory / "staker.key").read_bytes() == one.key_pem
    assert (directory / "staker.crt").read_bytes() == one.certificate_pem
    assert len(signers) == 1


def _encrypted(pem: bytes) -> bytes:
    key: Any = load_pem_private_key(pem, None)
    return bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    )


@pytest.mark.parametrize("broken", ["another", "encrypted", "empty", "certificate"])
def test_files_of_two_nodes_prevent_the_start(directory: Path, broken: str) -> None:
    make_identity(this_node().settings, NOW)
    certificate, key = directory / "staker.crt", directory / "staker.key"
    match broken:
        case "another":
            key.write_bytes(make_certificate(NOW).key_pem)
        case "encrypted":
            key.write_bytes(_encrypted(key.read_bytes()))
        case "empty":
            key.write_bytes(b"")
        case _:
            certificate.write_text("no certificate")

    with raises(StartReason.UNUSABLE_CERTIFICATE, kind=CannotStart) as refused:
        make_identity(this_node().settings, NOW)

    assert str(refused.value).startswith(
        f"{certificate} and {key} hold no certificate and its key: "
    )
    assert isinstance(refused.value, CannotStart)
