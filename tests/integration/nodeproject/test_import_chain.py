"""What `import_chain` refuses before it begins; the rest needs a data directory (end to end)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks
from tests.integration.cchain_app.services.imported import directory

__all__ = ["directory"]

GENESIS = Path(__file__).parents[2] / "vectors" / "tracing" / "genesis.json"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"genesis": "some.json"}, "NODE_GENESIS must not be set"),
        ({"bootstrap": ("127.0.0.1:9",)}, "NODE_BOOTSTRAP and NODE_CONSENSUS"),
        ({"consensus": "snowman"}, "NODE_BOOTSTRAP and NODE_CONSENSUS"),
    ],
)
def test_a_network_has_no_imported_chain(
    directory: Path, settings: Any, changes: dict[str, Any], words: str
) -> None:
    settings.NODE = replace(settings.NODE, **changes)

    with pytest.raises(CommandError, match=words):
        call_command("import_chain", str(GENESIS), skip_checks=True)

    with pytest.raises(blocks.NoGenesis):
        blocks.head(evm_chain())


def test_a_genesis_that_is_not_there_is_said(directory: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.json"):
        call_command("import_chain", str(directory / "none.json"))


def test_there_is_nothing_to_export_before_the_genesis(directory: Path) -> None:
    with pytest.raises(CommandError, match="There is no chain yet"):
        call_command("export_chain", str(directory / "out.rlp"))
