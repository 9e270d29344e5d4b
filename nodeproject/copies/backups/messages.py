"""Messages of the commands for backups."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import DatabaseError

from nodeproject.copies.backups.errors import BackupRefused
from nodeproject.copies.backups.manifest import Standing
from nodeproject.startup.database_faults import explained
from nodeproject.startup.process import CannotStart


def heads(standing: Standing) -> str:
    """Return the heads of both chains."""
    cchain = f"C-Chain at {standing.cchain.height:,}, " if standing.cchain else ""
    return f"{cchain}P-Chain at {standing.pchain.height:,}"


@contextmanager
def refusals_told() -> Iterator[None]:
    """End a command with a message instead of a traceback if the operator can fix the problem.

    Raises:
        CommandError: In place of the original exception.
    """
    try:
        yield
    except (BackupRefused, CannotStart) as error:
        text = str(error)
        raise CommandError(f"{text[0].upper()}{text[1:]}.") from error
    except (DatabaseError, OSError) as error:
        raise CommandError(explained(error)) from error
