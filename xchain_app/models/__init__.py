"""Rows of the X-Chain. The store writes them; selectors and admin read them.

Rows created by a block are ordered by a key made of the block's height and a position in the block
(`chaindb.fields`). Outputs remain after they are spent, for the explorer and for the supply of assets; the owners of
unspent outputs have rows of their own.
"""

from xchain_app.models.chain import (
    XBlock,
    XChain,
    XDroppedTx,
    XMempoolInput,
    XMempoolTx,
    XTransaction,
    XTxKind,
)
from xchain_app.models.outputs import XAddressTx, XAsset, XOutput, XOutputKind, XOwner

__all__ = [
    "XAddressTx",
    "XAsset",
    "XBlock",
    "XChain",
    "XDroppedTx",
    "XMempoolInput",
    "XMempoolTx",
    "XOutput",
    "XOutputKind",
    "XOwner",
    "XTransaction",
    "XTxKind",
]
