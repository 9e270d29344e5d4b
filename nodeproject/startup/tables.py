"""The tables of the database: the missing migrations, with a progress bar."""

from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from nodeproject.startup.database_faults import verify_reachable, verify_version


def make_tables() -> None:
    """Run the missing migrations with a progress bar: a first start has some dozens.

    Raises:
        CannotStart: The database does not answer, is not in UTF-8, or has migrations that this version does not know.
        DatabaseError: A migration failed.
    """
    verify_reachable()
    executor = MigrationExecutor(connection)
    verify_version(executor.loader)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Making tables", total=len(missing))
        command = _Migrate(lambda: progress.advance(task))
        call_command(command, interactive=False, verbosity=0)


class _Migrate(migrate.Command):
    """Django's command, which reports each completed migration."""

    def __init__(self, done: Callable[[], None]) -> None:
        super().__init__()
        self._done = done

    @override
    def migration_progress_callback(
        self, action: str, migration: Any | None = None, fake: bool = False
    ) -> None:
        if action == "apply_success":
            self._done()
