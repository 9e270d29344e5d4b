"""`import_chain`: imports a foreign chain from geth's genesis and chain files into a data directory."""

import gzip
import sys
import time
import zlib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from typing_extensions import override

from cchain_app.chain import EvmChain
from cchain_app.foreign.files import ChainFileError, read_blocks
from cchain_app.selectors import blocks
from cchain_app.services.genesis import begin_import
from cchain_app.services.importing import ImportResult, NotMerged, import_blocks, let_make_blocks
from chainvm.errors import InvalidBlock
from chainvm.port import HeadMoved
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise_or_explain
from nodeproject.startup.process import CannotStart, claim_directory
from nodeproject.startup.profile import CHECKS
from primitives.counting import counted

_STANDARD_INPUT = "-"


class Command(BaseCommand):
    """Executes every block and verifies all fields of its header."""

    requires_system_checks = CHECKS
    help = (
        "Import an existing chain: geth's genesis file, and files as `geth export` writes them, "
        "into an empty data directory. Each block is executed and verified. Existing blocks are skipped, so a "
        "stopped import continues when the command is run again."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("genesis", type=Path, help="the genesis file in geth's JSON format")
        parser.add_argument(
            "files",
            nargs="*",
            metavar="RLP",
            help="blocks as concatenated RLP; .gz is decompressed, - is standard input",
        )
        parser.add_argument(
            "--produce",
            action="store_true",
            help="produce blocks on the imported chain, which must be past the merge; otherwise the chain stays as imported",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        if node.settings.cchain.genesis:
            raise CommandError(
                "The genesis is kept in the data directory: NODE_GENESIS must not be set."
            )
        if node.settings.common.bootstrap or node.settings.common.votes:
            raise CommandError(
                "A chain is imported for one node: NODE_BOOTSTRAP and NODE_CONSENSUS must not be set."
            )
        embedded = node.settings.common.profile == "embedded"
        try:
            text = options["genesis"].read_bytes()
            with claim_directory(node.settings.common.directory) if embedded else nullcontext():
                initialise_or_explain(node, partial(begin_import, text=text))
                self._import(node.evm_chain, options["files"], produce=options["produce"])
        except (CannotStart, OSError, EOFError, zlib.error, ChainFileError, NotMerged) as error:
            raise CommandError(str(error)) from error
        except HeadMoved as moved:
            raise CommandError(
                "Another process has written to the chain: stop the node before the import."
            ) from moved
        except KeyboardInterrupt as stop:
            raise CommandError(
                "Stopped: the same command continues with the missing blocks."
            ) from stop
        except InvalidBlock as refusal:
            raise CommandError(f"Block {refusal.height} is refused: {refusal}") from refusal
        finally:
            connections.close_all()

    def _import(self, chain: EvmChain, files: Sequence[str], *, produce: bool) -> None:
        let_make_blocks(chain, makes=False)
        for name in files:
            began = time.perf_counter()
            with _opened(name) as source, ImportBar(name, source.size, source.position) as bar:
                done = import_blocks(chain, read_blocks(source.stream), on_progress=bar.show)
            self.stdout.write(
                f"{name}: {counted(done.blocks, 'block')} with {counted(done.transactions, 'transaction')} and "
                f"{done.gas / 1e6:.1f} Mgas imported in {time.perf_counter() - began:.2f} s, "
                f"{done.skipped:,} existed already."
            )
        if produce:
            let_make_blocks(chain, makes=True)
        head = blocks.head(chain)
        self.stdout.write(f"The chain is at block {head.number}, 0x{head.hash.hex()}.")


def _no_position() -> int:
    return 0


class _BlockFile(NamedTuple):
    """An open file of blocks."""

    stream: BinaryIO
    """The blocks, decompressed."""
    size: int | None = None
    """Bytes of the file; None if unknown, as for standard input."""
    position: Callable[[], int] = _no_position
    """Returns the number of bytes read so far."""


@contextmanager
def _opened(name: str) -> Iterator[_BlockFile]:
    if name == _STANDARD_INPUT:
        yield _BlockFile(sys.stdin.buffer)
        return
    path = Path(name)
    with path.open("rb") as file:
        # A pipe has neither a size nor a position.
        size, position = (
            (path.stat().st_size, file.tell) if file.seekable() else (None, _no_position)
        )
        if path.suffix == ".gz":
            with gzip.open(file) as packed:
                yield _BlockFile(packed, size, position)  # type: ignore[arg-type]
        else:
            yield _BlockFile(file, size, position)


class ImportBar:
    """A progress bar with rates and the remaining time.

    Args:
        name: The name of the file.
        size: Bytes of the file, None if unknown.
        position: Returns the number of bytes read so far.
        get_time: A clock, in seconds.
    """

    def __init__(
        self,
        name: str,
        size: int | None,
        position: Callable[[], int],
        get_time: Callable[[], float] = time.monotonic,
    ) -> None:
        self._position = position
        self._now = get_time
        self._began = get_time()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            get_time=get_time,
        )
        self._task = self.progress.add_task(Path(name).name, total=size, rate="")

    def __enter__(self) -> "ImportBar":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def show(self, done: ImportResult) -> None:
        """Show the progress. Rates begin with the first new block, because skipping known blocks takes no time."""
        now = self._now()
        if not done.blocks:
            self._began = now
        seconds = max(now - self._began, 1e-9)
        rate = f"{done.blocks / seconds:,.0f} blocks/s, {done.gas / seconds / 1e6:,.1f} Mgas/s"
        self.progress.update(self._task, completed=self._position(), rate=rate)
