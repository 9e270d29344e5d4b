"""Running migrations at the start, with a progress bar: loaded only if some may be missing (`database.make_tables`)."""

from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from nodeproject.startup.process import CannotStart, StartReason


def verify_version(loader: MigrationLoader) -> None:
    """Verify that no later version of this program has changed the database's tables.

    Raises:
        CannotStart: A later version has changed them.
    """
    known = loader.disk_migrations.keys()
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in known
    )
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise CannotStart(StartReason.DATABASE_OF_LATER_VERSION, migration=f"{unknown[0]}{more}")


def run_missing_migrations(alias: str) -> None:
    """Run a database's missing migrations with a progress bar: without tables it lacks some dozens.

    Raises:
        CannotStart: The database has migrations that this version does not know.
        DatabaseError: A migration failed.
    """
    executor = MigrationExecutor(connections[alias])
    verify_version(executor.loader)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Making tables", total=len(missing))
        command = _Migrate(lambda: progress.advance(task))
        call_command(command, database=alias, interactive=False, verbosity=0)


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
