"""Foreign chains imported into the test's database."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.foreign.files import read_blocks
from cchain_app.selectors import blocks
from cchain_app.services.genesis import begin_import
from cchain_app.services.importing import ImportResult, import_blocks
from tests.builders.node_settings import updated


@pytest.fixture
def directory(db: None, tmp_path: Path, settings: Any, node_settings: Any) -> Path:
    """The test's own data directory, for a chain to be imported."""
    del db, node_settings
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path))
    return tmp_path


def bring(genesis: bytes, file: bytes | Iterable[bytes]) -> ImportResult:
    """Import a chain, from the bytes of its files or from its blocks."""
    chain = evm_chain()
    begin_import(chain, genesis)
    raws = read_blocks(BytesIO(file)) if isinstance(file, bytes) else file
    return import_blocks(chain, raws, on_progress=lambda _: None)


def exported(chain: EvmChain, first: int = 1) -> bytes:
    """Return the blocks of a chain in the format of an export file."""
    last = blocks.head(chain).number
    return b"".join(raw_block.raw for raw_block in blocks.raw_blocks(chain, first, last, 1 << 40))
