"""`backup`: the whole node in one file, while it runs."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.template.defaultfilters import filesizeformat
from rich.console import Console
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.copies.backups import backup
from nodeproject.management.terminal import describe_heads, explaining_refusals


class Command(BaseCommand):
    """Saves rows, identity and genesis of a node as of a single moment."""

    help = (
        "Save the whole node in one file while it runs: both chains, pools, keystore, who may open the admin, and "
        "the files of its identity. Whoever has the file has the node's keys: keep it as you keep them."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file, which must not exist yet")
        parser.add_argument(
            "--without-keys",
            action="store_true",
            help="leave out the node's identity, the keystore, who may open the admin and what was done there: "
            "a node that is restored from it is another one on the same chains",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node, path, began = this_node(), options["file"], time.monotonic()
        keys = not options["without_keys"]
        with explaining_refusals(), Console(stderr=True).status("Saving") as status:
            saved = backup(
                node.settings, node.platform_chain.db, path, keys=keys, on_step=status.update
            )
        size = filesizeformat(path.stat().st_size).replace("\xa0", " ")
        rows = sum(table.rows for table in saved.tables.values())
        took = time.monotonic() - began
        self.stdout.write(
            f"Saved {path}: {describe_heads(saved.standing)}, {rows:,} rows, {size}, {took:.1f} s."
        )
        if not keys:
            self.stdout.write("It has no keys: the node's identity and the keystore are not in it.")
