"""`node_settings`: prints the tables of `NODE_…` variables and of flags, as in docs/settings.md."""

from typing import Any

from django.core.management.base import BaseCommand
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from nodeproject.management.terminal import console_for_tables, is_terminal
from nodeproject.settings.flags import table
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.options import option_table
from nodeproject.startup.profile import CHECKS


def markdown() -> str:
    """Return the table in Markdown."""
    rows = [
        f"| `{name}` | {f'`{default}`' if default else ''} | {meaning} |"
        for name, default, meaning in table(NodeSettings)
    ]
    return "\n".join(["| Variable | Default | Meaning |", "|---|---|---|", *rows])


def flags_markdown() -> str:
    """Return the table of the start command's flags whose names differ from their setting's, in Markdown."""
    rows = [
        f"| {', '.join(f'`{option}`' for option in row.options)} | `{row.variable}` | {row.remarks} |"
        for row in option_table(NodeSettings)
    ]
    return "\n".join(["| Flag | Variable | Additional effect |", "|---|---|---|", *rows])


class Command(BaseCommand):
    """Prints the tables: in Markdown, on a terminal in its width."""

    requires_system_checks = CHECKS
    help = "Print the tables of NODE_… variables, and of flags with names of their own, as in docs/settings.md."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if not is_terminal():
            self.stdout.write(f"{markdown()}\n\n{flags_markdown()}")
            return
        variables = Table("Variable", "Default", "Meaning", box=SIMPLE_HEAD, pad_edge=False)
        for row in table(NodeSettings):
            variables.add_row(*map(Text, row))
        flags = Table("Flag", "Variable", "Besides", box=SIMPLE_HEAD, pad_edge=False)
        for flag in option_table(NodeSettings):
            flags.add_row(*map(Text, (", ".join(flag.options), flag.variable, flag.remarks)))
        console_for_tables().print(variables, flags)
