"""What the P-Chain tells those who follow it: a head was accepted, transactions wait.

Called after commit only, from services. How the messages travel stands in `chaindb.pointers`.
"""

from collections.abc import Sequence

from platform_app.chain import PlatformChain
from primitives.ids import ID

HEAD = "pchain.head"
"""Type of the message that blocks were committed: the last one's `height` and `block_id`."""

ISSUED = "pchain.issued"
"""Type of the message that transactions wait for a block: their `tx_ids`."""


def head_accepted(chain: PlatformChain, height: int, block_id: ID) -> None:
    """Tell that blocks were committed, up to this one."""
    chain.building.accepted(height)
    head = {"type": HEAD, "height": height, "block_id": bytes(block_id)}
    chain.pointers.send(chain.aliases[0], head)


def txs_issued(chain: PlatformChain, tx_ids: Sequence[ID]) -> None:
    """Tell that transactions were taken into the mempool."""
    if tx_ids:
        issued = {"type": ISSUED, "tx_ids": [bytes(one) for one in tx_ids]}
        chain.pointers.send(chain.aliases[0], issued)
