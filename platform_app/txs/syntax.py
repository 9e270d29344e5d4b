"""Syntactic rules: the checks of a transaction that need no state (pchain.md 3, 3.2).

The checks of inputs, outputs and owners are in `type_syntax` and in `utxo.well_formed`, those of single types of
transactions in `type_syntax`, and in `auto_renewal_syntax` for auto-renewed validators. Base fields are checked first,
except those of transactions about auto-renewed validators.
"""

import re
from collections.abc import Callable
from typing import Any

from platform_app.config import PlatformConfig
from platform_app.txs import l1, staking
from platform_app.txs.auto_renewal_syntax import (
    verify_auto_renewed,
    verify_auto_renewed_config,
    verify_changed_terms,
    verify_new_terms,
    verify_period_end,
)
from platform_app.txs.base import BaseTx, LockOut, SpendingTx, Tx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.subnets import (
    AddSubnetValidatorTx,
    CreateChainTx,
    CreateSubnetTx,
    ExportTx,
    ImportTx,
    RemoveSubnetValidatorTx,
    TransferSubnetOwnershipTx,
    TransformSubnetTx,
)
from platform_app.txs.type_syntax import (
    verify_auth,
    verify_conversion,
    verify_delegator,
    verify_disable,
    verify_increase_balance,
    verify_inputs,
    verify_outputs,
    verify_permissionless_delegator,
    verify_permissionless_validator,
    verify_subnet_validator,
    verify_transform,
    verify_validator,
)
from primitives.ids import EMPTY_ID, ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from utxo.errors import InvalidTx
from utxo.well_formed import is_strictly_increasing, verify_owner

MAX_MEMO_SIZE = 256
MAX_CHAIN_NAME_SIZE = 128
MAX_CHAIN_GENESIS_SIZE = 1024 * 1024

_CHAIN_NAME = re.compile(r"[A-Za-z0-9 ]*")


def verify_syntax(tx: Tx, config: PlatformConfig, asset_id: ID) -> None:
    """Check a transaction without state; asset_id is the Primary Network's staking asset.

    Unspecified: memos of up to 256 bytes are well formed. The reference implementation has rejected memos since
    its Durango upgrade, but older clients write them: `executor.standard` decides by the network's parameters.

    Raises:
        InvalidTx: The transaction is malformed; the reason says why.
    """
    unsigned = tx.unsigned
    if isinstance(unsigned, l1.AddAutoRenewedValidatorTx):
        verify_new_terms(unsigned)
        try:
            _verify_base(unsigned, config.network_id)
        except InvalidTx as cause:
            raise InvalidTx(TxSyntaxReason.BASE_NOT_VERIFIED, cause=cause) from cause
    elif isinstance(unsigned, SpendingTx):
        if isinstance(unsigned, l1.SetAutoRenewedValidatorConfigTx):
            verify_changed_terms(unsigned)
        _verify_base(unsigned, config.network_id)
    _RULES[type(unsigned)](unsigned, asset_id)
    if tx.credentials and not isinstance(unsigned, SpendingTx):
        raise InvalidTx(TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS)


def _verify_base(tx: SpendingTx, network_id: int) -> None:
    if tx.network_id != network_id:
        raise InvalidTx(TxSyntaxReason.WRONG_NETWORK_ID)
    if tx.blockchain_id != P_CHAIN_ID:
        raise InvalidTx(TxSyntaxReason.WRONG_BLOCKCHAIN_ID)
    if len(tx.memo) > MAX_MEMO_SIZE:
        raise InvalidTx(TxSyntaxReason.MEMO_TOO_LONG, size=len(tx.memo), limit=MAX_MEMO_SIZE)
    verify_outputs(tx.outputs)
    verify_inputs(tx.inputs)


def _verify_nothing(_tx: object, _asset_id: ID) -> None:
    """Accept a transaction that has no rules beyond the base fields."""


def _verify_create_subnet(tx: CreateSubnetTx, _asset_id: ID) -> None:
    verify_owner(tx.owner)


