"""Users of the keystore and their sealed keys. Whoever reads here learns names and addresses only.

The caller holds the transaction where it writes after having asked.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from chaindb.database import Database
from platform_app import models
from platform_app.wallet.sealing import Cost, PasswordLock
from primitives.ids import ShortID


class StoredUser(NamedTuple):
    """A user as it stands in the database."""

    user_id: int
    name: str
    lock: PasswordLock


class SealedKey(NamedTuple):
    """A key as it stands in the database."""

    address: ShortID
    sealed: bytes


def add_user(db: Database, name: str, lock: PasswordLock, created_at: int) -> int | None:
    """Write a user and return its key, or None when the name is taken."""
    row, created = db.objects(models.KeystoreUser).get_or_create(
        name=name,
        defaults={
            "salt": lock.salt,
            "time_cost": lock.cost.passes,
            "memory_cost": lock.cost.memory,
            "parallelism": lock.cost.lanes,
            "verifier": lock.verifier,
            "created_at": created_at,
        },
    )
    return row.id if created else None


def user(db: Database, name: str) -> StoredUser | None:
    """Return a user, or None when there is none of that name."""
    row = db.objects(models.KeystoreUser).filter(name=name).first()
    if row is None:
        return None
    cost = Cost(row.time_cost, row.memory_cost, row.parallelism)
    lock = PasswordLock(bytes(row.salt), cost, bytes(row.verifier))
    return StoredUser(row.id, row.name, lock)


def user_names(db: Database) -> list[str]:
    """Return the names of all users in their order."""
    return list(db.objects(models.KeystoreUser).order_by("name").values_list("name", flat=True))


def user_count(db: Database) -> int:
    """Return how many users there are."""
    return db.objects(models.KeystoreUser).count()


def hold_user(db: Database, user_id: int) -> bool:
    """Keep a user from being deleted until the transaction ends; False when it is gone already."""
    found = db.objects(models.KeystoreUser).select_for_update().filter(id=user_id)
    return found.first() is not None


def delete_user(db: Database, user_id: int) -> None:
    """Delete a user with its keys."""
    db.objects(models.KeystoreUser).filter(id=user_id).delete()


def add_keys(db: Database, user_id: int, keys: Sequence[SealedKey]) -> None:
    """Write keys behind those that the user has; none of them may be there already."""
    db.objects(models.KeystoreKey).bulk_create(
        models.KeystoreKey(user_id=user_id, address=key.address, sealed=key.sealed) for key in keys
    )


def keys(db: Database, user_id: int, among: Collection[ShortID] = ()) -> list[SealedKey]:
    """Return a user's keys in their order; only those of certain addresses where any are given."""
    found = db.objects(models.KeystoreKey).filter(user_id=user_id).order_by("id")
    rows = found.values_list("address", "sealed")
    return [
        SealedKey(ShortID(bytes(address)), bytes(sealed))
        for address, sealed in rows
        if not among or address in among
    ]


def addresses(db: Database, user_id: int) -> list[ShortID]:
    """Return the addresses of a user's keys in their order."""
    found = db.objects(models.KeystoreKey).filter(user_id=user_id).order_by("id")
    return [ShortID(bytes(address)) for address in found.values_list("address", flat=True)]
