"""Read-only windows on the P-Chain's rows, one module for each subject; `dashboard` sums them up.

How values look is in `formats` (text) and `display` (HTML), where pages are in `links`; `decoded` and
`flows` show what is inside of transactions. Nothing secret of the keystore is read here.
"""

from platform_app.admin.blocks import BlockAdmin
from platform_app.admin.keystore import KeystoreUserAdmin
from platform_app.admin.mempool import DroppedTxAdmin, MempoolTxAdmin
from platform_app.admin.subnets import BlockchainAdmin, SubnetAdmin
from platform_app.admin.transactions import TxAdmin
from platform_app.admin.utxos import SharedUTXOAdmin, UTXOAdmin
from platform_app.admin.validators import DelegatorAdmin, ValidatorAdmin

__all__ = [
    "BlockAdmin",
    "BlockchainAdmin",
    "DelegatorAdmin",
    "DroppedTxAdmin",
    "KeystoreUserAdmin",
    "MempoolTxAdmin",
    "SharedUTXOAdmin",
    "SubnetAdmin",
    "TxAdmin",
    "UTXOAdmin",
    "ValidatorAdmin",
]
