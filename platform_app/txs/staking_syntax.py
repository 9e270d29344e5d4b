"""Syntactic rules of transactions that add stakers (pchain.md 3.2).

Limits of amounts and durations depend on the network and the state; they are in
`executor.staking`.
"""

from collections.abc import Sequence

from platform_app.txs import errors
from platform_app.txs.components import ProofOfPossession
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx
from platform_app.txs.well_formed import total_of, verify_auth, verify_outputs
from primitives import bls
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, NodeID
from utxo.components import TransferableOutput
from utxo.errors import InvalidTx
from utxo.well_formed import verify_owner


def verify_validator(tx: AddValidatorTx, asset_id: ID) -> None:
    """Check an AddValidatorTx: shares, weight, stake, owner.

    Raises:
        InvalidTx: The stake is invalid; the reason says why; stake or owner is not well
            formed.
    """
    _verify_shares(tx.shares)
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
    _verify_shares(tx.shares)
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


def _verify_shares(shares: int) -> None:
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
