"""Events of the C-Chain: a block was accepted, transactions became executable, the chain changed.

Services send them, and only after the commit. `chaindb.events` documents their transport.
"""

from collections.abc import Sequence

from cchain_app.chain import EvmChain
from primitives.evm import Hash

HEAD = "cchain.head"
"""Type of the event for a committed block, with its `number` and `hash`."""

PENDING = "cchain.pending"
"""Type of the event for pool transactions that became pending, with their `hashes`."""


REWOUND = "cchain.rewound"
"""Type of the event for a rewind, with the `number` and `hash` of the new head."""


def head_accepted(chain: EvmChain, number: int, block_hash: Hash) -> None:
    """Announce that a block was committed."""
    chain.building.accepted(number)
    head = {"type": HEAD, "number": number, "hash": bytes(block_hash)}
    chain.events.send(chain.name, head)


def pending_transactions(chain: EvmChain, hashes: Sequence[Hash]) -> None:
    """Announce that transactions in the pool became pending."""
    if hashes:
        pending = {"type": PENDING, "hashes": [bytes(block_hash) for block_hash in hashes]}
        chain.events.send(chain.name, pending)


def rewound(chain: EvmChain, number: int, block_hash: Hash) -> None:
    """Announce that an earlier block is the head again, or that the head's state was restored."""
    chain.memory.on_rewind()
    head = {"type": REWOUND, "number": number, "hash": bytes(block_hash)}
    chain.events.send(chain.name, head)
