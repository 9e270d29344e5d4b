"""Rules for subnets: their owners, permissioned validators and blockchains (pchain.md 5.3, 5.4.3).

Unspecified: TransformSubnetTx is rejected, so a subnet stays permissioned until it is converted to an L1 (`l1`). The
start of a validator follows the rules in `staking`.
"""

from platform_app.config import Env
from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.executor.l1 import verify_mutable
from platform_app.executor.spend import authorize, refused_as, transfer, verify_spend
from platform_app.executor.staking import (
    begin_or_wait,
    staker_of,
    verify_duration,
    verify_period_within,
    verify_start_not_too_far,
)
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority
from platform_app.txs.base import Tx
from platform_app.txs.subnets import (
    AddSubnetValidatorTx,
    CreateChainTx,
    CreateSubnetTx,
    RemoveSubnetValidatorTx,
    TransferSubnetOwnershipTx,
)
from primitives.ids import PRIMARY_NETWORK_ID
from utxo.components import OutputOwners
from utxo.errors import InvalidTx


def execute_create_subnet(tx: Tx, unsigned: CreateSubnetTx, diff: Diff, env: Env) -> None:
    """Create a subnet.

    Raises:
        InvalidTx: Its fee is not covered.
    """
    assert isinstance(unsigned.owner, OutputOwners)
    verify_spend(tx, diff, env)
    transfer(tx, diff)
    diff.subnets.add(tx.tx_id, unsigned.owner)


def execute_create_chain(tx: Tx, unsigned: CreateChainTx, diff: Diff, env: Env) -> None:
    """Create a blockchain that a subnet validates.

    Raises:
        InvalidTx: The subnet's owner has not authorized it; the subnet is an L1; its fee is not covered.
    """
    input_credentials = authorize(
        tx, diff, subnet_id=unsigned.subnet_id, auth=unsigned.subnet_authorization
    )
    verify_mutable(unsigned.subnet_id, diff)
    verify_spend(tx, diff, env, input_credentials=input_credentials)
    transfer(tx, diff)
    diff.subnets.add_blockchain(tx)


def execute_add_validator(tx: Tx, unsigned: AddSubnetValidatorTx, diff: Diff, env: Env) -> None:
    """Add a validator of a permissioned subnet, current or pending.

    Before Helicon a block that removes a node's validator cannot add another one, as in avalanchego 1.14.2.

    Raises:
        InvalidTx: A staking rule is broken; the reason says which; the subnet's owner has not
            authorized it; the fee is not covered.
    """
    added, now = unsigned.validator, diff.clock.timestamp()
    priority = Priority.PERMISSIONED_VALIDATOR_PENDING
    staker = staker_of(tx, added, now, env.config, priority=priority, subnet_id=added.subnet_id)
    verify_duration(staker.end - staker.start, env.config)
    if diff.stakers.validator(added.subnet_id, added.node_id):
        raise InvalidTx(
            StakerReason.DUPLICATE_SUBNET_VALIDATOR,
            node_id=added.node_id,
            subnet_id=added.subnet_id,
        )
    primary = diff.stakers.validator(PRIMARY_NETWORK_ID, added.node_id)
    if primary is None:
        raise InvalidTx(StakerReason.NOT_PRIMARY_VALIDATOR, node_id=added.node_id)
    verify_period_within(staker, primary)
    input_credentials = authorize(
        tx, diff, subnet_id=added.subnet_id, auth=unsigned.subnet_authorization
    )
    verify_mutable(added.subnet_id, diff)
    with refused_as(TxStateReason.FLOW_CHECK_FAILED):
        verify_spend(tx, diff, env, input_credentials=input_credentials)
    verify_start_not_too_far(staker.start, now, env.config)
    if now < env.config.upgrades.helicon and diff.stakers.has_removed_validator(
        added.subnet_id, added.node_id
    ):
        raise InvalidTx(StakerReason.ADDED_AFTER_REMOVAL)
    transfer(tx, diff)
    begin_or_wait(staker, diff, env.config)


def execute_remove_validator(
    tx: Tx, unsigned: RemoveSubnetValidatorTx, diff: Diff, env: Env
) -> None:
    """Remove a validator of a permissioned subnet immediately, whether current or pending.

    Raises:
        InvalidTx: There is no such validator; the subnet's owner did not add it and cannot
            remove it; the subnet's owner has not authorized it; the fee is not covered.
    """
    staker = diff.stakers.validator(unsigned.subnet_id, unsigned.node_id)
    if staker is None:
        raise InvalidTx(
            StakerReason.NOT_SUBNET_VALIDATOR,
            node_id=unsigned.node_id,
            subnet_id=unsigned.subnet_id,
        )
    if not staker.priority.is_permissioned:
        raise InvalidTx(StakerReason.REMOVING_PERMISSIONLESS)
    input_credentials = authorize(
        tx, diff, subnet_id=unsigned.subnet_id, auth=unsigned.subnet_authorization
    )
    with refused_as(TxStateReason.FLOW_CHECK_FAILED):
        verify_spend(tx, diff, env, input_credentials=input_credentials)
    transfer(tx, diff)
    diff.stakers.remove(staker)


def execute_transfer_ownership(
    tx: Tx, unsigned: TransferSubnetOwnershipTx, diff: Diff, env: Env
) -> None:
    """Change the owner of a subnet.

    Raises:
        InvalidTx: The subnet's owner has not authorized it; the fee is not covered.
    """
    assert isinstance(unsigned.new_owner, OutputOwners)
    input_credentials = authorize(
        tx, diff, subnet_id=unsigned.subnet_id, auth=unsigned.subnet_authorization
    )
    with refused_as(TxStateReason.FLOW_CHECK_FAILED):
        verify_spend(tx, diff, env, input_credentials=input_credentials)
    transfer(tx, diff)
    diff.subnets.set_owner(unsigned.subnet_id, unsigned.new_owner)
