"""Reasons that need no state for rejecting a transaction, with the reference's messages (pchain.md 2.3, 3.2).

The reasons that other chains share are in `utxo.errors`, those that depend on state in `executor.errors`; all
are raised as `utxo.errors.InvalidTx`. Bytes that are not a transaction raise a
`primitives.codec_errors.CodecError`.
"""

from enum import StrEnum

from utxo.errors import InvalidTx

PERCENT_DENOMINATOR = 1_000_000
"""100 percent, in millionths."""


class TxSyntaxReason(StrEnum):
    """Reasons that need no state."""

    UNSUPPORTED_TYPE = "unsupported transaction type"
    INVALID_WARP_MESSAGE = "{cause}"  # the words of the codec

    WRONG_NETWORK_ID = "tx has wrong network ID"
    WRONG_BLOCKCHAIN_ID = "tx has wrong chain ID"
    MEMO_TOO_LONG = "memo exceeds maximum length: {size} > {limit}"
    CREDENTIALS_DIFFER_FROM_INPUTS = "should have the same number of credentials as inputs"
    INVALID_LOCKTIME = "invalid locktime"  # a lock with locktime zero
    NESTED_LOCK = "shouldn't nest stakeable locks"  # the codec rejects such bytes before

    TOO_MANY_SHARES = (
        f"a staker can only require at most {PERCENT_DENOMINATOR} shares from delegators"
    )
    TOO_MANY_RESTAKED_SHARES = (
        f"a staker can only restake at most {PERCENT_DENOMINATOR} shares from rewards"
    )
    VALIDATOR_WEIGHT_TOO_LOW = "weight of this validator is too low"
    EMPTY_NODE_ID = "validator nodeID cannot be empty"
    NO_STAKE = "no stake"
    STAKE_NOT_STAKING_ASSET = 'stake must be AVAX but is "{asset_id}"'
    MULTIPLE_STAKED_ASSETS = "multiple staked assets"
    VALIDATOR_WEIGHT_MISMATCH = "validator weight mismatch: weight {weight} != stake {stake}"
    DELEGATOR_WEIGHT_MISMATCH = (
        "delegator weight is not equal to total stake weight, "
        "delegator weight {weight} total stake weight {stake}"
    )
    # A BLS key outside the Primary Network, or a missing BLS key on it.
    KEY_OUTSIDE_PRIMARY_NETWORK = "invalid signer: hasKey=true != isPrimaryNetwork=false"
    MISSING_KEY = "invalid signer: hasKey=false != isPrimaryNetwork=true"
    INVALID_PROOF_OF_POSSESSION = "invalid proof of possession"

    # Operations that are allowed on other subnets only.
    ADD_TO_PRIMARY_NETWORK = "can't add primary network validator with AddSubnetValidatorTx"
    REMOVE_FROM_PRIMARY_NETWORK = (
        "can't remove primary network validator with RemoveSubnetValidatorTx"
    )
    CHAIN_ON_PRIMARY_NETWORK = "new blockchain can't be validated by primary network"
    TRANSFORM_PRIMARY_NETWORK = "cannot transform primary network"
    TRANSFER_PERMISSIONLESS = "cannot transfer ownership of a permissionless subnet"
    CONVERT_PERMISSIONLESS = "cannot convert a permissionless subnet"

    CHAIN_NAME_TOO_LONG = "name too long"
    ILLEGAL_CHAIN_NAME = "illegal name character"
    INVALID_VM_ID = "invalid VM ID"
    FX_IDS_NOT_SORTED = "feature extensions IDs must be sorted and unique"
    GENESIS_TOO_LONG = "genesis too long"

    NO_IMPORTED_INPUTS = "tx has no imported inputs"
    NO_EXPORTED_OUTPUTS = "no export outputs"
    LOCKED_EXPORT = "wrong locktime reported"  # stakeable locks exist only on this chain

    EMPTY_STAKER_ID = "invalid ID"
    # Of auto-renewed validators
    MISSING_TX_ID = "missing tx id"
    MISSING_TIMESTAMP = "missing timestamp"
    MISSING_PERIOD = "missing period"
    MISSING_SIGNER = "missing signer"
    INVALID_STAKED_ASSET = "invalid staked asset"
    BASE_NOT_VERIFIED = "verifying BaseTx: {cause}"
    RIGHTS_NOT_VERIFIED = "verifying signer, rewards owners or validator authority: {cause}"
    STAKE_NOT_VERIFIED = "verifying output: {cause}"
    INVALID_TRANSFORMATION = "{limit}"

    MANAGER_ADDRESS_TOO_LONG = "address is too long"
    NO_L1_VALIDATORS = "conversion must include at least one validator"
    L1_VALIDATORS_NOT_SORTED = "conversion validators must be sorted and unique"
    L1_WEIGHT_ZERO = "validator weight must be non-zero"
    NODE_ID_SIZE = "invalid hash length: expected 20 bytes but got {size}"
    BALANCE_ZERO = "balance must be greater than 0"


class UnsupportedTxType(InvalidTx):
    """A type of transaction without the calculated fee, or one that cannot be issued."""
