"""Name and version of this product; all other code imports them from here.

pyproject.toml and the native crate's manifest have to repeat them; a test compares them.
"""

from typing import Final

NAME: Final = "Nunatak"
"""Name for people and clients; package, command and directories have it in lower case."""

VERSION: Final = "0.1.0"
"""Version of the package, the client version string and the native engine."""
