"""Chains that others made, imported into the test's database."""

from collections.abc import Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.foreign.files import read_blocks
from cchain_app.selectors import blocks
from cchain_app.services.genesis import begin_import
from cchain_app.services.importing import Imported, import_blocks


@pytest.fixture
def directory(db: None, tmp_path: Path, settings: Any, node_settings: Any) -> Path:
    """A data directory of the test's own, for a chain that is to be imported."""
    del db, node_settings
    settings.NODE = replace(settings.NODE, data_dir=str(tmp_path))
    return tmp_path


def bring(genesis: bytes, file: bytes | Iterable[bytes]) -> Imported:
    """Import a chain; of files that are bytes, or of blocks."""
    chain = evm_chain()
    begin_import(chain, genesis)
    raws = read_blocks(BytesIO(file)) if isinstance(file, bytes) else file
    return import_blocks(chain, raws, told=lambda _: None)


def exported(chain: EvmChain, first: int = 1) -> bytes:
    """Return the blocks of a chain as a file."""
    last = blocks.head(chain).number
    return b"".join(one.raw for one in blocks.raw_blocks(chain, first, last, 1 << 40))
