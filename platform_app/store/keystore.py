"""Users of the keystore and their sealed keys. Only names and addresses are readable here.

For a write that depends on an earlier read, the caller holds a transaction around both.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from chaindb.database import Database
from platform_app import models
from platform_app.wallet.sealing import Cost, PasswordLock
from primitives.ids import ShortID


class StoredUser(NamedTuple):
    """A user as stored in the database."""

    user_id: int
    name: str
    lock: PasswordLock


class SealedKey(NamedTuple):
    """A key as stored in the database."""

    address: ShortID
    sealed: bytes


def add_user(db: Database, name: str, lock: PasswordLock, created_at: int) -> int | None:
    """Write a user and return its key, or None if the name is taken."""
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
    """Return the user with this name, or None if no user has it."""
    row = db.objects(models.KeystoreUser).filter(name=name).first()
    if row is None:
        return None
    cost = Cost(row.time_cost, row.memory_cost, row.parallelism)
    lock = PasswordLock(bytes(row.salt), cost, bytes(row.verifier))
    return StoredUser(row.id, row.name, lock)


def user_names(db: Database) -> list[str]:
    """Return the names of all users in order."""
    return list(db.objects(models.KeystoreUser).order_by("name").values_list("name", flat=True))


def user_count(db: Database) -> int:
    """Return the number of users."""
    return db.objects(models.KeystoreUser).count()


def hold_user(db: Database, user_id: int) -> bool:
    """Prevent the deletion of a user until the transaction ends; return False if it is already deleted."""
    users = db.objects(models.KeystoreUser).select_for_update().filter(id=user_id)
    return users.first() is not None


def delete_user(db: Database, user_id: int) -> None:
    """Delete a user with its keys."""
    db.objects(models.KeystoreUser).filter(id=user_id).delete()


def add_keys(db: Database, user_id: int, keys: Sequence[SealedKey]) -> None:
    """Append keys to those of the user; none of them may already be stored."""
    db.objects(models.KeystoreKey).bulk_create(
        models.KeystoreKey(user_id=user_id, address=key.address, sealed=key.sealed) for key in keys
    )


def keys(db: Database, user_id: int, among: Collection[ShortID] = ()) -> list[SealedKey]:
    """Return a user's keys in order; if addresses are given, only the keys of those addresses."""
    sealed_keys = db.objects(models.KeystoreKey).filter(user_id=user_id).order_by("id")
    rows = sealed_keys.values_list("address", "sealed")
    return [
        SealedKey(ShortID(bytes(address)), bytes(sealed))
        for address, sealed in rows
        if not among or address in among
    ]


def addresses(db: Database, user_id: int) -> list[ShortID]:
    """Return the addresses of a user's keys in order."""
    sealed_keys = db.objects(models.KeystoreKey).filter(user_id=user_id).order_by("id")
    return [ShortID(bytes(address)) for address in sealed_keys.values_list("address", flat=True)]
