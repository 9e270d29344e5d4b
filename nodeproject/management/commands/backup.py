"""`backup`: the whole node in one file, while it runs; regularly into a directory that keeps the latest files."""

import time
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat
from rich.console import Console
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.copies.backups import backup, backup_into
from nodeproject.management.terminal import describe_heads, explaining_refusals
from primitives.counting import counted


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


class Command(BaseCommand):
    """Saves rows, identity and genesis of a node as of a single moment."""

    help = (
        "Save the whole node in one file while it runs: all chains, pools, keystore, the admin's users, and "
        "the files of its identity. The file contains the node's keys: keep it as safe as the keys."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="the file, which must not exist yet, or a directory, in which the file is named by the time: "
            "node-20261129T030000Z.backup",
        )
        parser.add_argument(
            "--keep",
            type=_positive,
            metavar="N",
            help="in a directory: keep the N latest files of such a name, and delete the others once the new one "
            "is complete",
        )
        parser.add_argument(
            "--without-keys",
            action="store_true",
            help="leave out the node's identity, the keystore, the admin's users and their log: "
            "a node that is restored from it has another identity on the same chains",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node, path, began = this_node(), options["file"], time.monotonic()
        keys, keep = not options["without_keys"], options["keep"]
        if keep is not None and not path.is_dir():
            raise CommandError(f"--keep needs a directory, but {path} is not a directory")
        old: list[Path] = []
        with explaining_refusals(), Console(stderr=True).status("Saving") as status:
            db = node.platform_chain.db
            if path.is_dir():
                path, saved, old = backup_into(
                    node.settings, db, path, keep=keep, keys=keys, on_step=status.update
                )
            else:
                saved = backup(node.settings, db, path, keys=keys, on_step=status.update)
        size = filesizeformat(path.stat().st_size).replace("\xa0", " ")
        rows = sum(table.rows for table in saved.tables.values())
        took = time.monotonic() - began
        self.stdout.write(
            f"Saved {path}: {describe_heads(saved.standing)}, {counted(rows, 'row')}, {size}, {took:.1f} s."
        )
        if old:
            self.stdout.write(f"Deleted {', '.join(found.name for found in old)}.")
        if not keys:
            self.stdout.write("It contains no keys: neither the node's identity nor the keystore.")
