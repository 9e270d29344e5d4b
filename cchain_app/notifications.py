"""What the C-Chain tells those who follow it: a head was accepted, transactions can run.

Called after commit only, from services. How the messages travel stands in `chaindb.pointers`.
"""

from collections.abc import Sequence

from chaindb import building, pointers
from chaindb.chains import Chain
from primitives.evm import Hash

HEAD = "cchain.head"
"""Type of the message that a block was committed: its `number` and `hash`."""

PENDING = "cchain.pending"
"""Type of the message that transactions of the pool became pending: their `hashes`."""


def head_accepted(number: int, block_hash: Hash) -> None:
    """Tell that a block was committed."""
    building.accepted(Chain.C, number)
    pointers.send(Chain.C, {"type": HEAD, "number": number, "hash": bytes(block_hash)})


def pending_transactions(hashes: Sequence[Hash]) -> None:
    """Tell that transactions in the pool became pending."""
    if hashes:
        pointers.send(Chain.C, {"type": PENDING, "hashes": [bytes(one) for one in hashes]})
