"""What the C-Chain tells those who follow it: a head was accepted, transactions can run.

Called after commit only, from services. How the messages travel stands in `chaindb.pointers`.
"""

from collections.abc import Sequence

from cchain_app.chain import EvmChain
from primitives.evm import Hash

HEAD = "cchain.head"
"""Type of the message that a block was committed: its `number` and `hash`."""

PENDING = "cchain.pending"
"""Type of the message that transactions of the pool became pending: their `hashes`."""


CHANGED_BY_HAND = "cchain.changed_by_hand"
"""Type of the message that the head's state or what is set for the next blocks was changed: its `number`."""

REWOUND = "cchain.rewound"
"""Type of the message that the chain went back: `number` and `hash` of its head."""


def head_accepted(chain: EvmChain, number: int, block_hash: Hash) -> None:
    """Tell that a block was committed."""
    chain.building.accepted(number)
    head = {"type": HEAD, "number": number, "hash": bytes(block_hash)}
    chain.pointers.send(chain.aliases[0], head)


def pending_transactions(chain: EvmChain, hashes: Sequence[Hash]) -> None:
    """Tell that transactions in the pool became pending."""
    if hashes:
        pending = {"type": PENDING, "hashes": [bytes(one) for one in hashes]}
        chain.pointers.send(chain.aliases[0], pending)


def changed_by_hand(chain: EvmChain, number: int) -> None:
    """Tell that the state at the head is another one."""
    chain.memory.on_change()
    if (
        chain.node.profile == "production"
    ):  # elsewhere nobody who is sent pointers remembers the state
        chain.pointers.send(chain.aliases[0], {"type": CHANGED_BY_HAND, "number": number})


def rewound(chain: EvmChain, number: int, block_hash: Hash) -> None:
    """Tell that an earlier block is the head again, or that the head's state is what it was."""
    chain.memory.on_change()
    head = {"type": REWOUND, "number": number, "hash": bytes(block_hash)}
    chain.pointers.send(chain.aliases[0], head)
