"""Which files of a node go into a backup: who it is, how its chains began, and the first password of the admin.

Not among them are Django's secret key, which signs sessions alone and is made anew, and whatever is only a process'.
"""

from collections.abc import Mapping
from pathlib import Path

from nodeproject.copies.backups.errors import OtherFile
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.initialise import password_file
from primitives.whole_files import write_whole


def paths(settings: NodeSettings, *, keys: bool) -> dict[str, Path]:
    """Return where a node's files are, by their names in a backup; not all of them need to be there.

    Args:
        settings: The node's.
        keys: Whether files with keys and passwords are among them.
    """
    genesis = settings.genesis_directory
    found = {
        "cchain_genesis.json": settings.directory / "cchain_genesis.json",
        "genesis/cchain.json": genesis / "cchain.json",
        "genesis/platform.bin": genesis / "platform.bin",
        "genesis/producers": genesis / "producers",
    }
    if keys:
        found |= {
            "staking/staker.crt": settings.certificate_path,
            "staking/staker.key": settings.staking_key_path,
            "staking/signer.key": settings.signer_path,
            "admin_password": password_file(settings),
        }
    return found


def verify_free(files: Mapping[Path, bytes]) -> None:
    """See that files can be written: none is there, or with the same content.

    Raises:
        OtherFile: One is there, with another content.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise OtherFile(path)


def write(files: Mapping[Path, bytes]) -> None:
    """Write files for their owner alone, each whole or not at all, and see that they are on the disk.

    One that has its content already is left alone: it may be mounted, and nobody may write it then.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() == content:
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, content)
