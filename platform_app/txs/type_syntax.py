"""Syntactic rules of single transaction types, and of their inputs, outputs and authorizations (pchain.md 3.2).

Inputs and outputs are checked as in `utxo.well_formed`, with stakeable locks (the second list of pchain.md 2.3).
Limits of amounts and durations depend on the network and the state; they are in `executor.staking`. This chain
parses and shows TransformSubnetTx, but does not execute it.
"""

from collections.abc import Iterable, Sequence

from platform_app.txs import errors, l1
from platform_app.txs.base import (
    Auth,
    AuthInput,
    LockIn,
    LockOut,
    ProofOfPossession,
    inner_input,
    inner_output,
)
from platform_app.txs.codec import CODEC
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx, TransformSubnetTx
from primitives import bls
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID
from primitives.uint64 import MAX
from utxo.components import Input, TransferableInput, TransferableOutput, UtxoOutput
from utxo.errors import InvalidTx, UtxoReason
from utxo.well_formed import (
    is_strictly_increasing,
    verify_indices,
    verify_owner,
    verify_threshold,
    verify_transfer_input,
    verify_transfer_output,
    verify_transferable_inputs,
    verify_transferable_outputs,
)


def verify_auth(auth: Auth) -> None:
    """Check an authorization.

    Raises:
        InvalidTx: Its indices are out of order or duplicated.
    """
    assert isinstance(auth, AuthInput)
    verify_indices(auth.signature_indices)


def verify_outputs(outputs: Sequence[TransferableOutput]) -> None:
    """Check a list of outputs, which may be locked. Raises as `verify_transferable_outputs`."""
    verify_transferable_outputs(outputs, CODEC, _verify_output)


def verify_inputs(inputs: Sequence[TransferableInput]) -> None:
    """Check a list of inputs, which may be locked. Raises as `verify_transferable_inputs`."""
    verify_transferable_inputs(inputs, _verify_input)


def total_of(outputs: Iterable[TransferableOutput]) -> int:
    """Return the sum of amounts.

    Raises:
        InvalidTx: It does not fit into 64 bits.
    """
    total = sum(inner_output(output.output).amount for output in outputs)
    if total > MAX:
        raise InvalidTx(UtxoReason.SUM_OVERFLOW)
    return total


def _verify_output(output: UtxoOutput) -> None:
    if isinstance(output, LockOut):
        _verify_lock(output.locktime, nested=isinstance(output.output, LockOut))
    verify_transfer_output(inner_output(output))


def _verify_input(spent: Input) -> None:
    if isinstance(spent, LockIn):
        _verify_lock(spent.locktime, nested=isinstance(spent.input, LockIn))
    verify_transfer_input(inner_input(spent))


def _verify_lock(locktime: int, *, nested: bool) -> None:
    if locktime == 0:
        raise InvalidTx(TxSyntaxReason.INVALID_LOCKTIME)
    if nested:
        raise InvalidTx(TxSyntaxReason.NESTED_LOCK)


def verify_validator(tx: AddValidatorTx, asset_id: ID) -> None:
    """Check an AddValidatorTx: shares, weight, stake, owner.

    Raises:
        InvalidTx: The stake is invalid; the reason says why; stake or owner is not well
            formed.
    """
    verify_shares(tx.shares)
    _verify_node(tx.validator.node_id)
    _verify_weight(tx.validator.weight)
    _verify_staking_asset(tx.stake, asset_id)
    stake = _verified_stake(tx.stake)
    if stake != tx.validator.weight:
        raise InvalidTx(
            TxSyntaxReason.VALIDATOR_WEIGHT_MISMATCH, weight=tx.validator.weight, stake=stake
        )
    verify_owner(tx.rewards_owner)


def verify_delegator(tx: AddDelegatorTx, asset_id: ID) -> None:
    """Check an AddDelegatorTx: weight, stake, owner. Raises as `verify_validator`."""
    _verify_weight(tx.validator.weight)
    _verify_staking_asset(tx.stake, asset_id)
    _verify_delegated(tx)


