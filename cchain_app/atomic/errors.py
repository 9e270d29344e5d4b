"""Reasons for rejecting atomic transactions and their blocks, with the reference's messages (atomic.md 6, 7, 8)."""

from enum import StrEnum


class AtomicReason(StrEnum):
    """Why an atomic transaction is invalid. Raised as `utxo.errors.InvalidTx`."""

    NO_IMPORTED_INPUTS = "tx has no imported inputs"
    NO_EXPORTED_OUTPUTS = "tx has no export outputs"
    NO_EVM_OUTPUTS = "tx has no EVM outputs"
    WRONG_NETWORK_ID = "tx was issued with a different network ID"
    WRONG_CHAIN_ID = "tx has wrong chain ID"
    MALFORMED_EVM_OUTPUT = "EVM Output failed verification: {cause}"
    MALFORMED_IMPORTED_INPUT = "atomic input failed verification: {cause}"
    OTHER_ASSET_IN_IMPORT_OUTPUT = "import output cannot contain non-AVAX in Banff"
    OTHER_ASSET_IN_IMPORT_INPUT = "import input cannot contain non-AVAX in Banff"
    OTHER_ASSET_IN_EXPORT_INPUT = "export input cannot contain non-AVAX in Banff"
    OTHER_ASSET_IN_EXPORT_OUTPUT = "export output cannot contain non-AVAX in Banff"
    EVM_OUTPUTS_NOT_SORTED = "outputs not sorted and unique"
    EXPORTED_OUTPUTS_NOT_SORTED = "tx outputs not sorted"
    IMPORT_FLOW = "import tx flow check failed due to: {cause}"
    EXPORT_FLOW = "export tx flow check failed due to: {cause}"
    FEE_OVERFLOW = "overflow occurred while calculating the fee"
    IMPORT_CREDENTIALS = "incorrect number of credentials: ({inputs} vs. {credentials})"
    EXPORT_CREDENTIALS = (
        "export tx contained incorrect number of credentials want {inputs} got {credentials}"
    )
    SHARED_UTXO_MISSING = "failed to fetch import UTXOs from {chain_id} due to: not found"
    ASSET_MISMATCH = "asset IDs in the input don't match the utxo"
    TRANSFER_NOT_VERIFIED = "import tx transfer failed verification: {cause}"
    WRONG_SIGNATURE_COUNT = (
        "incorrect number of signatures want 1 signature for EVM Input Credential, but got {count}"
    )
    WRONG_EVM_SIGNER = "signature doesn't match public key"
    UNRECOVERABLE_EVM_SIGNER = "{cause}"
    INSUFFICIENT_FUNDS = "insufficient funds"
    INVALID_NONCE = "invalid nonce"
    CONFLICT_IN_BLOCK = "invalid block due to conflicting atomic inputs"
    EMPTY_PAYLOAD = "cannot build a block with non-empty extra data and zero atomic transactions"
    # Before Shanghai blocks have no withdrawals.
    NOT_ENABLED = "atomic transactions are not enabled"


class BuildReason(StrEnum):
    """Why no atomic transaction can be built from the given keys and coins (atomic.md 10)."""

    FEE_NOT_COVERED = "insufficient AVAX funds to pay transaction fee"
    NO_EVM_OUTPUTS = "tx has no EVM outputs"
    INSUFFICIENT_FUNDS = "couldn't generate tx inputs/signers: insufficient funds"
