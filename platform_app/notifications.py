"""What the P-Chain tells those who follow it: a head was accepted, transactions wait.

Called after commit only, from services. How the messages travel stands in `chaindb.pointers`.
"""

from collections.abc import Sequence

from chaindb import building, pointers
from chaindb.chains import Chain
from primitives.ids import ID

HEAD = "pchain.head"
"""Type of the message that blocks were committed: the last one's `height` and `block_id`."""

ISSUED = "pchain.issued"
"""Type of the message that transactions wait for a block: their `tx_ids`."""


def head_accepted(height: int, block_id: ID) -> None:
    """Tell that blocks were committed, up to this one."""
    building.accepted(Chain.P, height)
    pointers.send(Chain.P, {"type": HEAD, "height": height, "block_id": bytes(block_id)})


def txs_issued(tx_ids: Sequence[ID]) -> None:
    """Tell that transactions were taken into the mempool."""
    if tx_ids:
        pointers.send(Chain.P, {"type": ISSUED, "tx_ids": [bytes(one) for one in tx_ids]})
