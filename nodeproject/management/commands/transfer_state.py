"""`transfer_state`: moves a node from SQLite to PostgreSQL."""

import time
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.copies.transfer import transfer
from nodeproject.management.terminal import describe_heads, explaining_refusals


class Command(BaseCommand):
    """Copies all rows of a data directory's SQLite database into PostgreSQL, and verifies them."""

    help = (
        "Move a stopped node from the SQLite database in NODE_DATA_DIR into the empty PostgreSQL database "
        "of NODE_DATABASE_URL. Heads, rows of every table and the state root are verified before anything is kept. "
        "The SQLite database stays as it is."
    )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node, began = this_node(), time.monotonic()
        with explaining_refusals(), Console(stderr=True).status("Copying") as status:
            standing = transfer(node.settings, node.platform_chain.db, on_step=status.update)
        took = time.monotonic() - began
        self.stdout.write(
            f"Moved to PostgreSQL: {describe_heads(standing)}, state root {standing.state_root or 'none'} verified, "
            f"{took:.1f} s."
        )
