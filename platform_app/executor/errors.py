"""Reasons that depend on state for rejecting a transaction, with the reference's messages (pchain.md 5, 7.3).

Reasons that need no state are in `txs.errors`, those that other chains share in `utxo.errors`; all are raised as
`utxo.errors.InvalidTx`. A reason that contains the one of a nested check has its error as the value `cause`.
"""

from datetime import UTC, datetime
from enum import StrEnum

from utxo.errors import InvalidTx


class TxStateReason(StrEnum):
    """Why a transaction cannot be executed on a state."""

    WRONG_TX_TYPE = "wrong transaction type"  # created by block builders only, or obsolete
    TRANSFORM_SUBNET_REFUSED = "TransformSubnetTx is not permitted post-Etna"
    ADD_VALIDATOR_REFUSED = "AddValidatorTx is not permitted post-Durango"
    ADD_DELEGATOR_REFUSED = "AddDelegatorTx is not permitted post-Durango"
    ETNA_FEATURE = "attempting to use an Etna-upgrade feature prior to activation"
    HELICON_FEATURE = "attempting to use a Helicon-upgrade feature prior to activation"

    # The flow check (5.2)
    WRONG_NUMBER_OF_CREDENTIALS = (
        "wrong number of credentials: {inputs} inputs != {credentials} credentials"
    )
    UTXO_MISSING = "failed to read consumed UTXO {tx_id}:{output_index} due to: not found"
    SHARED_UTXO_MISSING = "failed to get shared memory: not found"
    ASSET_MISMATCH = "input asset ID does not match UTXO asset ID: {of_input} != {of_utxo}"
    LOCKED_FUNDS_NOT_MARKED = "locked funds not marked as locked"
    LOCKTIME_MISMATCH = "input locktime does not match UTXO locktime: {of_input} != {of_utxo}"
    TRANSFER_NOT_VERIFIED = "failed to verify transfer: {cause}"
    # More locked than locked inputs and unlocked coins together cover.
    INSUFFICIENT_LOCKED_FUNDS = (
        "insufficient locked funds: {owner_id} needs {missing} more {asset_id} "
        "for locktime {locktime}"
    )
    # More produced, the fee included, than consumed.
    INSUFFICIENT_UNLOCKED_FUNDS = "insufficient unlocked funds: needs {missing} more {asset_id}"

    FLOW_CHECK_FAILED = "flow check failed: {cause}"
    EXPORT_NOT_FUNDED = "failed verifySpend: {cause}"

    # Chains with which no exchange is possible.
    SAME_CHAIN = "same chainID"
    UNKNOWN_PEER = (
        'failed to get subnet of "{chain_id}": problem retrieving blockchain "{chain_id}": '
        "not found"
    )
    PEER_OF_OTHER_SUBNET = 'mismatched subnetIDs; expected "{expected}" got "{got}"'

    # The authorization by a subnet's owner (5.3)
    SUBNET_NOT_FOUND = "not found"
    UNAUTHORIZED_MODIFICATION = "unauthorized modification: {cause}"

    # The proposal to reward the next staker to leave (7.3)
    NO_STAKER = "failed to get next staker to remove: not found"
    WRONG_STAKER = "attempting to remove wrong staker: {expected} != {got}"
    STAKER_NOT_DUE = (
        "attempting to remove staker before their end time: TxID = {tx_id} with {timestamp} < {end}"
    )


