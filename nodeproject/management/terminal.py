"""What commands print: tables, lines of names and values, and refusals in place of tracebacks."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from django.core.management.base import CommandError
from django.db import DatabaseError

from nodeproject.startup.database import explained
from nodeproject.startup.log_format import shows_colours
from nodeproject.startup.process import CannotStart

if TYPE_CHECKING:  # importing rich takes a twentieth of a start
    from rich.console import Console

    from nodeproject.copies.backup_manifest import ChainsState

PIPE_WIDTH: Final = 200
"""Columns of tables that are not printed to a terminal: a pipe has no width, and programs search for whole values."""


def is_terminal() -> bool:
    """Return whether the output goes to a terminal."""
    return sys.stdout.isatty()


def console_for_tables() -> "Console":
    """Return a console for tables: as wide as the terminal, or wide enough that values stay on one line."""
    from rich.console import Console

    return Console(width=None if is_terminal() else PIPE_WIDTH, highlight=False)


def print_values(title: str, values: Mapping[str, str]) -> None:
    """Print a title and one aligned line per value, nothing without values; values may contain rich's markup.

    On a terminal long values continue below their beginning; elsewhere each value is one line.
    """
    if not values:
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.rule(f"[bold]{title}[/bold]", align="left")
    if is_terminal():
        from rich.table import Table

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in values.items():
            table.add_row(f"  [bold]{name}[/bold]", value)
        console.print(table)
        return
    width = max(map(len, values))
    for name, value in values.items():
        console.print(f"  [bold]{name:<{width}}[/bold]  {value}", soft_wrap=True)


def print_section(title: str, values: Mapping[str, str]) -> None:
    """Print the same as `print_values` does, for values without markup: importing rich takes a twentieth of a start."""
    if not values:
        return
    bold, end = ("\x1b[1m", "\x1b[0m") if shows_colours(sys.stdout) else ("", "")
    line = "─" * (shutil.get_terminal_size().columns - len(title) - 1)
    print(f"{bold}{title}{end} {line}")
    width = max(map(len, values))
    for name, value in values.items():
        print(f"  {bold}{name:<{width}}{end}  {value}")


def print_as_markdown(title: str, values: Mapping[str, str]) -> None:
    """Print a heading and a table with a row for each value; nothing without values."""
    if not values:
        return
    print(f"## {title}\n\n| | |\n|---|---|")
    for name, value in values.items():
        print("|", " | ".join(text.replace("|", "\\|") for text in (name, value)), "|")
    print()


def print_listening(host: str, port: int) -> None:
    """Print the line for which programs wait: connections are accepted from now on."""
    print(f"Listening on {f'[{host}]' if ':' in host else host}:{port}", flush=True)  # for programs


def describe_heads(standing: "ChainsState") -> str:
    """Return the heads of both chains."""
    cchain = f"C-Chain at {standing.cchain.height:,}, " if standing.cchain else ""
    return f"{cchain}P-Chain at {standing.pchain.height:,}"


@contextmanager
def explaining_refusals() -> Iterator[None]:
    """End a command with a message instead of a traceback if the operator can fix the problem.

    Raises:
        CommandError: In place of the original exception.
    """
    from nodeproject.copies.backup_manifest import BackupRefused  # not needed to start a node

    try:
        yield
    except (BackupRefused, CannotStart) as error:
        text = str(error)
        raise CommandError(f"{text[0].upper()}{text[1:]}.") from error
    except (DatabaseError, OSError) as error:
        raise CommandError(explained(error)) from error
