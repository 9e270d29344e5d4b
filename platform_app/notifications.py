"""The messages that the P-Chain sends to its subscribers: heads, new blockchains, pending transactions.

Services send them, and only after the commit. `chaindb.events` describes how they are delivered.
"""

from collections.abc import Sequence

from platform_app.chain import PlatformChain
from primitives.ids import ID

HEAD = "pchain.head"
"""Type of the message that blocks were committed: it has the last block's `height` and `block_id`."""

BLOCKCHAINS = "pchain.blockchains"
"""Type of the message that blockchains were created, or that the rows were replaced by others, in which there may be
other blockchains."""

ISSUED = "pchain.issued"
"""Type of the message that transactions are waiting for a block: it has their `tx_ids`."""


def head_accepted(chain: PlatformChain, height: int, block_id: ID) -> None:
    """Announce that blocks up to this one were committed."""
    chain.building.accepted(height)
    head = {"type": HEAD, "height": height, "block_id": bytes(block_id)}
    chain.events.send(chain.name, head)


def blockchains_changed(chain: PlatformChain) -> None:
    """Announce that blockchains were created, or that the rows were replaced by others."""
    chain.events.send(chain.name, {"type": BLOCKCHAINS})


def txs_issued(chain: PlatformChain, tx_ids: Sequence[ID]) -> None:
    """Announce that transactions were added to the mempool."""
    if tx_ids:
        issued = {"type": ISSUED, "tx_ids": [bytes(tx_id) for tx_id in tx_ids]}
        chain.events.send(chain.name, issued)
