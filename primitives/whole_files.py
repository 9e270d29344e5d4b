"""Files that are there whole or not at all, whatever ends the process or the machine."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file for its owner alone; it is in its place when all of it is on the disk.

    Raises:
        OSError: It cannot be written; what was there before is there still, and nothing else.
    """
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    to_disk(path.parent)


def to_disk(path: Path) -> None:
    """See that a file, or what a directory lists, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
