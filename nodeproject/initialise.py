"""The first start of a data directory: tables, genesis, admin user. Each step does nothing when done."""

import os
import secrets
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from cchain_app.services.genesis import load_genesis
from chaindb.locks import Lock, acquire


def initialise() -> None:
    """Bring the data directory and its database to where the node can run."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)
    load_genesis()
    _make_admin_user()


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
