"""Processes of this node that answer from memory, and the latest rewind that each has noticed.

Each process has a file in the data directory and keeps it locked while it runs; the kernel releases the lock of a
killed process. A process that replaces all rows by earlier ones waits until every follower has noticed. Processes
on other machines have no file here; they check the database once a second anyway.
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
"""Seconds to wait for a process that does not notice; each checks once a second."""
_LOOK: Final = 0.02


def directory_of(data: Path) -> Path:
    """Return the directory of the followers' files below a data directory."""
    return data / "followers"


class Follower:
    """This process, or one of its event loops, registered as a follower of the rows.

    Args:
        directory: The directory of the followers' files.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._file: IO[str] | None = None
        self._noted: int | None = None

    def begin(self) -> None:
        """Register this follower; from now on `wait_for_all` waits for it too."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The file is renamed after it is locked: without a lock it would be taken for that of a dead process.
        hidden = self._directory / f".{self._path.name}"
        self._file = hidden.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        hidden.rename(self._path)
        self._noted = None

    def note(self, generation: int | None) -> None:
        """Record the generation of the rows (`chaindb.generation`) that this process answers from."""
        if self._file is None or generation in (None, self._noted):
            return
        self._noted = generation
        self._file.seek(0)
        self._file.write(f"{generation}\n")
        self._file.flush()

    def end(self) -> None:
        """Unregister this follower."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def wait_for_all(directory: Path, generation: int, patience: float = PATIENCE) -> list[int]:
    """Wait until all followers have noticed a generation of the rows; return the processes that have not.

    Args:
        directory: The directory of the followers' files.
        generation: The generation to wait for.
        patience: Maximum seconds to wait.
    """
    until = time.monotonic() + patience
    while behind := list(_behind(directory, generation)):
        if time.monotonic() > until:
            return behind
        time.sleep(_LOOK)
    return []


def _behind(directory: Path, generation: int) -> Iterator[int]:
    for path in directory.glob("[0-9]*-*"):
        with suppress(FileNotFoundError), path.open() as file:  # the process may end right now
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
