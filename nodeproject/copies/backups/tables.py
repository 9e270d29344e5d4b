"""Which tables go into a backup and to another database: all but those that every start makes by itself.

An app's tables are among them unless the app is named here, so that no new one can be forgotten.
"""

from collections.abc import Iterator
from typing import Final

from django.apps import AppConfig, apps
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from chaindb.rows import Table
from nodeproject.copies.backups.errors import NotEmpty

_LEFT_OUT: Final = frozenset({"sessions", "django_celery_beat"})
"""People log in again, and the settings make Celery's schedule. Django's list of migrations is compared instead."""
_MADE: Final = frozenset({"django_content_type", "auth_permission"})
"""Tables that migrating fills."""
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
"""Tables with what passwords and keys become, and with addresses of clients that submitted sources or used the faucet."""


def all_tables(*, keys: bool = True) -> list[Table]:
    """Return the tables in the order of their names.

    Args:
        keys: Whether those of people and their sealed keys are among them.
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
    """Return the migrations by which a database's tables were made, of the apps that have them."""
    carried = {app.label for app in _apps()}
    applied = MigrationRecorder(db.connection).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied if app in carried))


def make_room(db: Database) -> None:
    """See that nothing is there but what migrating has written, and delete that; within the caller's transaction.

    Raises:
        NotEmpty: There is more.
    """
    for table in all_tables():
        if table.name not in _MADE and db.row(f'SELECT 1 FROM "{table.name}" LIMIT 1'):  # noqa: S608  # names are the models'
            raise NotEmpty(table.name)
    for name in ("auth_permission", "django_content_type"):
        db.execute(f'DELETE FROM "{name}"')  # noqa: S608  # as above


def _apps() -> Iterator[AppConfig]:
    return (app for app in apps.get_app_configs() if app.label not in _LEFT_OUT)
