"""Writes a wheel without the native engine from one with it: for platforms that no other wheel fits.

Usage: pure_wheel.py WHEEL DIRECTORY. There the node runs on the reference engine, which the user installs (README.md).
pip prefers a wheel for the platform, so both can be in one index.
"""

import base64
import csv
import hashlib
import io
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Final

ENGINE: Final = "cchain_native/"
"""The directory of the engine in a wheel."""
TAG: Final = "py3-none-any"


def write_pure(wheel: Path, directory: Path) -> Path:
    """Write the wheel into a directory; return its path.

    Args:
        wheel: A wheel with the engine.
        directory: The directory, which exists.
    """
    name, version, *_ = wheel.name.split("-")
    target = directory / f"{name}-{version}-{TAG}.whl"
    info = f"{name}-{version}.dist-info"
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for entry in source.infolist():
            # The list of the crate's components describes the engine alone.
            if entry.filename.startswith((ENGINE, f"{info}/sboms/", f"{info}/RECORD")):
                continue
            content = source.read(entry)
            if entry.filename == f"{info}/WHEEL":
                content = _pure(content)
            made.writestr(entry, content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            lines.writerow((entry.filename, f"sha256={digest.decode()}", len(content)))
        lines.writerow((f"{info}/RECORD", "", ""))
        made.writestr(f"{info}/RECORD", record.getvalue())
    return target


def _pure(content: bytes) -> bytes:
    """Return the file WHEEL of a wheel for every platform."""
    found: Message = Parser().parsestr(content.decode())
    for name, text in (("Root-Is-Purelib", "true"), ("Tag", TAG)):
        del found[name]
        found[name] = text
    return found.as_bytes()


if __name__ == "__main__":
    print(write_pure(Path(sys.argv[1]), Path(sys.argv[2])))