class StakerReason(StrEnum):
    """Why a staker may not be added or removed (5.4.3)."""

    STAKE_TOO_LOW = "weight of this validator is too low"
    STAKE_TOO_HIGH = "weight of this validator is too large"
    DELEGATION_FEE_TOO_LOW = "staker charges an insufficient delegation fee"
    WRONG_STAKED_ASSET = "incorrect staked assetID: {expected} != {got}"
    SUBNET_NOT_TRANSFORMED = "not found"  # no rules for permissionless stakers
    PERIOD_TOO_SHORT = "staking period is too short"
    PERIOD_TOO_LONG = "staking period is too long"
    START_TOO_FAR_AHEAD = (
        "staker is attempting to start staking more than {limit} ahead of the current chain time"
    )
    PERIOD_MISMATCH = "proposed staking period is not inside dependent staking period"
    # A second AddValidatorTx, AddPermissionlessValidatorTx and AddSubnetValidatorTx.
    ALREADY_VALIDATOR = "{node_id} is already a validator of the primary network"
    DUPLICATE_VALIDATOR = "duplicate validator: {node_id} on {subnet_id}"
    DUPLICATE_SUBNET_VALIDATOR = (
        "attempted to issue duplicate validator for {node_id} on subnet {subnet_id}"
    )
    ADDED_AFTER_REMOVAL = "attempted to add a staker after deleting it"
    # An AddDelegatorTx and an AddPermissionlessDelegatorTx without a validator.
    PRIMARY_VALIDATOR_MISSING = (
        "failed to fetch the primary network validator for {node_id}: not found"
    )
    DELEGATEE_MISSING = "failed to fetch the validator for {node_id} on {subnet_id}: not found"
    NOT_PRIMARY_VALIDATOR = "{node_id} isn't a current or pending validator of the primary network"
    NOT_SUBNET_VALIDATOR = (
        "{node_id} isn't a current or pending validator of {subnet_id}: not found"
    )
    STAKE_LIMIT_OVERFLOW = "validator stake exceeds limit"  # weight times factor, above 64 bits
    OVER_DELEGATED = "validator would be over delegated"
    REMOVING_PERMISSIONLESS = "attempting to remove permissionless validator"


class AutoRenewalReason(StrEnum):
    """Why a transaction about an auto-renewed validator cannot be executed (etna.md 9)."""

    DUPLICATE = "duplicate validator: {node_id}"

    # A change of the terms
    STAKER_TX_MISSING = "getting staker tx: not found"
    WRONG_STAKER_TX_TYPE = "invalid staker tx type: *txs.{kind}"
    VALIDATOR_MISSING = "getting validator {node_id} from state: not found"
    WRONG_TX_ID = "invalid staker tx: wrong tx id"  # the node validates by a later transaction

    # The proposal at the end of a period
    WRONG_TIMESTAMP = "invalid timestamp"
    NOT_AUTO_RENEWED = "expected auto renewed staker"
    AUTO_RENEWED_STAKER = "unexpected staker transaction type: *txs.{kind}"


class L1Reason(StrEnum):
    """Why an L1 transaction cannot be executed (etna.md 4.2, 6)."""

    IMMUTABLE = '"{subnet_id}" is immutable'  # the subnet is an L1
    VALIDATOR_MISSING = "could not load L1 validator: not found"
    NOT_FOUND = "not found"
    UNAUTHORIZED = "unauthorized modification: {cause}"
    MAX_ACTIVE = "already at the max number of active validators"
    OVERFLOW = "overflow"
    MUTATED = "L1 validator contains mutated constant fields"
    CONFLICTING = "L1 validator contains conflicting subnetID + nodeID pair"
    DUPLICATE = "L1 validator contains duplicate subnetID + nodeID pair"
    WRONG_PAYLOAD = "wrong payload type: *{kind}"

    # The content of a registration message
    INVALID_SUBNET_ID = "invalid subnet ID"
    INVALID_WEIGHT = "invalid weight"
    INVALID_NODE_ID = "invalid node ID: {cause}"
    INVALID_OWNER = "invalid owner: {cause}"

    # The sender of a message
    NOT_CONVERTED = "could not load subnet conversion for {subnet_id} with: not found"
    WRONG_SOURCE_CHAIN = "wrong warp message source chain ID expected {expected} but had {got}"
    WRONG_SOURCE_ADDRESS = "wrong warp message source address expected 0x{expected} but got 0x{got}"

    EXPIRED = "warp message expired at {expiry} and it is currently {now}"
    TOO_EARLY = (
        "warp message not yet allowed because time is {ahead} seconds in the future "
        "but the limit is {limit}"
    )
    ALREADY_ISSUED = "warp message already issued for validationID {validation_id}"
    RESERVED_NONCE = "maxUint64 nonce is reserved for removal"
    STALE_NONCE = "warp message contains stale nonce {nonce} must be at least {least}"
    LAST_VALIDATOR = "attempting to remove the last L1 validator from a converted subnet"
    ALREADY_DISABLED = "state corruption: validator should have already been disabled"


class MissingUtxo(InvalidTx):
    """An output that does not exist, that is spent, or that the other chain did not export."""


def moment(seconds: int) -> str:
    """Format a time as the reference does; a time beyond the calendar as a number of seconds."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def duration(seconds: int) -> str:
    """Format a duration as the reference does: hours, minutes, seconds."""
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    return f"{hours}h{minutes}m{seconds}s"
