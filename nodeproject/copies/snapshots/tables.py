"""The tables in a snapshot: the chains' rows with outer blocks, keystore, clock, pools and the token index.

Rows in which a process describes itself are not restored: peers, its progress, its votes, its health history. Nor are
the admin's users, their log entries, the schedule, and sources and ABIs, which belong to a code wherever it is
deployed.
"""

from typing import Final

from django.apps import apps
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from chaindb.models import Generation

_APPS: Final = ("chaindb", "platform_app", "cchain_app", "network_app", "explorer_app")
_KEPT: Final = frozenset(
    {
        Generation._meta.label,  # Django documents it
        "network_app.Peer",
        "network_app.NetworkStatus",
        "network_app.ChainSync",
        "network_app.FetchedBlock",
        "network_app.ChainConsensus",
        "network_app.BlockDecision",
        "explorer_app.VerifiedContract",
        "explorer_app.SuppliedAbi",
        "explorer_app.Verification",
        "explorer_app.FaucetPayment",
    }
)

HELD_FIRST: Final = ("cchain_app_callprogress", "explorer_app_tokenprogress")
"""Tables in which an indexer that follows the blocks locks a row before it writes to any other table."""


def tables() -> list[str]:
    """Return the names of the tables in a snapshot, sorted."""
    found = {
        model._meta.db_table  # as above
        for app in _APPS
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.label not in _KEPT
    }
    return sorted(found)


def migrations(db: Database) -> tuple[str, ...]:
    """Return the migrations that created a database's tables, of the apps with tables in a snapshot."""
    applied = MigrationRecorder(db.connection).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied if app in _APPS))
