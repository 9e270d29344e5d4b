"""Read-only admin pages of the P-Chain's rows, one module for each subject, with a summary in `dashboard`.

`display` formats values as HTML, `links` has the URLs of pages; `flows` shows the inputs and outputs of
transactions. No secrets of the keystore are read here.
"""

from platform_app.admin.blocks import PlatformBlockAdmin
from platform_app.admin.keystore import KeystoreUserAdmin
from platform_app.admin.l1 import L1ConversionAdmin, L1ValidatorAdmin
from platform_app.admin.mempool import DroppedTxAdmin, MempoolTxAdmin
from platform_app.admin.subnets import BlockchainAdmin, SubnetAdmin
from platform_app.admin.transactions import TxAdmin
from platform_app.admin.utxos import SharedOutputAdmin, UTXOAdmin
from platform_app.admin.validators import DelegatorAdmin, ValidatorAdmin

__all__ = [
    "BlockchainAdmin",
    "DelegatorAdmin",
    "DroppedTxAdmin",
    "KeystoreUserAdmin",
    "L1ConversionAdmin",
    "L1ValidatorAdmin",
    "MempoolTxAdmin",
    "PlatformBlockAdmin",
    "SharedOutputAdmin",
    "SubnetAdmin",
    "TxAdmin",
    "UTXOAdmin",
    "ValidatorAdmin",
]
