"""Creates this node's identity at its first start: staking certificate and BLS key, stored in files.

The files prove the node's identity, so only their owner can read them (0600). `primitives.node_identity` reads them.
"""

import fcntl
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nodeproject.settings.node import NodeSettings
from nodeproject.startup.process import CannotStart, StartReason
from primitives import bls
from primitives.identity import make_certificate
from primitives.node_identity import IdentityFiles
from primitives.whole_files import write_whole


def files_of(node: NodeSettings) -> IdentityFiles:
    """Return the paths of the node's identity from the settings."""
    return IdentityFiles(node.certificate_path, node.staking_key_path, node.signer_path)


def make_identity(node: NodeSettings, now: int) -> None:
    """Create the missing files. A certificate and its key are only created together.

    If several processes start in one data directory, one creates the files and the others use them.

    Args:
        node: The settings with the paths.
        now: Unix seconds.

    Raises:
        CannotStart: A file that the settings name is missing, because only files in the data directory are created;
            only one of certificate and key is named; or they are invalid or do not match.
    """
    if bool(node.staking_cert_file) != bool(node.staking_key_file):
        raise CannotStart(StartReason.HALF_AN_IDENTITY)
    _check_named("NODE_STAKING_CERT_FILE", node.staking_cert_file)
    _check_named("NODE_STAKING_KEY_FILE", node.staking_key_file)
    _check_named("NODE_SIGNER_KEY_FILE", node.signer_key_file)
    files = files_of(node)
    make_files(node.common.directory, files, now)
    _check_pair(files.certificate, files.key)


def require_identity(node: NodeSettings) -> None:
    """Refuse the start of an existing node on a machine without its identity.

    With an identity of its own the machine would be a different node, whose blocks others reject.

    Raises:
        CannotStart: A file in the data directory is missing. `make_identity` checks those that settings name.
    """
    files = files_of(node)
    given = (node.staking_cert_file, node.staking_key_file, node.signer_key_file)
    for path, name in zip((files.certificate, files.key, files.signer), given, strict=True):
        if not name and not path.exists():
            raise CannotStart(StartReason.NO_IDENTITY, path=path, directory=path.parent)


def make_files(directory: Path, files: IdentityFiles, now: int) -> None:
    """Create the missing files of a node's identity; other processes wait at a lock in the directory."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone_in(directory):
        if not files.certificate.exists():
            made = make_certificate(now)
            _write(files.key, made.key_pem)
            # Last: if a start is interrupted before, the next one creates the key again.
            _write(files.certificate, made.certificate_pem)
        if not files.signer.exists():
            _write(files.signer, _random_secret())


def _check_named(setting: str, name: str) -> None:
    if name and not Path(name).exists():
        raise CannotStart(StartReason.MISSING_FILE, setting=setting, path=Path(name))


def _check_pair(certificate: Path, key: Path) -> None:
    """Verify that a certificate is valid and matches its key."""
    try:
        # The empty password makes an encrypted key fail, instead of prompting in the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:  # ssl's errors are subclasses
        raise CannotStart(
            StartReason.UNUSABLE_CERTIFICATE, certificate=certificate, key=key, cause=str(error)
        ) from error


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Exclude other processes that create files in a directory. The kernel releases the lock at a process's end."""
    # A separate file, because network volumes only lock files that are open for writing.
    with (directory / "identity.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _random_secret() -> bytes:
    return (1 + secrets.randbelow(bls.ORDER - 1)).to_bytes(bls.SECRET_KEY_SIZE, "big")


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, content)
