"""Prints the directory of the interpreter's library, for programs that link it; fails if there is no library."""

import sys
import sysconfig
from pathlib import Path


def find() -> Path | None:
    """Return the directory that contains libpython, as linkers expect it, or None."""
    version = sysconfig.get_config_var("VERSION")
    for name in ("LIBDIR", "LIBPL"):
        directory = Path(sysconfig.get_config_var(name) or "/nowhere")
        if any(
            (directory / f"libpython{version}.{kind}").exists() for kind in ("so", "a", "dylib")
        ):
            return directory
    return None


if __name__ == "__main__":
    found = find()
    if found is None:
        sys.exit("the library of this Python is not installed")
    print(found)
