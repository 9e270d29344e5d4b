"""Processes of this node that answer from memory, and how far each has seen the rows go back.

Each has a file in the data directory, locked as long as it lives: the kernel lets go of the lock of one that
was killed. Whoever puts earlier rows in the place of all others waits until each has said that it has
noticed. Processes on other machines have no file here; they look once a second, too.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

PATIENCE: Final = 10.0
"""Seconds for which a process is waited for that does not notice; it looks every second."""
_LOOK: Final = 0.02


def directory_of(data: Path) -> Path:
    """Return where the followers of a data directory have their files."""
    return data / "followers"


class Follower:
    """This process, or one of its event loops, as one that follows the rows.

    Args:
        directory: Where followers have their files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._file: IO[str] | None = None
        self._noted: int | None = None

    def begin(self) -> None:
        """Be known from now on; who waits waits for this one, too."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # It gets its name when it is locked: without a lock it would be taken for a dead one's.
        hidden = self._directory / f".{self._path.name}"
        self._file = hidden.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        hidden.rename(self._path)
        self._noted = None

    def note(self, generation: int | None) -> None:
        """Say that what this process answers is as of a generation of the rows (`chaindb.generation`)."""
        if self._file is None or generation in (None, self._noted):
            return
        self._noted = generation
        self._file.seek(0)
        self._file.write(f"{generation}\n")
        self._file.flush()

    def end(self) -> None:
        """Be known no more."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def wait_for_all(directory: Path, generation: int, patience: float = PATIENCE) -> list[int]:
    """Wait until all followers have noticed a generation of the rows; return the processes that have not.

    Args:
        directory: Where they have their files.
        generation: Which one.
        patience: Seconds to wait at most.
    """
    until = time.monotonic() + patience
    while behind := list(_behind(directory, generation)):
        if time.monotonic() > until:
            return behind
        time.sleep(_LOOK)
    return []


def _behind(directory: Path, generation: int) -> Iterator[int]:
    for path in directory.glob("[0-9]*-*"):
        with suppress(FileNotFoundError), path.open() as file:  # it may end just now
            if _is_alive(file):
                noted = file.read().strip()
                if not noted or int(noted) < generation:
                    yield int(path.name.partition("-")[0])
            else:
                path.unlink()


def _is_alive(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
