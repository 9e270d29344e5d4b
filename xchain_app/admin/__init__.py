"""Read-only admin pages of the X-Chain's rows, one module for each subject."""

from xchain_app.admin.assets import XAssetAdmin, XOutputAdmin
from xchain_app.admin.blocks import XBlockAdmin, XTransactionAdmin
from xchain_app.admin.mempool import XDroppedTxAdmin, XMempoolTxAdmin

__all__ = [
    "XAssetAdmin",
    "XBlockAdmin",
    "XDroppedTxAdmin",
    "XMempoolTxAdmin",
    "XOutputAdmin",
    "XTransactionAdmin",
]
