"""The tables that a backup or a move to another database includes: all but those that every start fills itself.

An app's tables are included unless the app is excluded here, so that no new app can be forgotten.
"""

from collections.abc import Iterator
from typing import Final

from django.apps import AppConfig, apps
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from chaindb.rows import Table
from nodeproject.copies.backups.errors import NotEmpty

_LEFT_OUT: Final = frozenset({"sessions", "django_celery_beat"})
"""Users log in again, and the settings define Celery's schedule. Django's list of migrations is compared instead."""
_MADE: Final = frozenset({"django_content_type", "auth_permission"})
"""Tables that are filled by migrations."""
_OF_PEOPLE: Final = frozenset(
    {
        "auth_user",
        "auth_user_groups",
        "auth_user_user_permissions",
        "django_admin_log",
        "explorer_app_faucetpayment",
        "explorer_app_verification",
        "platform_app_keystoreuser",
        "platform_app_keystorekey",
    }
)
"""Tables with hashed passwords, encrypted keys, and addresses of clients that submitted sources or used the faucet."""


def all_tables(*, keys: bool = True) -> list[Table]:
    """Return the tables in the order of their names.

    Args:
        keys: Whether to include the tables of users and their encrypted keys.
    """
    found = [
        Table(model)
        for app in _apps()
        for model in app.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    ]
    wanted = [table for table in found if keys or table.name not in _OF_PEOPLE]
    return sorted(wanted, key=lambda table: table.name)


def migrations(db: Database) -> tuple[str, ...]:
    """Return the migrations that created a database's tables, of the included apps."""
    carried = {app.label for app in _apps()}
    applied = MigrationRecorder(db.connection).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied if app in carried))


def make_room(db: Database) -> None:
    """Verify that the tables have no rows but those from migrations, and delete these; within the caller's transaction.

    Raises:
        NotEmpty: There are further rows.
    """
    for table in all_tables():
        if table.name not in _MADE and db.row(f'SELECT 1 FROM "{table.name}" LIMIT 1'):  # noqa: S608  # names are the models'
            raise NotEmpty(table.name)
    for name in ("auth_permission", "django_content_type"):
        db.execute(f'DELETE FROM "{name}"')  # noqa: S608  # as above


def _apps() -> Iterator[AppConfig]:
    return (app for app in apps.get_app_configs() if app.label not in _LEFT_OUT)
