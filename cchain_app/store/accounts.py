"""Rows of the accounts that the node created on request. They survive restarts and contain no keys."""

from collections.abc import Iterable

from django.db.models import Max

from cchain_app import models
from chaindb.database import Database
from primitives.evm import Address


def add(db: Database, number: int, address: Address) -> None:
    """Add a created account. The caller holds the lock and the transaction."""
    db.objects(models.CreatedAccount).create(number=number, address=address)


def count(db: Database) -> int:
    """Return the number of created accounts."""
    return db.objects(models.CreatedAccount).count()


def next_number(db: Database, least: int) -> int:
    """Return the next unused number: above those of all rows, and at least `least`."""
    last = db.objects(models.CreatedAccount).aggregate(last=Max("number"))["last"]
    return least if last is None else max(least, int(last) + 1)


def numbers_of(db: Database, addresses: Iterable[Address]) -> dict[Address, int]:
    """Return the numbers of those of the accounts that this node created."""
    found = db.objects(models.CreatedAccount).filter(address__in=list(addresses)).order_by()
    return {Address(bytes(address)): one for address, one in found.values_list("address", "number")}


def numbers(db: Database) -> list[tuple[int, Address]]:
    """Return number and address of all of them, in order of creation."""
    found = db.objects(models.CreatedAccount).order_by("number").values_list("number", "address")
    return [(number, Address(bytes(address))) for number, address in found]
