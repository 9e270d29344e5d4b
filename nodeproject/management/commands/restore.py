"""`restore`: restores a node from the file of a backup into an empty data directory and database."""

import time
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.copies.backup_manifest import BackupManifest
from nodeproject.copies.backups import restore, verify_file
from nodeproject.management.terminal import describe_heads, explaining_refusals
from nodeproject.startup.process import claim_directory
from primitives.counting import counted


class Command(BaseCommand):
    """Writes rows and files of a backup, and verifies them."""

    help = (
        "Restore a node from the file of a backup, into an empty data directory and an empty database: SQLite or "
        "PostgreSQL, whichever the settings name. Nothing is kept unless heads, rows and the state root equal the "
        "saved ones."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the backup")
        parser.add_argument(
            "--verify-only",
            action="store_true",
            help="change no node: restore into a temporary file of the data directory, verify, and delete it",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node, path, began = this_node(), options["file"], time.monotonic()
        if options["verify_only"]:
            with explaining_refusals(), Console(stderr=True).status("Verifying") as status:
                saved = verify_file(node.settings, path, on_step=status.update)
            self._report("Verified", path, saved, began)
            return
        alone = node.settings.common.profile == "embedded"
        with (
            explaining_refusals(),
            claim_directory(node.settings.common.directory) if alone else nullcontext(),
            Console(stderr=True).status("Restoring") as status,
        ):
            saved = restore(node.settings, node.platform_chain.db, path, on_step=status.update)
        self._report("Restored", path, saved, began)
        if not saved.has_keys:
            self.stdout.write("It contains no keys: the first start creates a new node identity.")

    def _report(self, done: str, path: Path, saved: BackupManifest, began: float) -> None:
        rows = sum(table.rows for table in saved.tables.values())
        took = time.monotonic() - began
        self.stdout.write(
            f"{done} {path}: {describe_heads(saved.standing)}, {counted(rows, 'row')}, state root "
            f"{saved.standing.state_root or 'none'} verified, {took:.1f} s."
        )
