"""The tables of this node, and which of them a backup, a move to another database and a snapshot contain.

An app's tables are included in a backup unless the app is excluded here, so that no new app can be forgotten.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final

from django.apps import AppConfig, apps
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from chaindb.rows import Table


class TableSelection:
    """Some tables of this node, in the order of their names.

    Args:
        has_app: Returns whether the tables of an app are included, by the app's label.
        left_out: Names of tables of these apps that are not included.
    """

    def __init__(
        self, has_app: Callable[[str], bool], left_out: Collection[str] = frozenset()
    ) -> None:
        self._has_app = has_app
        self._left_out = left_out

    def tables(self) -> list[Table]:
        """Return the tables."""
        found = [
            Table(model)
            for app in self._apps()
            for model in app.get_models(include_auto_created=True)
            if model._meta.managed
            and not model._meta.proxy
            and model._meta.db_table not in self._left_out
        ]
        return sorted(found, key=lambda table: table.name)

    def names(self) -> list[str]:
        """Return the names of the tables."""
        return [table.name for table in self.tables()]

    def counts(self, db: Database) -> dict[str, int]:
        """Return the number of rows of each table."""
        return {table.name: table.count(db) for table in self.tables()}

    def migrations(self, db: Database) -> tuple[str, ...]:
        """Return the migrations that created a database's tables: app.name, sorted."""
        included = {app.label for app in self._apps()}
        applied = MigrationRecorder(db.connection).applied_migrations()
        return tuple(sorted(f"{app}.{name}" for app, name in applied if app in included))

    def _apps(self) -> Iterator[AppConfig]:
        return (app for app in apps.get_app_configs() if self._has_app(app.label))


def first_difference(one: Collection[str], other: Collection[str]) -> str | None:
    """Return the first migration that only one of two databases has; None if both have the same ones."""
    return min(set(one) ^ set(other), default=None)


_NOT_SAVED: Final = frozenset({"sessions", "django_celery_beat"})
"""Users log in again, and the settings define Celery's schedule. Django's list of migrations is compared instead."""

_PEOPLE: Final = frozenset(
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

_OF_BACKUPS: Final = frozenset({"chaindb_lastbackup"})
"""The record of the last backup: a file cannot contain its own, and a restored node has none yet."""

_WITH_CHAINS: Final = frozenset(
    {
        "chaindb",
        "shared_app",
        "platform_app",
        "cchain_app",
        "xchain_app",
        "network_app",
        "explorer_app",
    }
)

_NOT_REWOUND: Final = frozenset(
    {
        "chaindb_generation",
        "chaindb_programversion",
        "network_app_peer",
        "network_app_networkstatus",
        "network_app_chainsync",
        "network_app_fetchedblock",
        "network_app_chainconsensus",
        "network_app_blockdecision",
        "network_app_signaturequery",
        "explorer_app_verifiedcontract",
        "explorer_app_suppliedabi",
        "explorer_app_verification",
        "explorer_app_faucetpayment",
    }
)
"""Tables in which a process describes itself, and sources and ABIs, which belong to a code wherever it is deployed."""

EVERYTHING: Final = TableSelection(lambda app: app not in _NOT_SAVED, _OF_BACKUPS)
"""The tables in a backup and in a move to another database: all but those that every start fills itself."""

WITHOUT_PEOPLE: Final = TableSelection(lambda app: app not in _NOT_SAVED, _PEOPLE | _OF_BACKUPS)
"""The tables in a backup without keys."""

SNAPSHOT: Final = TableSelection(lambda app: app in _WITH_CHAINS, _NOT_REWOUND | _OF_BACKUPS)
"""The tables in a snapshot: the chains' rows with outer blocks, keystore, clock, pools, the token index and the statistics."""

HELD_FIRST: Final = (
    "cchain_app_callprogress",
    "explorer_app_tokenprogress",
    "explorer_app_statisticsprogress",
)
"""Tables in which an indexer that follows the blocks locks a row before it writes to any other table."""
