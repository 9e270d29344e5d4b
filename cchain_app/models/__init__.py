"""Models of the C-Chain. The store writes them; selectors and the admin read them.

The primary keys of rows that a block creates consist of the block's number and a position in the block
(`row_id`). A range of blocks is a range of keys, and inserts append to the end of the index.
"""

from cchain_app.models.atomic import (
    AtomicKind,
    AtomicPoolKey,
    AtomicPoolTransaction,
    AtomicTransaction,
    DroppedAtomicTransaction,
    Withdrawal,
)
from cchain_app.models.calls import Call, CallProgress, CallType, ContractCreation
from cchain_app.models.chain import (
    Blob,
    Block,
    Chain,
    KeptHistory,
    Log,
    PoolTransaction,
    Receipt,
    Transaction,
)
from cchain_app.models.coreth import CorethBlock
from cchain_app.models.development import (
    ChangeKind,
    CreatedAccount,
    DevelopmentChange,
    DevelopmentSettings,
    ImpersonatedSignature,
    Impersonation,
    Rewind,
    Snapshot,
)
from cchain_app.models.state import (
    Account,
    AccountChange,
    Code,
    Contract,
    ForkedAccount,
    ForkedHash,
    ForkedLeaf,
    ForkedSlot,
    StorageChange,
    StorageSlot,
    TrieHistory,
    TrieNode,
    TrieNodeChange,
)
from cchain_app.models.subnet_chains import SubnetChain
from cchain_app.models.warp import WarpMessage
from chaindb.fields import height_of, row_id

__all__ = [
    "Account",
    "AccountChange",
    "AtomicKind",
    "AtomicPoolKey",
    "AtomicPoolTransaction",
    "AtomicTransaction",
    "Blob",
    "Block",
    "Call",
    "CallProgress",
    "CallType",
    "Chain",
    "ChangeKind",
    "Code",
    "Contract",
    "ContractCreation",
    "CorethBlock",
    "CreatedAccount",
    "DevelopmentChange",
    "DevelopmentSettings",
    "DroppedAtomicTransaction",
    "ForkedAccount",
    "ForkedHash",
    "ForkedLeaf",
    "ForkedSlot",
    "ImpersonatedSignature",
    "Impersonation",
    "KeptHistory",
    "Log",
    "PoolTransaction",
    "Receipt",
    "Rewind",
    "Snapshot",
    "StorageChange",
    "StorageSlot",
    "SubnetChain",
    "Transaction",
    "TrieHistory",
    "TrieNode",
    "TrieNodeChange",
    "WarpMessage",
    "Withdrawal",
    "height_of",
    "row_id",
]
