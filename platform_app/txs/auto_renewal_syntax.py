"""Syntactic rules of the transactions about auto-renewed validators (etna.md 9)."""

from platform_app.txs.base import ProofOfPossession
from platform_app.txs.errors import PERCENT_DENOMINATOR, TxSyntaxReason
from platform_app.txs.l1 import (
    AddAutoRenewedValidatorTx,
    RewardAutoRenewedValidatorTx,
    SetAutoRenewedValidatorConfigTx,
)
from platform_app.txs.type_syntax import (
    total_of,
    verify_auth,
    verify_outputs,
    verify_possession_of,
    verify_shares,
)
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, ID
from utxo.errors import InvalidTx
from utxo.well_formed import verify_owner


def verify_new_terms(tx: AddAutoRenewedValidatorTx) -> None:
    """Check an AddAutoRenewedValidatorTx before its base fields: shares, period, node.

    Raises:
        InvalidTx: There is no stake or no period; a share is above 100 percent; the node ID is malformed or empty.
    """
    if not tx.stake:
        raise InvalidTx(TxSyntaxReason.NO_STAKE)
    verify_shares(tx.delegation_shares)
    _verify_restaked(tx.auto_compound_reward_shares)
    if tx.period == 0:
        raise InvalidTx(TxSyntaxReason.MISSING_PERIOD)
    if len(tx.node_id) != len(EMPTY_NODE_ID):
        raise InvalidTx(TxSyntaxReason.NODE_ID_SIZE, size=len(tx.node_id))
    if tx.node_id == EMPTY_NODE_ID:
        raise InvalidTx(TxSyntaxReason.EMPTY_NODE_ID)


def verify_auto_renewed(tx: AddAutoRenewedValidatorTx, asset_id: ID) -> None:
    """Check the rest of an AddAutoRenewedValidatorTx: BLS key, owners and stake.

    Raises:
        InvalidTx: The key is missing or not proved; an owner is malformed; the stake is malformed or of another asset.
    """
    try:
        _verify_rights(tx)
    except InvalidTx as cause:
        raise InvalidTx(TxSyntaxReason.RIGHTS_NOT_VERIFIED, cause=cause) from cause
    if not isinstance(tx.signer, ProofOfPossession):
        raise InvalidTx(TxSyntaxReason.MISSING_SIGNER)
    try:
        for staked in tx.stake:
            verify_outputs((staked,))
    except InvalidTx as cause:
        raise InvalidTx(TxSyntaxReason.STAKE_NOT_VERIFIED, cause=cause) from cause
    if any(staked.asset_id != asset_id for staked in tx.stake):
        raise InvalidTx(TxSyntaxReason.INVALID_STAKED_ASSET)
    total_of(tx.stake)
    verify_outputs(tx.stake)


def verify_changed_terms(tx: SetAutoRenewedValidatorConfigTx) -> None:
    """Check a SetAutoRenewedValidatorConfigTx before its base fields.

    Raises:
        InvalidTx: It names no transaction; a share is above 100 percent.
    """
    if tx.tx_id == EMPTY_ID:
        raise InvalidTx(TxSyntaxReason.MISSING_TX_ID)
    _verify_restaked(tx.auto_compound_reward_shares)


def verify_auto_renewed_config(tx: SetAutoRenewedValidatorConfigTx, _asset_id: ID) -> None:
    """Check the authorization."""
    verify_auth(tx.auth)


def verify_period_end(tx: RewardAutoRenewedValidatorTx, _asset_id: ID) -> None:
    """Check the proposal at the end of a period.

    Raises:
        InvalidTx: It names no staker or no time.
    """
    if tx.tx_id == EMPTY_ID:
        raise InvalidTx(TxSyntaxReason.MISSING_TX_ID)
    if tx.timestamp == 0:
        raise InvalidTx(TxSyntaxReason.MISSING_TIMESTAMP)


def _verify_rights(tx: AddAutoRenewedValidatorTx) -> None:
    if isinstance(tx.signer, ProofOfPossession):
        verify_possession_of(tx.signer)
    for owner in (
        tx.validation_rewards_owner,
        tx.delegation_rewards_owner,
        tx.validator_authority,
    ):
        verify_owner(owner)


def _verify_restaked(shares: int) -> None:
    if shares > PERCENT_DENOMINATOR:
        raise InvalidTx(TxSyntaxReason.TOO_MANY_RESTAKED_SHARES)
