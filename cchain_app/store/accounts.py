"""Rows of the accounts that the node created on request, and of impersonated accounts and signatures.

They survive restarts and contain no keys.
"""

from collections.abc import Iterable
from typing import Any, Final

from django.db.models import Max

from cchain_app import models
from cchain_app.development.overrides import SignatureOverride
from chaindb.database import Database, SqlQuery
from primitives.evm import Address


def add_created(db: Database, number: int, address: Address) -> None:
    """Add a created account. The caller holds the lock and the transaction."""
    db.objects(models.CreatedAccount).create(number=number, address=address)


def count_created(db: Database) -> int:
    """Return the number of created accounts."""
    return db.objects(models.CreatedAccount).count()


def next_account_number(db: Database, least: int) -> int:
    """Return the next unused number: above those of all rows, and at least `least`."""
    last = db.objects(models.CreatedAccount).aggregate(last=Max("number"))["last"]
    return least if last is None else max(least, int(last) + 1)


def account_numbers_of(db: Database, addresses: Iterable[Address]) -> dict[Address, int]:
    """Return the numbers of those of the accounts that this node created."""
    accounts = db.objects(models.CreatedAccount).filter(address__in=list(addresses)).order_by()
    return {
        Address(bytes(address)): number
        for address, number in accounts.values_list("address", "number")
    }


def account_numbers(db: Database) -> list[tuple[int, Address]]:
    """Return number and address of all of them, in order of creation."""
    accounts = db.objects(models.CreatedAccount).order_by("number").values_list("number", "address")
    return [(number, Address(bytes(address))) for number, address in accounts]


EVERYBODY: Final = None
"""Used in place of an address: all accounts."""
_SIGNATURES: Final = "SELECT number, signature, signer FROM cchain_app_impersonatedsignature"
SIGNATURES_QUERY: Final[SqlQuery] = (f"{_SIGNATURES} ORDER BY id", ())


def add_impersonated(db: Database, account: Address | None) -> None:
    """Add an account that needs no key, unless it was added before. The caller holds the lock and the transaction."""
    if not db.objects(models.Impersonation).filter(**_is(account)).exists():
        db.objects(models.Impersonation).create(address=account)


def remove_impersonated(db: Database, account: Address | None) -> bool:
    """Remove an account that needs no key; return whether it existed. The caller holds the lock and the transaction."""
    deleted, _ = db.objects(models.Impersonation).filter(**_is(account)).delete()
    return bool(deleted)


def impersonated(db: Database) -> list[Address]:
    """Return the individually added accounts, in order of addition."""
    named = db.objects(models.Impersonation).exclude(**_is(EVERYBODY)).order_by("id")
    return [
        Address(bytes(address)) for address in named.values_list("address", flat=True) if address
    ]


def is_impersonated(db: Database, account: Address) -> bool:
    """Return whether an account needs no key, because it was added or all accounts were."""
    wanted = db.objects(models.Impersonation).filter(**_is(account))
    return wanted.exists() or db.objects(models.Impersonation).filter(**_is(EVERYBODY)).exists()


def signatures(db: Database) -> tuple[SignatureOverride, ...]:
    """Return all impersonated signatures, in order."""
    return tuple(map(_signature, db.rows(*SIGNATURES_QUERY)))


def _signature(row: tuple[Any, ...]) -> SignatureOverride:
    number, signature, signer = row
    return SignatureOverride(number, bytes(signature), Address(bytes(signer)))


def set_signature(db: Database, signature: SignatureOverride) -> None:
    """Write a signer, replacing an entry of this signature for the same block. The caller holds lock and transaction."""
    rows = db.objects(models.ImpersonatedSignature)
    rows.filter(number=signature.number, signature=signature.signature).delete()
    rows.create(**signature._asdict())


def keep_signatures(db: Database, signatures: Iterable[SignatureOverride], number: int) -> None:
    """Let signatures that were set for later blocks apply from this one on, because it is the next one after a rewind.

    The caller holds the lock and the transaction.

    Args:
        db: The chain's database.
        signatures: All impersonated signatures.
        number: Height of the block.
    """
    later = [signature for signature in signatures if signature.number > number]
    for signature in later:
        set_signature(db, signature._replace(number=number))
    if later:
        db.objects(models.ImpersonatedSignature).filter(number__gt=number).delete()


def forget_signatures(db: Database) -> None:
    """Delete all impersonated signatures. The caller holds the lock and the transaction."""
    db.objects(models.ImpersonatedSignature).all().delete()


def _is(account: Address | None) -> dict[str, object]:
    return {"address__isnull": True} if account is None else {"address": account}