def verify_permissionless_validator(tx: AddPermissionlessValidatorTx, _asset_id: ID) -> None:
    """Check an AddPermissionlessValidatorTx; on the Primary Network it needs a BLS key.

    Raises as `verify_validator`.
    """
    _verify_node(tx.validator.node_id)
    if not tx.stake:
        raise InvalidTx(TxSyntaxReason.NO_STAKE)
    verify_shares(tx.shares)
    _verify_weight(tx.validator.weight)
    _verify_one_asset(tx.stake)
    stake = _verified_stake(tx.stake)
    if stake != tx.validator.weight:
        raise InvalidTx(
            TxSyntaxReason.VALIDATOR_WEIGHT_MISMATCH, weight=tx.validator.weight, stake=stake
        )
    verify_owner(tx.validation_rewards_owner)
    verify_owner(tx.delegation_rewards_owner)
    _verify_signer(tx)


def verify_permissionless_delegator(tx: AddPermissionlessDelegatorTx, _asset_id: ID) -> None:
    """Check an AddPermissionlessDelegatorTx. Raises as `verify_validator`."""
    if not tx.stake:
        raise InvalidTx(TxSyntaxReason.NO_STAKE)
    _verify_weight(tx.validator.weight)
    _verify_one_asset(tx.stake)
    _verify_delegated(tx)


def verify_subnet_validator(tx: AddSubnetValidatorTx, _asset_id: ID) -> None:
    """Check an AddSubnetValidatorTx.

    Raises:
        InvalidTx: It names the Primary Network; it has no weight; the authorization is out of
            order.
    """
    if tx.validator.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.ADD_TO_PRIMARY_NETWORK)
    _verify_weight(tx.validator.weight)
    verify_auth(tx.subnet_authorization)


def verify_possession_of(signer: ProofOfPossession) -> None:
    """Check the proof of possession of a BLS key.

    Raises:
        InvalidTx: The proof or the key is invalid.
    """
    if not bls.verify_possession(signer.public_key, signer.proof_of_possession):
        raise InvalidTx(TxSyntaxReason.INVALID_PROOF_OF_POSSESSION)


def verify_shares(shares: int) -> None:
    """Check a delegation fee in millionths.

    Raises:
        InvalidTx: It is above 100 percent.
    """
    if shares > errors.PERCENT_DENOMINATOR:
        raise InvalidTx(TxSyntaxReason.TOO_MANY_SHARES)


def _verify_node(node_id: NodeID) -> None:
    if node_id == EMPTY_NODE_ID:
        raise InvalidTx(TxSyntaxReason.EMPTY_NODE_ID)


def _verify_weight(weight: int) -> None:
    if weight == 0:
        raise InvalidTx(TxSyntaxReason.VALIDATOR_WEIGHT_TOO_LOW)


def _verify_staking_asset(stake: Sequence[TransferableOutput], asset_id: ID) -> None:
    for staked in stake:
        if staked.asset_id != asset_id:
            raise InvalidTx(TxSyntaxReason.STAKE_NOT_STAKING_ASSET, asset_id=staked.asset_id)


def _verify_one_asset(stake: Sequence[TransferableOutput]) -> None:
    if any(staked.asset_id != stake[0].asset_id for staked in stake):
        raise InvalidTx(TxSyntaxReason.MULTIPLE_STAKED_ASSETS)


def _verified_stake(stake: Sequence[TransferableOutput]) -> int:
    verify_outputs(stake)
    return total_of(stake)


def _verify_delegated(tx: AddDelegatorTx | AddPermissionlessDelegatorTx) -> None:
    stake = _verified_stake(tx.stake)
    if stake != tx.validator.weight:
        raise InvalidTx(
            TxSyntaxReason.DELEGATOR_WEIGHT_MISMATCH, weight=tx.validator.weight, stake=stake
        )
    verify_owner(tx.rewards_owner)


def _verify_signer(tx: AddPermissionlessValidatorTx) -> None:
    has_key = isinstance(tx.signer, ProofOfPossession)
    is_primary = tx.subnet_id == PRIMARY_NETWORK_ID
    if has_key != is_primary:
        raise InvalidTx(
            TxSyntaxReason.KEY_OUTSIDE_PRIMARY_NETWORK if has_key else TxSyntaxReason.MISSING_KEY
        )
    if isinstance(tx.signer, ProofOfPossession):
        verify_possession_of(tx.signer)


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
        raise InvalidTx(TxSyntaxReason.NODE_ID_SIZE, size=len(validator.node_id))
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
