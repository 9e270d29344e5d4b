"""`export_chain`: writes blocks in geth's format of chain files."""

import gzip
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from cchain_app.apps import evm_chain
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.development import has_state_edits
from cchain_app.services.genesis import genesis_text
from primitives.whole_files import whole_file, write_whole

_STANDARD_OUTPUT = "-"

_STEP = 8 * 1024 * 1024
"""Bytes of blocks that are read in one query."""


class Command(BaseCommand):
    """Writes blocks as RLP, one after another."""

    help = (
        "Write the C-Chain's blocks to a file, as `geth export` does; `import_chain` and `geth import` "
        "read it. Block 0 is left out unless FIRST is 0: it comes with the genesis file."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="output file; .gz is compressed, - is standard output")
        parser.add_argument("first", nargs="?", type=int, default=1, help="default: 1")
        parser.add_argument("last", nargs="?", type=int, help="default: the head")
        parser.add_argument(
            "--genesis",
            type=Path,
            help="also write the matching genesis file, including the additions from the settings",
        )

        parser.add_argument(
            "--with-changes",
            action="store_true",
            help="also write a chain whose state was edited (anvil_setBalance and similar), which others cannot verify",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        chain = evm_chain()
        if chain.fork is not None:
            raise CommandError(
                "This chain is a fork and has no real state roots, so others could not verify its blocks."
            )
        try:
            head = blocks.head(chain).number
        except blocks.NoGenesis as error:
            raise CommandError("There is no chain yet.") from error
        first: int = options["first"]
        last: int = head if options["last"] is None else options["last"]
        if not 0 <= first <= last <= head:
            raise CommandError(f"There are no blocks {first} to {last}: the chain is at {head}.")
        if has_state_edits(chain, last) and not options["with_changes"]:
            raise CommandError(
                "The state of this chain was edited (anvil_setBalance and similar), so others cannot verify its "
                "state roots. --with-changes writes it anyway."
            )
        try:
            with _opened(options["file"]) as stream:
                _write(chain, stream, first, last)
            if options["genesis"] is not None:
                write_whole(options["genesis"], genesis_text(chain).encode())
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror or error}") from error
        self.stderr.write(f"Blocks {first} to {last} are written.")


def _write(chain: EvmChain, stream: BinaryIO, first: int, last: int) -> None:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Writing blocks", total=last - first + 1)
        while first <= last:
            found = blocks.raw_blocks(chain, first, last, _STEP, with_payload=False)
            if not found:
                raise CommandError(
                    f"There is no block {first} any more: the chain was rewound meanwhile."
                )
            for item in found:
                stream.write(item.raw)
            first = found[-1].number + 1
            progress.advance(task, len(found))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open a file for writing; it gets its name when it is complete."""
    if name == _STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(name)
    with whole_file(path, replace=True) as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(fileobj=file, mode="wb") as packed:
            yield packed  # type: ignore[misc]
