"""SQLite's checkpoints, made beside the writers: what was appended to the write-ahead log comes into the database's file.

SQLite leaves that to the connection whose commit makes the log long: one block in some hundred waited 15 ms for four
thousand pages. Here a thread copies most of them while others write, and what came meanwhile when it is its turn
to write. A log that is copied as a whole is begun anew by the next writer, unless somebody still reads from it.

The log is looked at as SQLite documents it ("WAL-mode File Format", 4): behind a header of 32 bytes come frames, each
of 24 bytes and a page; those count that have the two salts of the header, which change when the log is begun anew.
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
"""Frames with which a log is long."""

MORE_PAGES: Final = 1_000
"""Frames after which it is copied again, where it was not begun anew."""

PAUSE: Final = 0.05
"""Seconds between two looks at the log, while there are commits."""

RETRY: Final = 1.0
"""Seconds until the next look after one that failed."""

_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_PAGE_SIZE: Final = slice(8, 12)
_SALTS: Final = slice(16, 24)
_SALTS_OF_FRAME: Final = slice(8, 16)

_log: Final = logging.getLogger(__name__)


class _Seen(NamedTuple):
    """A log as it was when it was copied."""

    salts: bytes
    frames: int


class Checkpointer:
    """Copies the write-ahead log of a SQLite database, in a thread of its own, whenever it has become long.

    Without it, each connection does it at four times that length (`nodeproject.settings.databases`).

    Args:
        db: The database, as the node's writers have it.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._path = f"{db.connection.settings_dict['NAME']}-wal"
        self._seen = _Seen(b"", 0)
        self._committed = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._db.after_writing = self._committed.set
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for that."""
        self._ending.set()
        self._committed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.is_set():
            self._committed.wait()
            self._committed.clear()
            self._ending.wait(self._try_to_look())

    def _try_to_look(self) -> float:
        """Look; return the seconds until the next look."""
        try:
            self.look()
        except (DatabaseError, OSError) as error:  # a full disk, which writers will hear of as well
            _log.warning("the write-ahead log is not copied: %s", error)
            return RETRY
        else:
            return PAUSE
        finally:
            release()

    def look(self) -> bool:
        """Copy the log if it is long, as far as readers let it; say whether it was.

        Raises:
            DatabaseError: SQLite cannot.
            OSError: The log cannot be read.
        """
        salts = self._salts_if_long()
        if salts is None:
            return False
        # The first takes as long as ten blocks, the second as long as one or two: little is left for the third.
        self._checkpoint()
        frames, copied = self._checkpoint()
        # Else somebody reads what was before, and the rest would be no short work.
        if copied == frames:
            with self._db.turn():
                frames, _ = self._checkpoint()
        self._seen = _Seen(salts, frames)
        return True

    def _salts_if_long(self) -> bytes | None:
        """Return the log's salts, or None while it is short."""
        with suppress(FileNotFoundError):
            # Nobody locks this file: that it is closed here releases no lock of SQLite's.
            descriptor = os.open(self._path, os.O_RDONLY)
            try:
                header = os.pread(descriptor, _HEADER, 0)
                salts = header[_SALTS]
                last = PAGES if salts != self._seen.salts else self._seen.frames + MORE_PAGES
                size = _FRAME_HEADER + int.from_bytes(header[_PAGE_SIZE])
                frame = os.pread(descriptor, _FRAME_HEADER, _HEADER + (last - 1) * size)
            finally:
                os.close(descriptor)
            if salts and frame[_SALTS_OF_FRAME] == salts:
                return salts
        return None

    def _checkpoint(self) -> tuple[int, int]:
        """Copy what no reader keeps from it; return the frames that there are, and how many are copied by now."""
        found = self._db.row("PRAGMA wal_checkpoint(PASSIVE)")
        assert found is not None
        _, frames, copied = found
        return frames, copied
