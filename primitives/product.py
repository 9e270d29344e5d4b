"""What this product is called and which version it is: everybody else takes both from here.

pyproject.toml and the native crate's manifest have to repeat them; a test compares.
"""

from typing import Final

NAME: Final = "Nunatak"
"""As people and clients read it; package, command and folders have it in lower case."""

VERSION: Final = "0.1.0"
"""Of package, client version and native engine alike."""
