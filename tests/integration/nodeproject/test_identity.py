"""The node's identity files: created once, readable by the owner only, and never in place of configured files."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from nodeproject import asgi
from nodeproject.apps import this_node
from nodeproject.startup import identity
from nodeproject.startup.identity import make_identity
from nodeproject.startup.process import CannotStart, StartReason
from platform_app.apps import platform_chain
from primitives import bls, whole_files
from primitives.identity import check_certificate
from primitives.node_identity import UnusableSignerKey
from tests.builders.modules import module_with
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.builders.reasons import raises

pytestmark = pytest.mark.sqlite_only

NOW = 1_700_000_000
FILES = ("staker.crt", "staker.key", "signer.key")


@pytest.fixture(autouse=True)
def directory(node_settings: Any, settings: Any, tmp_path: Path) -> Path:
    """The directory of the three files, in a data directory that does not exist yet."""
    settings.NODE = updated(node_settings, data_dir=str(tmp_path / "data"))
    return tmp_path / "data" / "staking"


def test_a_process_without_keys_leaves_all_blocks_to_the_producer(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not asgi.may_make_blocks(this_node())
    assert "only the producer builds blocks" in caplog.text
    assert "staker.crt" in caplog.text

    make_identity(this_node().settings, now=NOW)
    assert asgi.may_make_blocks(this_node())


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_first_start_makes_three_files(directory: Path) -> None:
    make_identity(this_node().settings, NOW)

    assert sorted(contents(directory)) == sorted(FILES)


def test_files_are_private_for_any_umask(directory: Path) -> None:
    before = os.umask(0)
    try:
        make_identity(this_node().settings, NOW)
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert modes == dict.fromkeys(FILES, 0o600)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_certificate_matches_its_key_and_is_accepted_by_peers(directory: Path) -> None:
    make_identity(this_node().settings, NOW)
    made = contents(directory)

    certificate = x509.load_pem_x509_certificate(made["staker.crt"])
    key = load_pem_private_key(made["staker.key"], None)
    assert key.public_key() == certificate.public_key()
    from cryptography.hazmat.primitives.serialization import Encoding

    check_certificate(certificate.public_bytes(Encoding.DER))
    assert str(platform_chain().node_id).startswith("NodeID-")


def test_bls_key_is_valid_and_its_proof_verifies(directory: Path) -> None:
    make_identity(this_node().settings, NOW)

    signer = platform_chain().proof_of_possession
    secret = contents(directory)["signer.key"]
    assert len(secret) == 32
    assert 0 < int.from_bytes(secret, "big") < bls.ORDER
    assert signer.public_key == bls.public_key(secret)
    assert bls.verify_possession(signer.public_key, signer.proof_of_possession)


def test_later_starts_keep_the_files(directory: Path) -> None:
    make_identity(this_node().settings, NOW)
    made, node_id = contents(directory), platform_chain().node_id

    make_identity(this_node().settings, NOW + 1_000)
    restart_node()

    assert contents(directory) == made
    assert platform_chain().node_id == node_id


def test_two_nodes_are_two(settings: Any, tmp_path: Path, directory: Path) -> None:
    make_identity(this_node().settings, NOW)
    first, first_key = platform_chain().node_id, platform_chain().proof_of_possession.public_key
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path / "another"))

    make_identity(this_node().settings, NOW)

    assert platform_chain().node_id != first
    assert platform_chain().proof_of_possession.public_key != first_key


@pytest.mark.parametrize("written", range(3))
def test_interrupted_start_is_completed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Interrupt after some of the three files; afterwards all of them are complete."""
    write, left = identity._write, iter(range(written))

    def interrupted(path: Path, content: bytes) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(identity, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_identity(this_node().settings, NOW)
    make_identity(this_node().settings, NOW)

    test_certificate_matches_its_key_and_is_accepted_by_peers(directory)
    assert sorted(contents(directory)) == sorted(FILES)


def test_file_is_written_completely_or_not_at_all(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def power_cut(_descriptor: int) -> None:
        raise OSError("no power")

    with monkeypatch.context() as patched:
        patched.setattr(whole_files, "os", module_with(os, fsync=power_cut))
        with pytest.raises(OSError, match="no power"):
            make_identity(this_node().settings, NOW)
    assert not set(FILES) & set(contents(directory))

    make_identity(this_node().settings, NOW)
    assert set(FILES) <= set(contents(directory))


def test_configured_files_are_used_unchanged(
    settings: Any, tmp_path: Path, directory: Path
) -> None:
    make_identity(this_node().settings, NOW)
    named = tmp_path / "named"
    directory.rename(named)
    made = contents(named)
    settings.NODE = updated(
        settings.NODE,
        staking_cert_file=str(named / "staker.crt"),
        staking_key_file=str(named / "staker.key"),
        signer_key_file=str(named / "signer.key"),
    )

    make_identity(this_node().settings, NOW)

    assert contents(named) == made
    assert not directory.exists()
    assert str(platform_chain().node_id).startswith("NodeID-")


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        (("staking_cert_file", "staking_key_file"), "staking_cert_file"),
        (("staking_cert_file", "staking_key_file"), "staking_key_file"),
        (("signer_key_file",), "signer_key_file"),
    ],
)
def test_missing_configured_file_prevents_the_start(
    settings: Any, tmp_path: Path, directory: Path, named: tuple[str, ...], missing: str
) -> None:
    """A typing error in a path must not create another node, nor overwrite the existing key."""
    paths = {name: tmp_path / name for name in named}
    there = [path for name, path in paths.items() if name != missing]
    for path in there:
        path.write_text("the operator's")
    settings.NODE = updated(settings.NODE, **{name: str(path) for name, path in paths.items()})

    with raises(StartReason.MISSING_FILE, kind=CannotStart) as refused:
        make_identity(this_node().settings, NOW)

    assert str(refused.value) == (
        f"NODE_{missing.upper()} names {paths[missing]}, which does not exist; without the setting "
        "the node creates its own"
    )
    assert isinstance(refused.value, CannotStart)
    assert not directory.exists()
    assert [path.read_text() for path in there] == ["the operator's"] * len(there)


@pytest.mark.parametrize("named", ["staking_cert_file", "staking_key_file"])
def test_certificate_and_key_are_named_together(
    settings: Any, tmp_path: Path, directory: Path, named: str
) -> None:
    there = tmp_path / "there"
    there.write_text("the operator's")
    settings.NODE = updated(settings.NODE, **{named: str(there)})

    with raises(StartReason.HALF_AN_IDENTITY, kind=CannotStart) as refused:
        make_identity(this_node().settings, NOW)

    assert str(refused.value) == (
        "NODE_STAKING_CERT_FILE and NODE_STAKING_KEY_FILE belong together: set both"
    )
    assert there.read_text() == "the operator's"
    assert not directory.exists()


@pytest.mark.parametrize("secret", [b"", b"\0" * 32, b"\xff" * 32, b"\1" * 31, b"\1" * 33], ids=len)
def test_an_invalid_bls_key_is_refused(directory: Path, secret: bytes) -> None:
    make_identity(this_node().settings, NOW)
    path = directory / "signer.key"
    path.write_bytes(secret)

    with pytest.raises(UnusableSignerKey) as refused:
        _ = platform_chain().proof_of_possession

    assert str(refused.value) == (
        f"{path} holds no BLS key: it must be 32 bytes, below the group's order"
    )
