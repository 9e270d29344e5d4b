"""The file of a backup: a ZIP file with the rows of each table, some files of the node, and finally its manifest.

`rows/TABLE`, or `chains/BLOCKCHAIN/TABLE` for a chain of a subnet, is a sequence of parts, each with its length in four bytes and rows as MessagePack; `files/NAME` is an
unchanged file; `manifest.json` is the manifest. ZIP's checksums are verified on reading. The file gets its name when it
is complete and on the disk: a killed process leaves a `.NAME.partial`, which the next backup of that name overwrites.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, BinaryIO, Final

import msgspec

from chaindb.database import Row
from chaindb.rows import Table
from nodeproject.copies.backup_manifest import FORMAT, BackupManifest, BackupReason, BackupRefused
from primitives import json_limits
from primitives.json_limits import TooDeep, TooManyValues
from primitives.whole_files import whole_file

_LENGTH: Final = struct.Struct(">I")
_PART_BYTES: Final = 1 << 20
"""Rows are written when they have this many bytes, or…"""
_PART_ROWS: Final = 1_000
"""…are this many; a part is never larger than this and its last row."""
_MAX_BYTES: Final = 64 << 20
"""Maximum bytes of a part when reading: a block's largest row has some megabytes."""
_MAX_FILE: Final = 64 << 20
"""Maximum bytes of a file of the node."""
_MAX_MANIFEST: Final = 1 << 20
"""Maximum bytes of a manifest."""
_MAX_DIRECTORY: Final = 1 << 20
"""Maximum bytes of a ZIP file's directory when reading: that of a backup has some kilobytes, and two for each chain of a
subnet."""
_END: Final = struct.Struct("<4s8xI4xH")
"""The end record of a ZIP file: its signature, the sizes of the directory and of the trailing comment."""
_END_64: Final = struct.Struct("<4s36xQ8x4s16x")
"""The records before it in a large file: one with the size of the directory, and the locator of that record."""
_SIGN: Final = b"PK\x05\x06"
_SIGN_64: Final = b"PK\x06\x07"

_LEVEL: Final = 1
"""Compression level: higher levels take several times as long for a few per cent."""

_DAMAGE: Final = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError,
    msgspec.DecodeError, struct.error, TooManyValues, TooDeep,
)  # fmt: skip
"""Exceptions that a damaged file causes, or a file that is not a backup.

`zipfile` raises NotImplementedError for an unknown compression method, RuntimeError for an encrypted part and KeyError
for a missing one: flags and names of parts are bytes of the file.
"""


