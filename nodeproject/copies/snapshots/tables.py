"""Which tables a snapshot is of: the chains' rows with outer blocks, keystore, clock, pools and the index of tokens.

What a process says of itself stays as it is: peers, how far it is, its votes, the history of its health. So do
people who may open the admin, what they did there, the schedule, and sources and ABIs, which are of a code wherever
it is deployed.
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
"""Those of which a writer that comes behind the blocks locks a row before it writes to any other."""


def tables() -> list[str]:
    """Return the tables whose rows a snapshot has, by name."""
    found = {
        model._meta.db_table  # as above
        for app in _APPS
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.label not in _KEPT
    }
    return sorted(found)


def migrations(db: Database) -> tuple[str, ...]:
    """Return the migrations by which a database's tables were made, of the apps that have them."""
    applied = MigrationRecorder(db.connection).applied_migrations()
    return tuple(sorted(f"{app}.{name}" for app, name in applied if app in _APPS))
