"""`bootstrap_progress`: a bar for each chain until it has reached the network's frontier."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from typing_extensions import override

from network_app import selectors
from network_app.apps import node_network
from primitives.networks import title

PERIOD = 0.5
"""Seconds between updates."""


class Command(BaseCommand):
    """Shows bars until all chains are bootstrapped."""

    help = "Show the progress of bootstrapping for each chain."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[progress]}"),
        )
        with Progress(*columns, console=Console(stderr=True)) as bars:
            tasks: dict[str, TaskID] = {}
            printed: list[str] = []
            while (silence := _silence()) is not None or not _show(bars, tasks):
                lines = _obstacles() if silence is None else [silence]
                for line in lines:
                    if line not in printed:
                        bars.console.print(line, markup=False)
                printed = lines
                time.sleep(PERIOD)
        self.stdout.write("All chains are bootstrapped.")


def _silence() -> str | None:
    """Return why there is no report on the chains; None if there is one, or none is needed."""
    node = settings.NODE
    try:
        reported = selectors.status()
    except DatabaseError:  # the tables are created on the first start
        reported = None
    else:
        if not node.common.bootstrap:
            return None
    if reported is None:
        return f"No node has run yet on {node.common.directory}: waiting for its start."
    if not selectors.is_fresh(reported):
        return (
            "The network process of the node is not running; its last report is from "
            f"{reported.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC: waiting for its start."
        )
    return None


def _obstacles() -> list[str]:
    """Return the obstacles of the chains, and why bootstrappers are not connected."""
    rows = selectors.syncs()
    obstacles = [f"{title(alias)}: {row.obstacle}" for alias, row in rows.items() if row.obstacle]
    failures = selectors.dial_failures(selectors.status())
    return [*obstacles, *(f"Not connected to {failure}" for failure in failures)]


def _show(bars: Progress, tasks: dict[str, TaskID]) -> bool:
    """Update the bars and return whether all chains are done."""
    for alias, row in selectors.syncs().items():
        if alias not in tasks:
            tasks[alias] = bars.add_task(title(alias), total=100, progress="")
        bars.update(tasks[alias], completed=row.percent, progress=_progress_text(row))
    return all(map(selectors.is_bootstrapped, node_network().chains))


def _progress_text(row: selectors.Sync) -> str:
    if row.waiting is not None:
        return str(row.waiting)
    rate = "" if not row.blocks_per_second else f", {row.blocks_per_second:,.0f} blocks/s"
    left = "" if not row.seconds_left else f", {row.seconds_left:,.0f} s left"
    return f"{row.progress_text}{rate}{left}"
