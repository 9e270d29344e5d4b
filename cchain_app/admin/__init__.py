"""Read-only admin pages for the C-Chain's rows, one module per subject; `dashboard` summarizes them.

`display` renders values as HTML; `pages` has the rows and the addresses of pages.
"""

from cchain_app.admin.accounts import AccountAdmin, AccountChangeAdmin, ContractAdmin
from cchain_app.admin.atomic import (
    AtomicPoolTransactionAdmin,
    AtomicTransactionAdmin,
    DroppedAtomicTransactionAdmin,
)
from cchain_app.admin.blobs import BlobAdmin
from cchain_app.admin.blocks import BlockAdmin
from cchain_app.admin.calls import CallAdmin, ContractCreationAdmin
from cchain_app.admin.development import DevelopmentChangeAdmin, SnapshotAdmin
from cchain_app.admin.forked import ForkedAccountAdmin, ForkedHashAdmin, ForkedSlotAdmin
from cchain_app.admin.logs import LogAdmin
from cchain_app.admin.mempool import PoolTransactionAdmin
from cchain_app.admin.overrides import (
    CreatedAccountAdmin,
    DevelopmentSettingsAdmin,
    ImpersonatedSignatureAdmin,
    ImpersonationAdmin,
)
from cchain_app.admin.subnet_chains import SubnetChainAdmin
from cchain_app.admin.transactions import TransactionAdmin

__all__ = [
    "AccountAdmin",
    "AccountChangeAdmin",
    "AtomicPoolTransactionAdmin",
    "AtomicTransactionAdmin",
    "BlobAdmin",
    "BlockAdmin",
    "CallAdmin",
    "ContractAdmin",
    "ContractCreationAdmin",
    "CreatedAccountAdmin",
    "DevelopmentChangeAdmin",
    "DevelopmentSettingsAdmin",
    "DroppedAtomicTransactionAdmin",
    "ForkedAccountAdmin",
    "ForkedHashAdmin",
    "ForkedSlotAdmin",
    "ImpersonatedSignatureAdmin",
    "ImpersonationAdmin",
    "LogAdmin",
    "PoolTransactionAdmin",
    "SnapshotAdmin",
    "SubnetChainAdmin",
    "TransactionAdmin",
]
