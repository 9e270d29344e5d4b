"""The files of a node that belong into a backup: its identity, the genesis of its chains, and the admin's first password.

Django's secret key is not included, because it only signs sessions and can be created again, nor are files of a process.
"""

from collections.abc import Mapping
from pathlib import Path

from nodeproject.copies.backups.errors import BackupReason, BackupRefused
from nodeproject.settings.node import NodeSettings
from primitives.whole_files import write_whole


def paths(settings: NodeSettings, *, keys: bool) -> dict[str, Path]:
    """Return the paths of a node's files by their names in a backup; some may not exist.

    Args:
        settings: The node's settings.
        keys: Whether to include files with keys and passwords.
    """
    genesis = settings.common.genesis_directory
    found = {
        "cchain_genesis.json": settings.common.directory / "cchain_genesis.json",
        "genesis/cchain.json": genesis / "cchain.json",
        "genesis/platform.bin": genesis / "platform.bin",
        "genesis/producers": genesis / "producers",
    }
    if keys:
        found |= {
            "staking/staker.crt": settings.certificate_path,
            "staking/staker.key": settings.staking_key_path,
            "staking/signer.key": settings.signer_path,
            "admin_password": settings.password_path,
        }
    return found


def verify_free(files: Mapping[Path, bytes]) -> None:
    """Verify that files can be written: each is missing or has the same content already.

    Raises:
        BackupRefused: A file exists with other content.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise BackupRefused(BackupReason.OTHER_FILE, path=path)


def write(files: Mapping[Path, bytes]) -> None:
    """Write files for their owner only, each atomically and flushed to the disk.

    A file that already has its content is not written: it may be mounted read-only.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() == content:
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, content)
