"""Makes this node's identity at its first start: staking certificate and BLS key, kept in files.

Who holds these files is this node; they are its owner's alone (0600). `primitives.node_identity` reads them.
"""

import fcntl
import secrets
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nodeproject.processes.process import CannotStart
from nodeproject.settings.node import NodeSettings
from primitives import bls
from primitives.identity import make_certificate
from primitives.node_identity import IdentityFiles
from primitives.whole_files import write_whole


class MissingIdentityFile(CannotStart):
    """A file that the settings name is not there: making one would make another node."""

    def __init__(self, setting: str, path: Path) -> None:
        super().__init__(
            f"{setting} names {path}, which is not there: without the setting the node makes its own"
        )
        self.path = path


class HalfAnIdentity(CannotStart):
    """Only one of certificate and key is named: the other would be made, and fit nothing."""

    def __init__(self) -> None:
        super().__init__(
            "NODE_STAKING_CERT_FILE and NODE_STAKING_KEY_FILE belong together: set both"
        )


class UnusableCertificate(CannotStart):
    """Certificate and key cannot be used, or not with each other."""

    def __init__(self, certificate: Path, key: Path, reason: str) -> None:
        super().__init__(f"{certificate} and {key} are no certificate and its key: {reason}")
        self.certificate = certificate
        self.key = key


def files_of(node: NodeSettings) -> IdentityFiles:
    """Return where the settings say that a node's identity is kept."""
    return IdentityFiles(node.certificate_path, node.staking_key_path, node.signer_path)


def make_identity(node: NodeSettings, now: int) -> None:
    """Make the files that are missing. A certificate and its key are only made together.

    Several processes may begin in one data directory: one makes the files, the others find them.

    Args:
        node: the settings that say where they are.
        now: Unix seconds.

    Raises:
        MissingIdentityFile: A file is not there that the settings name: only what is in the data
            directory is made.
        HalfAnIdentity: Only one of certificate and key is named.
        UnusableCertificate: Certificate and key are none, or not of one node.
    """
    if bool(node.staking_cert_file) != bool(node.staking_key_file):
        raise HalfAnIdentity
    _check_named("NODE_STAKING_CERT_FILE", node.staking_cert_file)
    _check_named("NODE_STAKING_KEY_FILE", node.staking_key_file)
    _check_named("NODE_SIGNER_KEY_FILE", node.signer_key_file)
    files = files_of(node)
    make_files(node.directory, files, now)
    _check_pair(files.certificate, files.key)


def make_files(directory: Path, files: IdentityFiles, now: int) -> None:
    """Make those of a node's files that are missing; the directory is where others wait meanwhile."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone_in(directory):
        if not files.certificate.exists():
            made = make_certificate(now)
            _write(files.key, made.key_pem)
            # Last: without it, the key of a start that was interrupted is made anew.
            _write(files.certificate, made.certificate_pem)
        if not files.signer.exists():
            _write(files.signer, _random_secret())


def _check_named(setting: str, name: str) -> None:
    if name and not Path(name).exists():
        raise MissingIdentityFile(setting, Path(name))


def _check_pair(certificate: Path, key: Path) -> None:
    """See that a certificate is one, and that the key is its own."""
    try:
        # No password: an encrypted key is refused instead of asking the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:  # ssl's errors are below it
        raise UnusableCertificate(certificate, key, str(error)) from error


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Keep others out who do the same in a directory. The kernel lets go when a process ends."""
    # A file of its own: volumes over the network lock nothing that is not open for writing.
    with (directory / "identity.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _random_secret() -> bytes:
    return (1 + secrets.randbelow(bls.ORDER - 1)).to_bytes(bls.SECRET_KEY_SIZE, "big")


def _write(path: Path, content: bytes) -> None:
    """Write a file for its owner's eyes, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, content)
