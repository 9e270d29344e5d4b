"""Syntactic rules of transactions that this chain parses and shows, but does not execute.

These are TransformSubnetTx, the L1 transactions and the Helicon types (pchain.md 3.2).
"""

from platform_app.txs import errors, l1
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking_syntax import verify_possession_of
from platform_app.txs.subnets import TransformSubnetTx
from platform_app.txs.well_formed import verify_auth, verify_outputs
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID
from utxo.errors import InvalidTx, UtxoReason
from utxo.well_formed import is_strictly_increasing, verify_owner, verify_threshold

MAX_MANAGER_ADDRESS_SIZE = 4096


def verify_transform(tx: TransformSubnetTx, asset_id: ID) -> None:
    """Check the limits of a transformed subnet."""
    if tx.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.TRANSFORM_PRIMARY_NETWORK)
    if tx.asset_id == EMPTY_ID:
        raise InvalidTx(UtxoReason.EMPTY_ASSET_ID)
    for is_broken, words in _broken_limits(tx, asset_id):
        if is_broken:
            raise InvalidTx(TxSyntaxReason.INVALID_TRANSFORMATION, limit=words)
    verify_auth(tx.subnet_authorization)


def _broken_limits(tx: TransformSubnetTx, asset_id: ID) -> tuple[tuple[bool, str], ...]:
    most = f"must be less than or equal to {errors.PERCENT_DENOMINATOR}"
    stake = "min validator stake must be less than or equal to"
    return (
        (tx.asset_id == asset_id, "asset ID can't be AVAX"),
        (tx.initial_supply == 0, "initial supply must be non-0"),
        (
            tx.initial_supply > tx.maximum_supply,
            "initial supply can't be greater than maximum supply",
        ),
        (
            tx.min_consumption_rate > tx.max_consumption_rate,
            "min consumption rate must be less than or equal to max consumption rate",
        ),
        (tx.max_consumption_rate > errors.PERCENT_DENOMINATOR, f"max consumption rate {most}"),
        (tx.min_validator_stake == 0, "min validator stake must be non-0"),
        (tx.min_validator_stake > tx.initial_supply, f"{stake} initial supply"),
        (tx.min_validator_stake > tx.max_validator_stake, f"{stake} max validator stake"),
        (
            tx.max_validator_stake > tx.maximum_supply,
            "max validator stake must be less than or equal to max supply",
        ),
        (tx.min_stake_duration == 0, "min stake duration must be non-0"),
        (
            tx.min_stake_duration > tx.max_stake_duration,
            "min stake duration must be less than or equal to max stake duration",
        ),
        (tx.min_delegation_fee > errors.PERCENT_DENOMINATOR, f"min delegation fee {most}"),
        (tx.min_delegator_stake == 0, "min delegator stake must be non-0"),
        (tx.max_validator_weight_factor == 0, "max validator weight factor must be non-0"),
        (tx.uptime_requirement > errors.PERCENT_DENOMINATOR, f"uptime requirement {most}"),
    )


def verify_conversion(tx: l1.ConvertSubnetToL1Tx, _asset_id: ID) -> None:
    """Check an L1's initial validators and its manager."""
    if tx.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.CONVERT_PERMISSIONLESS)
    if len(tx.address) > MAX_MANAGER_ADDRESS_SIZE:
        raise InvalidTx(TxSyntaxReason.MANAGER_ADDRESS_TOO_LONG)
    if not tx.validators:
        raise InvalidTx(TxSyntaxReason.NO_L1_VALIDATORS)
    if not is_strictly_increasing(validator.node_id for validator in tx.validators):
        raise InvalidTx(TxSyntaxReason.L1_VALIDATORS_NOT_SORTED)
    verify_auth(tx.subnet_authorization)
    for validator in tx.validators:
        _verify_l1_validator(validator)


def _verify_l1_validator(validator: l1.ConvertSubnetToL1Validator) -> None:
    if validator.weight == 0:
        raise InvalidTx(TxSyntaxReason.L1_WEIGHT_ZERO)
    if len(validator.node_id) != len(EMPTY_NODE_ID):
        raise InvalidTx(TxSyntaxReason.L1_NODE_ID_SIZE, size=len(validator.node_id))
    if validator.node_id == EMPTY_NODE_ID:
        raise InvalidTx(TxSyntaxReason.EMPTY_NODE_ID)
    for owner in (validator.remaining_balance_owner, validator.deactivation_owner):
        verify_threshold(owner.threshold, owner.addresses)
    verify_possession_of(validator.signer)


def verify_increase_balance(tx: l1.IncreaseL1ValidatorBalanceTx, _asset_id: ID) -> None:
    """Check that the amount is not zero."""
    if tx.balance == 0:
        raise InvalidTx(TxSyntaxReason.BALANCE_ZERO)


def verify_disable(tx: l1.DisableL1ValidatorTx, _asset_id: ID) -> None:
    """Check the authorization."""
    verify_auth(tx.disable_authorization)


def verify_auto_renewed(tx: l1.AddAutoRenewedValidatorTx, _asset_id: ID) -> None:
    """Check stake and owners. Unspecified: pchain.md 3.2 has no rules for it."""
    verify_outputs(tx.stake)
    owners = (tx.validation_rewards_owner, tx.delegation_rewards_owner, tx.validator_authority)
    for owner in owners:
        verify_owner(owner)


def verify_auto_renewed_config(tx: l1.SetAutoRenewedValidatorConfigTx, _asset_id: ID) -> None:
    """Check the authorization."""
    verify_auth(tx.auth)
