"""The table of locks for writers: an advisory lock on PostgreSQL, the write lock on SQLite.

The transaction that took a lock holds it until its end (for a producer, the session). On SQLite every
transaction that writes begins IMMEDIATE (`settings/databases.py`), so it always holds the lock.
"""

from enum import IntEnum
from typing import Final

BUSY_SECONDS: Final = 20.0
"""Seconds for which a writer waits for a lock: fewer than a client's timeout, so that it gets the reason."""

QUEUE_SECONDS: Final = 10.0
"""Seconds for which a thread waits for other threads before it waits for a lock. Both together are
also below a client's timeout."""


class Lock(IntEnum):
    """Every lock of the node; the numbers are the keys of PostgreSQL's advisory locks."""

    CCHAIN = 0x6E6F6465_01
    """Writing blocks and state of the C-Chain."""
    CCHAIN_POOL = 0x6E6F6465_02
    """Admission to the C-Chain's pool."""
    INIT = 0x6E6F6465_03
    """Creating the genesis rows and the first admin user."""
    PCHAIN = 0x6E6F6465_04
    """Writing blocks and state of the P-Chain."""
    PCHAIN_MEMPOOL = 0x6E6F6465_05
    """Admission to the P-Chain's mempool."""
    KEYSTORE = 0x6E6F6465_06
    """Creating users of the keystore."""
    HEALTH = 0x6E6F6465_08
    """Writing the history of health checks."""
    CCHAIN_PRODUCER = 0x6E6F6465_09
    """Building the C-Chain's blocks, or standing by. Held by a session, not by a transaction."""
    PCHAIN_PRODUCER = 0x6E6F6465_0A
    """Building the P-Chain's blocks. Held like `CCHAIN_PRODUCER`."""
    VERIFICATION = 0x6E6F6465_0D
    """Writing verified contracts, and claiming which process verifies a contract."""
    FAUCET = 0x6E6F6465_0E
    """Counting the faucet's payments."""
    SHARED = 0x6E6F6465_0F
    """Writing outputs that wait between chains. Taken after the lock of the chain whose block is accepted, and before
    the lock of a pool."""
    XCHAIN = 0x6E6F6465_10
    """Writing blocks and state of the X-Chain."""
    XCHAIN_MEMPOOL = 0x6E6F6465_11
    """Admission to the X-Chain's mempool."""
    XCHAIN_PRODUCER = 0x6E6F6465_12
    """Building the X-Chain's blocks. Held like `CCHAIN_PRODUCER`."""


class NotInTransaction(Exception):
    """A lock was requested outside a transaction, so that nothing would hold it."""