class ArchiveWriter:
    """A backup being written; see `writing`."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._encoder = msgspec.msgpack.Encoder()

    def add_rows(self, table: str, rows: Iterable[Row], chain: str = "") -> int:
        """Write the rows of a table, with a blockchain ID those in the database of that chain; return their number."""
        count = size = 0
        waiting: list[Row] = []
        with self._file.open(_member(table, chain), "w", force_zip64=True) as member:
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

    def finish(self, manifest: BackupManifest) -> None:
        """Write the manifest, the last part of the archive."""
        self._file.writestr("manifest.json", msgspec.json.encode(manifest))

    def _write_part(self, member: IO[bytes], rows: list[Row]) -> None:
        encoded = self._encoder.encode(rows)
        member.write(_LENGTH.pack(len(encoded)))
        member.write(encoded)


@contextmanager
def writing(path: Path) -> Iterator[ArchiveWriter]:
    """Yield a writer for a backup, which only its owner can read and which gets its name when the body ends.

    Raises:
        BackupRefused: A file of the name exists, or another process is writing the backup.
        OSError: The file cannot be written; see `whole_file`.
    """
    if path.exists():
        raise BackupRefused(BackupReason.FILE_EXISTS, path=path)
    try:
        with (
            whole_file(path, replace=False) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as zipped,
        ):
            yield ArchiveWriter(zipped)
    except FileExistsError as error:
        raise BackupRefused(BackupReason.FILE_EXISTS, path=path) from error
    except BlockingIOError as error:
        raise BackupRefused(BackupReason.FILE_IN_USE, path=path) from error


class ArchiveReader:
    """A backup being read; see `reading`."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self._path = path
        self._file = file
        self.manifest = self._manifest()

    def rows(self, table: Table, chain: str = "") -> Iterator[Row]:
        """Yield the rows of a table; with a blockchain ID those in the database of that chain.

        The decoder accepts only values of the columns' types, so nested arrays cost no memory.

        Raises:
            BackupRefused: The file is damaged.
        """
        row: Any = tuple[tuple(kind | None for kind in table.types)]  # type: ignore[misc]  # as many as columns
        decoder = msgspec.msgpack.Decoder(list[row])
        with _damage_reported(self._path), self._file.open(_member(table.name, chain)) as member:
            while head := member.read(_LENGTH.size):
                (size,) = _LENGTH.unpack(head)
                if size > _MAX_BYTES:
                    raise BackupRefused(
                        BackupReason.UNREADABLE,
                        path=self._path,
                        cause=f"a part of {table.name} has {size} bytes",
                    )
                part = member.read(size)
                if (count := _rows_in(part)) > _PART_ROWS:
                    raise BackupRefused(
                        BackupReason.UNREADABLE,
                        path=self._path,
                        cause=f"a part of {table.name} has {count} rows",
                    )
                yield from decoder.decode(part)

    def files(self, names: Container[str]) -> MappingProxyType[str, bytes]:
        """Return the files of the node with these names.

        Raises:
            BackupRefused: The file is damaged.
        """
        with _damage_reported(self._path):
            found = {
                name: self._read(f"files/{name}", _MAX_FILE)
                for name in self.manifest.files
                if name in names
            }
        return MappingProxyType(found)

    def _manifest(self) -> BackupManifest:
        with _damage_reported(self._path):
            text = self._read("manifest.json", _MAX_MANIFEST)
            json_limits.verify(text)
            form = msgspec.json.decode(text, type=_Form)
        if form.format > FORMAT:
            raise BackupRefused(BackupReason.LATER_FORMAT, path=self._path, version=form.version)
        with _damage_reported(self._path):
            return msgspec.json.decode(text, type=BackupManifest)

    def _read(self, name: str, most: int) -> bytes:
        if self._file.getinfo(name).file_size > most:
            raise BackupRefused(
                BackupReason.UNREADABLE, path=self._path, cause=f"{name} has more than {most} bytes"
            )
        return self._file.read(name)


def _member(table: str, chain: str) -> str:
    """Return the name of the part with a table's rows."""
    return f"chains/{chain}/{table}" if chain else f"rows/{table}"


def _rows_in(part: bytes) -> int:
    """Return the number of rows that a part declares at its beginning, in one of MessagePack's array formats."""
    if part[:1] == b"\xdd":
        return int.from_bytes(part[1:5], "big")
    if part[:1] == b"\xdc":
        return int.from_bytes(part[1:3], "big")
    return 0  # at most 15, or not an array, which the decoder refuses


def _verify_directory(file: BinaryIO) -> None:
    """Check that the directory at the end of a ZIP file is no larger than a backup's.

    `zipfile` reads the whole directory and creates an object of twenty times its size for each entry.

    Raises:
        BadZipFile: The directory is larger, or the file is not a ZIP file.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - _END.size - _END_64.size))
    tail = file.read()
    if len(tail) < _END.size or not tail[-_END.size :].startswith(_SIGN):
        raise zipfile.BadZipFile("File is not a zip file")
    _, size, comment = _END.unpack(tail[-_END.size :])
    if len(tail) == _END.size + _END_64.size:
        _, size_64, sign = _END_64.unpack(tail[: _END_64.size])
        size = size_64 if sign == _SIGN_64 else size
    if comment or size > _MAX_DIRECTORY:
        raise zipfile.BadZipFile(f"its directory has {size} bytes")


class _Form(msgspec.Struct):
    """The fields that manifests of all formats have."""

    format: int
    version: str


@contextmanager
def reading(path: Path) -> Iterator[ArchiveReader]:
    """Open a backup for reading.

    Raises:
        BackupRefused: The file cannot be opened, is not a backup, or this program is too old for its format.
    """
    try:
        with _damage_reported(path):
            with path.open("rb") as file:
                _verify_directory(file)
            opened = zipfile.ZipFile(path)
    except OSError as error:
        raise BackupRefused(
            BackupReason.UNREADABLE, path=path, cause=error.strerror or error
        ) from error
    with opened:
        yield ArchiveReader(path, opened)


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise BackupRefused(BackupReason.UNREADABLE, path=path, cause=error) from error
