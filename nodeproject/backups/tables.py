"""Which tables go into a backup and to another database: all but those that every start makes by itself.

Left out are sessions (people log in again), Celery's schedule (the settings make it) and Django's list of migrations,
which is compared instead.
"""

from typing import Final

from django.apps import apps
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from chaindb.rows import Table
from nodeproject.backups.errors import NotEmpty

_APPS: Final = (
    "contenttypes", "auth", "admin", "chaindb", "platform_app", "cchain_app", "network_app", "health_app",
)  # fmt: skip
_MADE: Final = frozenset({"django_content_type", "auth_permission"})
"""Tables that migrating fills."""
_OF_PEOPLE: Final = frozenset(
    {
        "auth_user",
        "auth_user_groups",
        "auth_user_user_permissions",
        "django_admin_log",
        "platform_app_keystoreuser",
        "platform_app_keystorekey",
    }
)
"""Tables with what passwords and keys become."""


def all_tables(*, keys: bool = True) -> list[Table]:
    """Return the tables in the order of their names.

    Args:
        keys: Whether those of people and their sealed keys are among them.
    """
    found = [
        Table(model)
        for app in _APPS
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    ]
    wanted = [table for table in found if keys or table.name not in _OF_PEOPLE]
    return sorted(wanted, key=lambda table: table.name)


def migrations(db: Database) -> tuple[str, ...]:
    """Return the migrations by which a database's tables were made, of the apps that have them."""
    applied = MigrationRecorder(db.connection).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied if app in _APPS))


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