def _verify_remove_validator(tx: RemoveSubnetValidatorTx, _asset_id: ID) -> None:
    if tx.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.REMOVE_FROM_PRIMARY_NETWORK)
    verify_auth(tx.subnet_authorization)


def _verify_transfer_ownership(tx: TransferSubnetOwnershipTx, _asset_id: ID) -> None:
    if tx.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.TRANSFER_PERMISSIONLESS)
    verify_auth(tx.subnet_authorization)
    verify_owner(tx.new_owner)


def _verify_create_chain(tx: CreateChainTx, _asset_id: ID) -> None:
    if tx.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(TxSyntaxReason.CHAIN_ON_PRIMARY_NETWORK)
    if len(tx.chain_name.encode("utf-8", "surrogateescape")) > MAX_CHAIN_NAME_SIZE:
        raise InvalidTx(TxSyntaxReason.CHAIN_NAME_TOO_LONG)
    if not _CHAIN_NAME.fullmatch(tx.chain_name):
        raise InvalidTx(TxSyntaxReason.ILLEGAL_CHAIN_NAME)
    if tx.vm_id == EMPTY_ID:
        raise InvalidTx(TxSyntaxReason.INVALID_VM_ID)
    if not is_strictly_increasing(tx.fx_ids):
        raise InvalidTx(TxSyntaxReason.FX_IDS_NOT_SORTED)
    if len(tx.genesis_data) > MAX_CHAIN_GENESIS_SIZE:
        raise InvalidTx(TxSyntaxReason.GENESIS_TOO_LONG)
    verify_auth(tx.subnet_authorization)


def _verify_import(tx: ImportTx, _asset_id: ID) -> None:
    if not tx.imported_inputs:
        raise InvalidTx(TxSyntaxReason.NO_IMPORTED_INPUTS)
    verify_inputs(tx.imported_inputs)


def _verify_export(tx: ExportTx, _asset_id: ID) -> None:
    if not tx.exported_outputs:
        raise InvalidTx(TxSyntaxReason.NO_EXPORTED_OUTPUTS)
    if any(isinstance(exported.output, LockOut) for exported in tx.exported_outputs):
        raise InvalidTx(TxSyntaxReason.LOCKED_EXPORT)
    verify_outputs(tx.exported_outputs)


def _verify_reward(tx: staking.RewardValidatorTx, _asset_id: ID) -> None:
    if tx.tx_id == EMPTY_ID:
        raise InvalidTx(TxSyntaxReason.EMPTY_STAKER_ID)


_RULES: dict[type, Callable[[Any, ID], None]] = {
    BaseTx: _verify_nothing,
    CreateSubnetTx: _verify_create_subnet,
    AddSubnetValidatorTx: verify_subnet_validator,
    RemoveSubnetValidatorTx: _verify_remove_validator,
    TransferSubnetOwnershipTx: _verify_transfer_ownership,
    TransformSubnetTx: verify_transform,
    CreateChainTx: _verify_create_chain,
    ImportTx: _verify_import,
    ExportTx: _verify_export,
    staking.AddValidatorTx: verify_validator,
    staking.AddDelegatorTx: verify_delegator,
    staking.AddPermissionlessValidatorTx: verify_permissionless_validator,
    staking.AddPermissionlessDelegatorTx: verify_permissionless_delegator,
    staking.AdvanceTimeTx: _verify_nothing,
    staking.RewardValidatorTx: _verify_reward,
    l1.ConvertSubnetToL1Tx: verify_conversion,
    l1.RegisterL1ValidatorTx: _verify_nothing,
    l1.SetL1ValidatorWeightTx: _verify_nothing,
    l1.IncreaseL1ValidatorBalanceTx: verify_increase_balance,
    l1.DisableL1ValidatorTx: verify_disable,
    l1.AddAutoRenewedValidatorTx: verify_auto_renewed,
    l1.SetAutoRenewedValidatorConfigTx: verify_auto_renewed_config,
    l1.RewardAutoRenewedValidatorTx: verify_period_end,
}
