"""Decision transactions, verified and executed on a diff, by kind (pchain.md 5).

Transfers are here; rules for stakers are in `staking`, for subnets in `subnets`.
"""

from collections.abc import Callable
from typing import Any

from platform_app.config import Env
from platform_app.executor import auto_renewal, l1, staking, subnets
from platform_app.executor.errors import TxStateReason
from platform_app.executor.spend import refused_as, transfer, verify_import, verify_spend
from platform_app.state.chain import ChainState, Diff
from platform_app.txs import l1 as l1_txs
from platform_app.txs import staking as staking_txs
from platform_app.txs import subnets as subnet_txs
from platform_app.txs.base import BaseTx, SpendingTx, Tx, TxStatus, UnsignedTx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from platform_app.txs.syntax import verify_syntax
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from utxo.components import utxos_of
from utxo.errors import InvalidTx


def execute(tx: Tx, diff: Diff, env: Env) -> None:
    """Verify a decision transaction, and execute it on a diff.

    A rejected transaction leaves the diff unchanged.

    Unspecified: TransformSubnetTx is rejected; this chain does not execute it.

    Raises:
        InvalidTx: It is not a decision transaction, or this chain does not execute it; it is
            not well formed; or another reason of `executor.errors`.
    """
    kind = type(tx.unsigned)
    if kind in _SINCE_ETNA and diff.clock.timestamp() < env.config.upgrades.etna:
        raise InvalidTx(TxStateReason.ETNA_FEATURE)
    if kind in _SINCE_HELICON and diff.clock.timestamp() < env.config.upgrades.helicon:
        raise InvalidTx(TxStateReason.HELICON_FEATURE)
    verify_syntax(tx, env.config, env.asset_id)
    if kind in _REFUSED:
        raise InvalidTx(_REFUSED[kind])
    if env.config.durango and kind in _ENDED_BY_DURANGO:
        raise InvalidTx(_ENDED_BY_DURANGO[kind])
    if env.config.durango or kind in _SINCE_ETNA or kind in _SINCE_HELICON:
        _verify_no_memo(tx.unsigned)
    # Some rules of L1s are checked on a state that is already changed.
    changed = Diff(diff) if kind in _SINCE_ETNA else diff
    _RULES[kind](tx, tx.unsigned, changed, env)
    if changed is not diff:
        changed.apply(diff)
    diff.txs.add(tx, TxStatus.COMMITTED)


def _verify_no_memo(unsigned: UnsignedTx) -> None:
    """Reject memos, which ended with Durango."""
    assert isinstance(unsigned, SpendingTx)
    if unsigned.memo:
        raise InvalidTx(TxSyntaxReason.MEMO_TOO_LONG, size=len(unsigned.memo), limit=0)


def _execute_base(tx: Tx, _unsigned: BaseTx, diff: Diff, env: Env) -> None:
    verify_spend(tx, diff, env)
    transfer(tx, diff)


def _execute_import(tx: Tx, unsigned: ImportTx, diff: Diff, env: Env) -> None:
    _verify_peer(unsigned.source_chain, diff, env)
    imported = unsigned.imported_inputs
    verify_import(tx, diff, env, source_chain=unsigned.source_chain, imported=imported)
    transfer(tx, diff)
    for spent in imported:
        diff.utxos.consume_shared(unsigned.source_chain, spent.utxo_id, tx.tx_id)


def _execute_export(tx: Tx, unsigned: ExportTx, diff: Diff, env: Env) -> None:
    _verify_peer(unsigned.destination_chain, diff, env)
    with refused_as(TxStateReason.EXPORT_NOT_FUNDED):
        verify_spend(tx, diff, env, more_outputs=unsigned.exported_outputs)
    transfer(tx, diff)
    for utxo in utxos_of(tx.tx_id, len(unsigned.outputs), unsigned.exported_outputs):
        diff.utxos.export(unsigned.destination_chain, utxo)


def _verify_peer(chain_id: ID, state: ChainState, env: Env) -> None:
    """Check that a chain is another chain of the Primary Network."""
    if chain_id == P_CHAIN_ID:
        raise InvalidTx(TxStateReason.SAME_CHAIN)
    if chain_id in {env.x_chain_id, env.c_chain_id}:
        return
    subnet_id = state.subnets.of_blockchain(chain_id)
    if subnet_id is None:
        raise InvalidTx(TxStateReason.UNKNOWN_PEER, chain_id=chain_id)
    if subnet_id != PRIMARY_NETWORK_ID:
        raise InvalidTx(
            TxStateReason.PEER_OF_OTHER_SUBNET, expected=PRIMARY_NETWORK_ID, got=subnet_id
        )


_REFUSED: dict[type[UnsignedTx], TxStateReason] = {
    staking_txs.AdvanceTimeTx: TxStateReason.WRONG_TX_TYPE,
    staking_txs.RewardValidatorTx: TxStateReason.WRONG_TX_TYPE,
    subnet_txs.TransformSubnetTx: TxStateReason.TRANSFORM_SUBNET_REFUSED,
    l1_txs.RewardAutoRenewedValidatorTx: TxStateReason.WRONG_TX_TYPE,
}
_ENDED_BY_DURANGO: dict[type[UnsignedTx], TxStateReason] = {
    staking_txs.AddValidatorTx: TxStateReason.ADD_VALIDATOR_REFUSED,
    staking_txs.AddDelegatorTx: TxStateReason.ADD_DELEGATOR_REFUSED,
}
_RULES: dict[type[UnsignedTx], Callable[[Tx, Any, Diff, Env], None]] = {
    BaseTx: _execute_base,
    ImportTx: _execute_import,
    ExportTx: _execute_export,
    CreateChainTx: subnets.execute_create_chain,
    subnet_txs.CreateSubnetTx: subnets.execute_create_subnet,
    subnet_txs.AddSubnetValidatorTx: subnets.execute_add_validator,
    subnet_txs.RemoveSubnetValidatorTx: subnets.execute_remove_validator,
    subnet_txs.TransferSubnetOwnershipTx: subnets.execute_transfer_ownership,
    staking_txs.AddValidatorTx: staking.execute_add_validator,
    staking_txs.AddDelegatorTx: staking.execute_add_delegator,
    staking_txs.AddPermissionlessValidatorTx: staking.execute_add_permissionless_validator,
    staking_txs.AddPermissionlessDelegatorTx: staking.execute_add_permissionless_delegator,
    l1_txs.ConvertSubnetToL1Tx: l1.execute_convert,
    l1_txs.RegisterL1ValidatorTx: l1.execute_register,
    l1_txs.SetL1ValidatorWeightTx: l1.execute_set_weight,
    l1_txs.IncreaseL1ValidatorBalanceTx: l1.execute_increase_balance,
    l1_txs.DisableL1ValidatorTx: l1.execute_disable,
    l1_txs.AddAutoRenewedValidatorTx: auto_renewal.execute_add,
    l1_txs.SetAutoRenewedValidatorConfigTx: auto_renewal.execute_set_config,
}
_SINCE_ETNA: frozenset[type[UnsignedTx]] = frozenset(
    {
        l1_txs.ConvertSubnetToL1Tx,
        l1_txs.RegisterL1ValidatorTx,
        l1_txs.SetL1ValidatorWeightTx,
        l1_txs.IncreaseL1ValidatorBalanceTx,
        l1_txs.DisableL1ValidatorTx,
    }
)
_SINCE_HELICON: frozenset[type[UnsignedTx]] = frozenset(
    {l1_txs.AddAutoRenewedValidatorTx, l1_txs.SetAutoRenewedValidatorConfigTx}
)
