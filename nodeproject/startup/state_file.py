"""The file of NODE_STATE: the state of a local chain, loaded when the chain begins and written when the node ends.

It has Anvil's format, JSON in a file (devnet.md 8 and 14); gzipped files, as from anvil_dumpState, are accepted too.
"""

from pathlib import Path

from django.db import DatabaseError

from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError
from cchain_app.selectors import blocks
from cchain_app.services.snapshots import dump_state, load_state
from nodeproject.startup.process import CannotStart, StartReason
from primitives.whole_files import write_whole


def load(chain: EvmChain, path: Path) -> str | None:
    """Load the file into a chain that has no blocks yet; return a notice for the operator, if any.

    Unspecified: a chain with blocks continues with its own state, which is stored on disk, unlike Anvil's.

    Raises:
        CannotStart: The chain has no development methods, or the file cannot be read.
    """
    if not chain.is_development:
        raise CannotStart(StartReason.STATE_NEEDS_LOCAL_CHAIN)
    if not chain.has_development_methods:
        raise CannotStart(StartReason.STATE_NEEDS_EMBEDDED_PROFILE)
    if not path.exists():
        return None
    if blocks.head(chain).number:
        return f"{path} is not loaded: the chain here already has blocks and keeps its state."
    try:
        load_state(chain, path.read_bytes())
    except (OSError, DevelopmentError) as error:
        raise CannotStart(StartReason.STATE_UNUSABLE, path=path, cause=error) from error
    return None


def save(chain: EvmChain, path: Path) -> str | None:
    """Write the state at the head to the file, atomically; return the error message if that fails."""
    try:
        write_whole(path, dump_state(chain))
    except OSError as error:
        return f"NODE_STATE was not written: {path}: {error.strerror or error}"
    except DatabaseError as error:
        return f"NODE_STATE was not written: {path}: {error}"
    return None
