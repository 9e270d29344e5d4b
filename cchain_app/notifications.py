"""Events of the C-Chain: a block was accepted, transactions became executable, the chain changed.

Services send them with `chain.events`, and only after the commit. `chaindb.events` documents their transport.
"""

from collections.abc import Sequence
from typing import Final

from chaindb.events import Message
from primitives.evm import Hash
from primitives.ids import ID

HEAD: Final = "cchain.head"
"""Type of the event for a committed block, with its `number` and `hash`."""

PENDING: Final = "cchain.pending"
"""Type of the event for pool transactions that became pending, with their `hashes`."""

ATOMIC_PENDING: Final = "cchain.atomic_pending"
"""Type of the event for atomic transactions that became pending, with their `tx_ids`."""

REWOUND: Final = "cchain.rewound"
"""Type of the event for a rewind, with the `number` and `hash` of the new head."""


def head_accepted(number: int, block_hash: Hash) -> Message:
    """Return the event that a block was committed."""
    return {"type": HEAD, "number": number, "hash": bytes(block_hash)}


def pending_transactions(hashes: Sequence[Hash]) -> Message:
    """Return the event that transactions became pending."""
    return {"type": PENDING, "hashes": [bytes(tx_hash) for tx_hash in hashes]}


def pending_atomic_transactions(tx_ids: Sequence[ID]) -> Message:
    """Return the event that atomic transactions became pending."""
    return {"type": ATOMIC_PENDING, "tx_ids": [bytes(tx_id) for tx_id in tx_ids]}


def rewound(number: int, block_hash: Hash) -> Message:
    """Return the event that an earlier block is the head again, or that the head's state was restored."""
    return {"type": REWOUND, "number": number, "hash": bytes(block_hash)}
