"""The table of locks: who may write what. On PostgreSQL an advisory lock, on SQLite the write lock.

A lock is held by the transaction that took it and goes with it (a producer's by its session). On SQLite every transaction that
writes begins IMMEDIATE (`settings/databases.py`), so being in one is holding the lock.
"""

from enum import IntEnum

from django.db import connection


class Lock(IntEnum):
    """Every lock of the node; the numbers are the keys of PostgreSQL's advisory locks."""

    CCHAIN = 0x6E6F6465_01
    """Writing blocks and state of the C-Chain."""
    CCHAIN_POOL = 0x6E6F6465_02
    """Admission to the C-Chain's pool."""
    INIT = 0x6E6F6465_03
    """Making genesis rows and the first admin user."""
    PCHAIN = 0x6E6F6465_04
    """Writing blocks and state of the P-Chain."""
    PCHAIN_MEMPOOL = 0x6E6F6465_05
    """Admission to the P-Chain's mempool."""
    KEYSTORE = 0x6E6F6465_06
    """Making users of the keystore."""
    NETWORK = 0x6E6F6465_07
    """Writing the outer blocks of accepted blocks. Taken after a chain's lock, never before."""
    HEALTH = 0x6E6F6465_08
    """Writing the history of health checks."""
    CCHAIN_PRODUCER = 0x6E6F6465_09
    """Making the C-Chain's blocks, or standing by: of a session, not of a transaction."""
    PCHAIN_PRODUCER = 0x6E6F6465_0A
    """Making the P-Chain's blocks, likewise."""


class NotInTransaction(Exception):
    """A lock was asked for outside a transaction, where nothing would hold it."""


def acquire(lock: Lock) -> None:
    """Wait for a lock and hold it until the current transaction ends.

    Raises:
        NotInTransaction: There is no transaction to hold it.
    """
    if not connection.in_atomic_block:
        raise NotInTransaction(lock.name)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(lock)])


def try_acquire(lock: Lock) -> bool:
    """Hold a lock until the current transaction ends, unless somebody has it; say whether it is held.

    Raises:
        NotInTransaction: There is no transaction to hold it.
    """
    if not connection.in_atomic_block:
        raise NotInTransaction(lock.name)
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [int(lock)])
        (held,) = cursor.fetchone()
    return bool(held)
