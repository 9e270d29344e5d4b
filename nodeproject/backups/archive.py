"""The file of a backup: a ZIP file with rows of each table, some files of the node, and in the end its manifest.

`rows/TABLE` is a row of parts, each the length of what follows in four bytes, and rows as MessagePack; `files/NAME` is a
file as it was; `manifest.json` is the manifest. ZIP's checksums are compared where something is read. The file gets its
name when it is whole and on the disk: a kill leaves a `.NAME.partial`, which the next backup of the name overwrites.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

import msgspec

from chaindb.database import Row
from nodeproject.backups.errors import FileExists, FileInUse, LaterFormat, UnreadableBackup
from nodeproject.backups.manifest import FORMAT, Manifest
from primitives.whole_files import whole_file

_LENGTH: Final = struct.Struct(">I")
_PART_BYTES: Final = 1 << 20
"""Rows are written when they are so many bytes, or…"""
_PART_ROWS: Final = 1_000
"""…so many; a part is never larger than this and its last row."""
_MOST_BYTES: Final = 256 << 20
"""No part is larger: a block's largest row has some megabytes."""
_MOST_FILE: Final = 64 << 20
"""Nor a file of the node, which is read at once."""
_LEVEL: Final = 1
"""Of compression: higher ones take several times as long for a few per cent."""

_DAMAGE: Final = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
    msgspec.DecodeError, struct.error,
)  # fmt: skip
"""What a damaged file raises, or one that is no backup.

`zipfile` says with a NotImplementedError that a part is compressed in a way it does not know, with a RuntimeError that
one is encrypted, and with a KeyError that one is missing: flags and names of parts are bytes of the file.
"""


class ArchiveWriter:
    """A backup that is being written; see `writing`."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._encoder = msgspec.msgpack.Encoder()

    def add_rows(self, table: str, rows: Iterable[Row]) -> int:
        """Write the rows of a table; return how many there were."""
        count = size = 0
        waiting: list[Row] = []
        with self._file.open(f"rows/{table}", "w", force_zip64=True) as member:
            for row in rows:
                waiting.append(row)
                count += 1
                size += sum(len(value) for value in row if isinstance(value, bytes | str))
                if size > _PART_BYTES or len(waiting) >= _PART_ROWS:
                    self._write_part(member, waiting)
                    waiting, size = [], 0
            if waiting:
                self._write_part(member, waiting)
        return count

    def add_file(self, name: str, content: bytes) -> None:
        """Write a file of the node."""
        self._file.writestr(f"files/{name}", content)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which is the last."""
        self._file.writestr("manifest.json", msgspec.json.encode(manifest))

    def _write_part(self, member: IO[bytes], rows: list[Row]) -> None:
        encoded = self._encoder.encode(rows)
        member.write(_LENGTH.pack(len(encoded)))
        member.write(encoded)


@contextmanager
def writing(path: Path) -> Iterator[ArchiveWriter]:
    """Yield a writer for a backup, which only its owner can read and which gets its name when the body ends.

    Raises:
        FileExists: There is a file of the name.
        FileInUse: Another process is writing the backup.
        OSError: It cannot be written; see `whole_file`.
    """
    if path.exists():
        raise FileExists(path)
    try:
        with (
            whole_file(path, replace=False) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as zipped,
        ):
            yield ArchiveWriter(zipped)
    except FileExistsError as error:
        raise FileExists(path) from error
    except BlockingIOError as error:
        raise FileInUse(path) from error


class ArchiveReader:
    """A backup that is read; see `reading`."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self._path = path
        self._file = file
        self._decoder = msgspec.msgpack.Decoder(list[list[Any]])
        self.manifest = self._manifest()

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table.

        Raises:
            UnreadableBackup: The file is damaged.
        """
        width = len(self.manifest.tables[table].columns)
        with _damage_told(self._path), self._file.open(f"rows/{table}") as member:
            while head := member.read(_LENGTH.size):
                (size,) = _LENGTH.unpack(head)
                if size > _MOST_BYTES:
                    raise UnreadableBackup(self._path, f"a part of {table} has {size} bytes")
                for row in self._decoder.decode(member.read(size)):
                    if len(row) != width:
                        raise UnreadableBackup(
                            self._path, f"a row of {table} has {len(row)} values"
                        )
                    yield row

    def files(self) -> MappingProxyType[str, bytes]:
        """Return the files of the node by their names.

        Raises:
            UnreadableBackup: The file is damaged.
        """
        with _damage_told(self._path):
            found = {name: self._small(f"files/{name}") for name in self.manifest.files}
        return MappingProxyType(found)

    def _manifest(self) -> Manifest:
        with _damage_told(self._path):
            text = self._small("manifest.json")
            form = msgspec.json.decode(text, type=_Form)
        if form.format > FORMAT:
            raise LaterFormat(self._path, form.version)
        with _damage_told(self._path):
            return msgspec.json.decode(text, type=Manifest)

    def _small(self, name: str) -> bytes:
        if self._file.getinfo(name).file_size > _MOST_FILE:
            raise UnreadableBackup(self._path, f"{name} is too large")
        return self._file.read(name)


class _Form(msgspec.Struct):
    """What each format's manifest has."""

    format: int
    version: str


@contextmanager
def reading(path: Path) -> Iterator[ArchiveReader]:
    """Give a backup to be read.

    Raises:
        UnreadableBackup: It cannot be opened, or is none.
        LaterFormat: This program is too old for it.
    """
    try:
        with _damage_told(path):
            opened = zipfile.ZipFile(path)
    except OSError as error:
        raise UnreadableBackup(path, error.strerror or error) from error
    with opened:
        yield ArchiveReader(path, opened)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise UnreadableBackup(path, error) from error
