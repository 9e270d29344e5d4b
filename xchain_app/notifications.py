"""The messages that the X-Chain sends to its subscribers: a head was accepted, transactions are pending.

Services send them, and only after the commit. `chaindb.events` describes how they are delivered.
"""

from collections.abc import Sequence

from primitives.ids import ID
from xchain_app.chain import AvmChain

HEAD = "xchain.head"
"""Type of the message that blocks were committed: it has the last block's `height` and `block_id`."""

ISSUED = "xchain.issued"
"""Type of the message that transactions are waiting for a block: it has their `tx_ids`."""


def head_accepted(chain: AvmChain, height: int, block_id: ID) -> None:
    """Announce that blocks up to this one were committed."""
    chain.building.accepted(height)
    head = {"type": HEAD, "height": height, "block_id": bytes(block_id)}
    chain.events.send(chain.name, head)


def txs_issued(chain: AvmChain, tx_ids: Sequence[ID]) -> None:
    """Announce that transactions were added to the mempool."""
    if tx_ids:
        issued = {"type": ISSUED, "tx_ids": [bytes(tx_id) for tx_id in tx_ids]}
        chain.events.send(chain.name, issued)
