"""`import_chain` and `export_chain` in this process; tests/e2e runs them as separate processes."""

import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import RawBlock
from cchain_app.services.importing import ImportResult
from nodeproject.management.commands.import_chain import ImportBar
from tests.builders.node_settings import updated
from tests.builders.spec_history import LAST, WITH_UNCLES, history
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
    settings.NODE = updated(settings.NODE, **changes)

    with pytest.raises(CommandError, match=words):
        call_command("import_chain", str(GENESIS), skip_checks=True)

    with pytest.raises(blocks.NoGenesis):
        blocks.head(evm_chain())


def test_missing_genesis_is_reported(directory: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.json"):
        call_command("import_chain", str(directory / "none.json"))


def test_export_before_genesis_is_refused(directory: Path) -> None:
    with pytest.raises(CommandError, match="There is no chain yet"):
        call_command("export_chain", str(directory / "out.rlp"))


@pytest.fixture
def files(transactional_db: None, directory: Path) -> tuple[Path, Path]:
    """The genesis file of a chain that starts with proof of work, and its blocks."""
    del transactional_db
    genesis, chain = directory / "genesis.json", directory / "chain.rlp"
    genesis.write_bytes(history().genesis)
    chain.write_bytes(history().file)
    return genesis, chain


def said(command: str, *arguments: object) -> str:
    out = StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.parametrize("suffix", [".rlp", ".rlp.gz"])
def test_proof_of_work_chain_is_exported_as_imported(
    files: tuple[Path, Path], directory: Path, suffix: str
) -> None:
    genesis, chain = files
    given, out = directory / f"given{suffix}", directory / f"out{suffix}"
    whole = chain.read_bytes()
    given.write_bytes(gzip.compress(whole) if suffix.endswith(".gz") else whole)

    told = said("import_chain", genesis, given)
    said("export_chain", out, f"--genesis={directory / 'again.json'}")

    assert f"{LAST} blocks with {len(history().transactions)} transactions" in told
    assert f"The chain is at block {LAST}, 0x{history().chain.blocks[-1].hash.hex()}." in told
    found = out.read_bytes()
    assert (gzip.decompress(found) if suffix.endswith(".gz") else found) == whole
    again = json.loads((directory / "again.json").read_bytes())
    assert again["difficulty"] == "0x20000"
    assert again["config"]["terminalTotalDifficulty"] == 2**70


def test_part_of_a_proof_of_work_chain_is_exported_with_uncles(
    files: tuple[Path, Path], directory: Path
) -> None:
    genesis, chain = files
    said("import_chain", genesis, chain)
    first, last = WITH_UNCLES[0], WITH_UNCLES[-1]

    said("export_chain", directory / "part.rlp", first, last)

    blocks_of = history().chain.blocks
    assert (directory / "part.rlp").read_bytes() == b"".join(
        item.raw for item in blocks_of[first : last + 1]
    )


def test_export_follows_no_symlink_of_another_user(
    files: tuple[Path, Path], directory: Path
) -> None:
    victim = directory / "victim"
    victim.write_text("precious")
    for name in ("out.rlp", "again.json", ".linked.rlp.partial"):
        (directory / name).symlink_to(victim)
    said("import_chain", *files)

    said("export_chain", directory / "out.rlp", f"--genesis={directory / 'again.json'}")
    with pytest.raises(
        CommandError, match=r"\.linked\.rlp\.partial: this is a link or not your own"
    ):
        said("export_chain", directory / "linked.rlp")

    assert victim.read_text() == "precious"
    assert not (directory / "linked.rlp").exists()
    for name in ("out.rlp", "again.json"):
        assert (directory / name).lstat().st_mode & 0o777 == 0o600


def test_export_of_a_chain_rewound_meanwhile_is_refused(
    files: tuple[Path, Path], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("import_chain", *files)
    read = blocks.raw_blocks

    def one_by_one(
        chain: EvmChain, first: int, last: int, most: int, *, with_payload: bool
    ) -> list[RawBlock]:
        found = read(chain, first, last, 1, with_payload=with_payload)
        return found if first < 3 else []

    monkeypatch.setattr(blocks, "raw_blocks", one_by_one)
    with pytest.raises(
        CommandError, match="There is no block 3 any more: the chain was rewound meanwhile"
    ):
        said("export_chain", directory / "part.rlp")
    assert not (directory / "part.rlp").exists()


def test_stopped_import_continues_in_another_file(
    files: tuple[Path, Path], directory: Path
) -> None:
    genesis, chain = files
    begin = directory / "begin.rlp"
    begin.write_bytes(b"".join(block.raw for block in history().chain.blocks[1:6]))

    assert "5 blocks with" in said("import_chain", genesis, begin)
    assert "5 existed already" in said("import_chain", genesis, chain)
    assert "0 blocks with 0 transactions and 0.0 Mgas imported in" in said(
        "import_chain", genesis, chain
    )


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_bar_shows_rate_and_time_left() -> None:
    clock, read = Clock(), [0]
    bar = ImportBar("some/blocks.rlp", 1_000, lambda: read[0], clock)
    with bar:
        clock.now, read[0] = 104.0, 200
        bar.show(ImportResult(blocks=400, gas=8_000_000))
        (task,) = bar.progress.tasks
        assert (task.description, task.total, task.completed) == ("blocks.rlp", 1_000, 200)
        assert task.fields["rate"] == "100 blocks/s, 2.0 Mgas/s"
        clock.now, read[0] = 108.0, 400
        bar.show(ImportResult(blocks=600, gas=8_000_000))
        assert task.fields["rate"] == "75 blocks/s, 1.0 Mgas/s"
        assert task.time_remaining == 12


def test_existing_blocks_do_not_count_for_the_rate() -> None:
    clock = Clock()
    with ImportBar("-", None, lambda: 0, clock) as bar:
        clock.now = 150.0
        bar.show(ImportResult(skipped=50_000))
        clock.now = 152.0
        bar.show(ImportResult(blocks=100, skipped=50_000, gas=4_000_000))
        (task,) = bar.progress.tasks
        assert task.fields["rate"] == "50 blocks/s, 2.0 Mgas/s"
        assert task.time_remaining is None
