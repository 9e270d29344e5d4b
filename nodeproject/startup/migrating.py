"""Running migrations at the start, with a progress bar: loaded only if some may be missing (`database.make_tables`)."""

from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from chaindb import versions
from chaindb.database import Database
from nodeproject.startup import chain_views
from nodeproject.startup.database import verify_writers


def verify_version(loader: MigrationLoader, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Verify that no later version of this program has written to the loader's database. Raises as `verify_writers`."""
    known = loader.disk_migrations.keys()
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in known
    )
    has_versions = versions.FIRST_MIGRATION in loader.applied_migrations
    verify_writers(versions.recorded(Database(alias)) if has_versions else (), unknown)


def run_missing_migrations(alias: str) -> None:
    """Run a database's missing migrations with a progress bar: without tables it lacks some dozens.

    Raises:
        CannotStart: The database has migrations that this version does not know.
        DatabaseError: A migration failed.
    """
    executor = MigrationExecutor(connections[alias])
    verify_version(executor.loader, alias)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return
    if alias == DEFAULT_DB_ALIAS:
        chain_views.drop(Database())
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
