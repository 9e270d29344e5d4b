"""Files that are complete or absent, even after a crash of process or machine, and private to their owner.

Every file that the program writes outside its data directory is written here. Other users may be able
to write to such a directory, so an existing name may be a link to another file, or a file that another
user can read.
"""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

_PRIVATE: Final = 0o600


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that only its owner can open; it gets its name when it is complete on disk.

    Raises:
        OSError: It cannot be written. An existing file of the name is unchanged, and no other file is left.
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


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Yield a file that only its owner can open; it gets its name when it is complete on disk.

    That is after the body; until then it is named `.NAME.partial`. A killed process leaves that file, and
    the next call for the same path overwrites it.

    Args:
        path: Final path of the file.
        replace: Whether to replace an existing file of the name.

    Raises:
        FileExistsError: A file of the name exists and is not to be replaced.
        BlockingIOError: Another process is writing the file.
        PermissionError: The partial file is not this user's own regular file.
        OSError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.partial")
    with _locked(part) as file:
        file.truncate()
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _give_name(part, path, replace=replace)
        finally:
            part.unlink(missing_ok=True)
    to_disk(path.parent)


def open_private(path: Path) -> BinaryIO:
    """Open a file for reading and writing without truncating it; create it if it is missing.

    If an own file has a second name or other users could open it, it is deleted and created again. The
    other name keeps its content.

    Raises:
        PermissionError: It is a link, another user's file, or not a regular file.
        OSError: It cannot be opened.
    """
    # O_NONBLOCK because opening a pipe or a device could block.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        try:
            descriptor = os.open(path, flags, _PRIVATE)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _not_own(path) from error
            raise
        status = os.fstat(descriptor)
        is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_own and status.st_nlink == 1 and stat.S_IMODE(status.st_mode) == _PRIVATE:
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "r+b")
        os.close(descriptor)
        if not is_own:
            raise _not_own(path)
        if _has_name(path, status):
            path.unlink()


def to_disk(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked(part: Path) -> BinaryIO:
    """Open and lock a file that no other process has locked.

    Raises:
        BlockingIOError: Another process has locked it.
    """
    while True:
        file = open_private(part)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        status = os.fstat(file.fileno())
        if status.st_nlink == 1 and _has_name(part, status):
            return file
        file.close()  # another process held the lock; it has finished the file and renamed it


def _give_name(part: Path, path: Path, *, replace: bool) -> None:
    """Give a complete file its name. Without `replace` it also keeps the partial name until that is removed."""
    if replace:
        os.replace(part, path)
    else:
        os.link(part, path)


def _has_name(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, path.lstat())
    except FileNotFoundError:
        return False


def _not_own(path: Path) -> PermissionError:
    return PermissionError(errno.EPERM, "this is a link or not your own regular file", str(path))
