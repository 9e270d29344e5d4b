"""`snapshot`: save, restore, list and delete named snapshots of a local network's node."""

import json
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.template.defaultfilters import filesizeformat
from rich import box
from rich.table import Table
from typing_extensions import override

from adminkit.formats import format_time, shorten
from chaindb.snapshots.port import SnapshotRefused
from nodeproject.apps import this_node
from nodeproject.copies.snapshot_manifest import Head
from nodeproject.copies.snapshots import DamagedSnapshot, NamedSnapshot
from nodeproject.management.terminal import console_for_tables
from nodeproject.startup.database import explained
from nodeproject.startup.profile import CHECKS


class Command(BaseCommand):
    """Stores states of the whole node under names, also while it runs."""

    requires_system_checks = CHECKS
    help = (
        "Save the state of the node under a name, and restore it: the P-, the X- and the C-Chain, the chains of subnets, "
        "keystore, clock, pools."
    )

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        save = verbs.add_parser("save", help="save the current state")
        save.add_argument("name", help="1 to 40 of a-z, 0-9, - and _")
        save.add_argument(
            "--replace", action="store_true", help="overwrite a snapshot of that name"
        )
        restore = verbs.add_parser("restore", help="restore a snapshot")
        restore.add_argument("name")
        listed = verbs.add_parser("list", help="list the snapshots")
        listed.add_argument("--json", action="store_true", help="as JSON, for programs")
        delete = verbs.add_parser("delete", help="delete a snapshot")
        delete.add_argument("name")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except SnapshotRefused as error:
            raise CommandError(_sentence(str(error))) from error
        except (DatabaseError, OSError) as error:
            raise CommandError(explained(error)) from error

    def _save(self, options: dict[str, Any]) -> None:
        began = time.monotonic()
        saved = this_node().snapshots.save(options["name"], replace=options["replace"])
        took = time.monotonic() - began
        size = filesizeformat(saved.size).replace("\xa0", " ")
        self.stdout.write(f"Saved {options['name']}: {_heads(saved)}, {size}, {took:.1f} s.")

    def _restore(self, options: dict[str, Any]) -> None:
        began = time.monotonic()
        restored = this_node().snapshots.restore(options["name"])
        took = time.monotonic() - began
        self.stdout.write(f"Restored {options['name']}: {_heads(restored.snapshot)}, {took:.1f} s.")
        if restored.behind:
            numbers = ", ".join(map(str, restored.behind))
            self.stderr.write(f"These processes of the node have not caught up yet: {numbers}.")

    def _list(self, options: dict[str, Any]) -> None:
        found = this_node().snapshots.all()
        if options["json"]:
            self.stdout.write(json.dumps([_json(item) for item in found], indent=2))
        elif found:
            console_for_tables().print(_table(found))
        else:
            self.stdout.write("There are no snapshots yet: `snapshot save NAME` creates the first.")

    def _delete(self, options: dict[str, Any]) -> None:
        this_node().snapshots.delete(options["name"])
        self.stdout.write(f"Deleted {options['name']}.")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _heads(snapshot: NamedSnapshot) -> str:
    manifest = snapshot.manifest
    cchain = f"C-Chain at {manifest.cchain.height:,}, " if manifest.cchain else ""
    subnets = len(manifest.chains)
    more = f", {subnets} chain{'' if subnets == 1 else 's'} of subnets" if subnets else ""
    return f"{cchain}P-Chain at {manifest.pchain.height:,}{more}"


def _table(found: Sequence[NamedSnapshot | DamagedSnapshot]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("Name", "Saved", "C-Chain", "P-Chain", "Clock"):
        table.add_column(title, overflow="fold")
    table.add_column("Size", justify="right", no_wrap=True)
    for item in found:
        if isinstance(item, DamagedSnapshot):
            table.add_row(item.name, "cannot be read")
            continue
        manifest = item.manifest
        table.add_row(
            manifest.name,
            format_time(manifest.saved_at),
            _place(manifest.cchain),
            _place(manifest.pchain),
            f"+{manifest.clock_offset:,} s",
            filesizeformat(item.size).replace("\xa0", " "),
        )
    return table


def _place(head: Head | None) -> str:
    return "–" if head is None else f"{head.height:,}  {shorten(head.id)}"


def _json(snapshot: NamedSnapshot | DamagedSnapshot) -> dict[str, Any]:
    if isinstance(snapshot, DamagedSnapshot):
        return {"name": snapshot.name, "unreadable": snapshot.reason}
    shown: dict[str, Any] = msgspec.to_builtins(snapshot.manifest)
    return {**shown, "size": snapshot.size}
