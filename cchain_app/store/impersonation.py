"""The rows of who is impersonated: they survive a restart."""

from typing import Final

from cchain_app import models
from chaindb.database import Database
from primitives.evm import Address

EVERYBODY: Final = None
"""In place of an address: every account."""


def add(db: Database, account: Address | None) -> None:
    """Write that an account needs no key; once more changes nothing. The caller holds the lock and the transaction."""
    if not db.objects(models.Impersonation).filter(**_is(account)).exists():
        db.objects(models.Impersonation).create(address=account)


def remove(db: Database, account: Address | None) -> bool:
    """Delete that an account needs no key; return whether that was so. The caller holds the lock and the transaction."""
    deleted, _ = db.objects(models.Impersonation).filter(**_is(account)).delete()
    return bool(deleted)


def addresses(db: Database) -> list[Address]:
    """Return the accounts that are named, in the order in which they came."""
    named = db.objects(models.Impersonation).exclude(**_is(EVERYBODY)).order_by("id")
    return [Address(bytes(found)) for found in named.values_list("address", flat=True) if found]


def includes(db: Database, account: Address) -> bool:
    """Say whether an account needs no key: it is named, or everybody is."""
    wanted = db.objects(models.Impersonation).filter(**_is(account))
    return wanted.exists() or db.objects(models.Impersonation).filter(**_is(EVERYBODY)).exists()


def _is(account: Address | None) -> dict[str, object]:
    return {"address__isnull": True} if account is None else {"address": account}
