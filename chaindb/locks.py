"""The table of locks: who may write what. On PostgreSQL an advisory lock, on SQLite the write lock.

A lock is held by the transaction that took it and goes with it (a producer's by its session). On SQLite every transaction that
writes begins IMMEDIATE (`settings/databases.py`), so being in one is holding the lock.
"""

from enum import IntEnum
from typing import Final

BUSY_SECONDS: Final = 20.0
"""Seconds for which a writer waits for a lock: fewer than a client waits for its answer, so that it learns the reason."""

QUEUE_SECONDS: Final = 10.0
"""Seconds for which a thread waits for other threads before it waits for a lock: both together are less, too."""


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
    HEALTH = 0x6E6F6465_08
    """Writing the history of health checks."""
    CCHAIN_PRODUCER = 0x6E6F6465_09
    """Making the C-Chain's blocks, or standing by: of a session, not of a transaction."""
    PCHAIN_PRODUCER = 0x6E6F6465_0A
    """Making the P-Chain's blocks, likewise."""
    VERIFICATION = 0x6E6F6465_0D
    """Writing verified contracts, and who verifies which."""
    FAUCET = 0x6E6F6465_0E
    """Counting the faucet's payments."""


class NotInTransaction(Exception):
    """A lock was asked for outside a transaction, where nothing would hold it."""
