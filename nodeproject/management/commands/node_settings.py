"""`node_settings`: the table of `NODE_…` variables, as docs/settings.md shows it."""

from typing import Any

from django.core.management.base import BaseCommand
from typing_extensions import override

from nodeproject.settings.flags import table
from nodeproject.settings.node import NodeSettings


def markdown() -> str:
    """Return the table in Markdown."""
    rows = [
        f"| `{name}` | {f'`{default}`' if default else ''} | {meaning} |"
        for name, default, meaning in table(NodeSettings)
    ]
    return "\n".join(["| Variable | Default | Meaning |", "|---|---|---|", *rows])


class Command(BaseCommand):
    """Prints the table."""

    help = "Print the table of NODE_… variables in Markdown."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(markdown())
