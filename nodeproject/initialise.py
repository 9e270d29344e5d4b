"""The first start of a data directory: tables, genesis, admin user. Each step does nothing when done."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from cchain_app import runtime as cchain
from cchain_app.services import genesis as cchain_genesis
from chaindb import clock
from chaindb.locks import Lock, acquire
from nodeproject.identity import make_identity, signer
from platform_app.services import genesis as platform_genesis


def initialise() -> None:
    """Bring the data directory and its database to where the node can run.

    Raises:
        GenesisMismatch: The database holds another chain.
        GenesisFileError: The C-Chain's genesis file cannot be used.
        GenesisError: The P-Chain's cannot.
    """
    os.umask(0o077)  # keys, passwords and the database are for the node's own user
    _migrate()
    make_identity(clock.now())
    with Console(stderr=True).status("Looking at the genesis blocks"):
        cchain_genesis.load_genesis()
        platform_genesis.load_genesis(signer(), cchain.genesis_file().decode())
    _make_admin_user()


def _migrate() -> None:
    """Run the migrations that are missing, with a bar: a first start has some dozens."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not missing:
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Making tables", total=len(missing))
        command = _Migrate(lambda: progress.advance(task))
        call_command(command, interactive=False, verbosity=0)


class _Migrate(migrate.Command):
    """Django's command, telling of each migration that is done."""

    def __init__(self, done: Callable[[], None]) -> None:
        super().__init__()
        self._done = done

    @override
    def migration_progress_callback(
        self, action: str, migration: Any | None = None, fake: bool = False
    ) -> None:
        if action == "apply_success":
            self._done()


def password_file() -> Path:
    """Return the file that holds the generated password of the admin user."""
    return Path(settings.NODE.directory) / "admin_password"


@transaction.atomic
def _make_admin_user() -> None:
    """Make the admin user with a random password, in a file that its owner only can read."""
    acquire(Lock.INIT)
    users = get_user_model().objects
    name = settings.NODE.admin_user
    if users.filter(username=name).exists():
        return
    password = secrets.token_urlsafe(18)
    descriptor = os.open(password_file(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password + "\n")
    users.create_superuser(username=name, password=password)
