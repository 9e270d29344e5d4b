"""The rows of who is impersonated, and of whose signatures are: they survive a restart."""

from collections.abc import Iterable
from typing import Any, Final

from cchain_app import models
from cchain_app.development.signatures import ImpersonatedSignature
from chaindb.database import Database, Question
from primitives.evm import Address

EVERYBODY: Final = None
"""In place of an address: every account."""
_SIGNATURES: Final = "SELECT number, signature, signer FROM cchain_app_impersonatedsignature"
SIGNATURES_QUESTION: Final[Question] = (f"{_SIGNATURES} ORDER BY id", ())


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


def signatures(db: Database) -> tuple[ImpersonatedSignature, ...]:
    """Return all signatures whose signer was set by hand, in order."""
    return tuple(map(_signature, db.rows(*SIGNATURES_QUESTION)))


def _signature(row: tuple[Any, ...]) -> ImpersonatedSignature:
    number, signature, signer = row
    return ImpersonatedSignature(number, bytes(signature), Address(bytes(signer)))


def set_signature(db: Database, one: ImpersonatedSignature) -> None:
    """Write who signed; what was said of it for the same block goes. The caller holds the lock and the transaction."""
    rows = db.objects(models.ImpersonatedSignature)
    rows.filter(number=one.number, signature=one.signature).delete()
    rows.create(**one._asdict())


def keep_signatures(db: Database, found: Iterable[ImpersonatedSignature], number: int) -> None:
    """Let what was set for later blocks hold from this one on: the chain went back, and the next block is this.

    The caller holds the lock and the transaction.

    Args:
        db: Where the chain is.
        found: All that are set.
        number: Of the block.
    """
    later = [one for one in found if one.number > number]
    for one in later:
        set_signature(db, one._replace(number=number))
    if later:
        db.objects(models.ImpersonatedSignature).filter(number__gt=number).delete()


def forget_signatures(db: Database) -> None:
    """Delete all of them. The caller holds the lock and the transaction."""
    db.objects(models.ImpersonatedSignature).all().delete()


def _is(account: Address | None) -> dict[str, object]:
    return {"address__isnull": True} if account is None else {"address": account}
