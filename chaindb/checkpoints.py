"""SQLite checkpoints in a separate thread: copy the write-ahead log into the database file.

By default SQLite does this in the connection whose commit makes the log long: one block in a few
hundred waited 15 ms for four thousand pages. Here a thread copies most pages while others write.
When the whole log is copied, the next writer restarts it, unless a reader still uses it. So the thread
copies the few pages that were added meanwhile right after a commit, when the next one is usually some
milliseconds away. Only if writers follow one another too closely for that, it takes its turn as a
writer and copies the rest.

The log is read as SQLite documents it ("WAL-mode File Format", 4): frames follow a header of 32
bytes, each of 24 bytes and a page. A frame is valid if it has the two salts of the header, which
change when the log is restarted.
"""

import logging
import os
import threading
from contextlib import suppress
from typing import Final, NamedTuple

from django.db import DatabaseError

from chaindb.connections import release
from chaindb.database import Database

PAGES: Final = 4_000
"""Frames from which the log counts as long."""

ATTEMPTS: Final = 8
"""Times that the rest of the log is copied after a commit, beside the writers, before they have to wait for it."""

COMMIT_SECONDS: Final = 0.02
"""Maximal seconds that the thread waits for such a commit."""

MORE_PAGES: Final = 1_000
"""Frames after which the log is copied again if it was not restarted."""

PAUSE: Final = 0.05
"""Seconds between two checks of the log, while there are commits."""

RETRY: Final = 1.0
"""Seconds until the next check after a failed one."""

_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_PAGE_SIZE: Final = slice(8, 12)
_SALTS: Final = slice(16, 24)
_SALTS_OF_FRAME: Final = slice(8, 16)

_log: Final = logging.getLogger(__name__)


class _LogSize(NamedTuple):
    """State of the log when it was last copied."""

    salts: bytes
    frames: int


class Checkpointer:
    """Copies the write-ahead log of a SQLite database, in its own thread, whenever it has become long.

    Without this object, each connection makes a checkpoint at four times that length
    (`nodeproject.settings.databases`).

    Args:
        db: The database object that the node's writers use.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._path = f"{db.connection.settings_dict['NAME']}-wal"
        self._last_copied = _LogSize(b"", 0)
        self._committed = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._db.after_writing = self._committed.set
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait until it has ended."""
        self._ending.set()
        self._committed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.is_set():
            self._committed.wait()
            self._committed.clear()
            self._ending.wait(self._try_checkpoint())

    def _try_checkpoint(self) -> float:
        """Check the log; return the seconds until the next check."""
        try:
            self.checkpoint_if_long()
        except (DatabaseError, OSError) as error:  # a full disk, which writers report as well
            _log.warning("the write-ahead log is not copied: %s", error)
            return RETRY
        else:
            return PAUSE
        finally:
            release()

    def checkpoint_if_long(self) -> bool:
        """Copy the log if it is long, as far as readers permit. Return whether it was long.

        Raises:
            DatabaseError: SQLite cannot make a checkpoint.
            OSError: The log cannot be read.
        """
        salts = self._salts_if_long()
        if salts is None:
            return False
        self._checkpoint()
        self._last_copied = _LogSize(salts, self._copy_rest())
        return True

    def _copy_rest(self) -> int:
        """Copy what writers have added since; return the number of frames in the log."""
        for _ in range(ATTEMPTS):
            self._committed.wait(COMMIT_SECONDS)
            self._committed.clear()
            frames, copied = self._checkpoint()
            # If less is copied, a reader still uses an older state, and copying the rest would take long.
            if copied < frames or not self._committed.is_set():
                return frames
        with self._db.turn():
            frames, _ = self._checkpoint()
        return frames

    def _salts_if_long(self) -> bytes | None:
        """Return the salts of the log if it is long, else None."""
        with suppress(FileNotFoundError):
            # SQLite takes no locks on this file, so closing it releases none.
            descriptor = os.open(self._path, os.O_RDONLY)
            try:
                header = os.pread(descriptor, _HEADER, 0)
                salts = header[_SALTS]
                last = (
                    PAGES
                    if salts != self._last_copied.salts
                    else self._last_copied.frames + MORE_PAGES
                )
                size = _FRAME_HEADER + int.from_bytes(header[_PAGE_SIZE])
                frame = os.pread(descriptor, _FRAME_HEADER, _HEADER + (last - 1) * size)
            finally:
                os.close(descriptor)
            if salts and frame[_SALTS_OF_FRAME] == salts:
                return salts
        return None

    def _checkpoint(self) -> tuple[int, int]:
        """Copy the frames that no reader blocks; return the number of frames, and of copied frames."""
        row = self._db.row("PRAGMA wal_checkpoint(PASSIVE)")
        assert row is not None
        _, frames, copied = row
        return frames, copied
