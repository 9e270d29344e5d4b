"""Rules for L1s: conversion of subnets, and registration, weight, balance and removal of validators (etna.md 6).

Signatures of warp messages are checked for whole blocks before execution, because they depend on the validators at
the block's context height.
"""

from dataclasses import replace
from typing import Final, TypeVar

from platform_app.config import Env
from platform_app.executor.errors import L1Reason
from platform_app.executor.spend import authorize, authorize_owner, transfer, verify_spend
from platform_app.state.chain import ChainState, Diff
from platform_app.state.l1_validators import Conversion, Expiry, L1Fees, L1Validator
from platform_app.txs import warp
from platform_app.txs.base import ProofOfPossession, Tx
from platform_app.txs.l1 import (
    ConvertSubnetToL1Tx,
    DisableL1ValidatorTx,
    IncreaseL1ValidatorBalanceTx,
    PChainOwner,
    RegisterL1ValidatorTx,
    SetL1ValidatorWeightTx,
)
from platform_app.txs.type_syntax import verify_possession_of
from platform_app.txs.warp import (
    L1Message,
    RegisterL1Validator,
    conversion_of,
    initial_validation_id,
)
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID, IdError, NodeID
from primitives.uint64 import MAX
from primitives.warp import AddressedCall, UnsignedMessage
from utxo.components import UTXO, OutputOwners, TransferOutput
from utxo.errors import InvalidTx
from utxo.well_formed import verify_threshold

MAX_EXPIRY_AHEAD: Final = 24 * 60 * 60
"""Seconds that a registration message may be valid after it is executed."""

M = TypeVar("M", bound=L1Message)


def execute_convert(tx: Tx, unsigned: ConvertSubnetToL1Tx, diff: Diff, env: Env) -> None:
    """Convert a permissioned subnet to an L1 with its first validators.

    Raises:
        InvalidTx: The subnet's owner has not authorized it; the subnet is an L1 already; a node is a validator of it
            already; fee and balances are not covered.
    """
    subnet_id = unsigned.subnet_id
    input_credentials = authorize(tx, diff, subnet_id=subnet_id, auth=unsigned.subnet_authorization)
    verify_mutable(subnet_id, diff)
    for index, initial in enumerate(unsigned.validators):
        record = L1Validator(
            validation_id=initial_validation_id(subnet_id, index),
            subnet_id=subnet_id,
            node_id=NodeID(initial.node_id),
            public_key=initial.signer.public_key,
            remaining_balance_owner=initial.remaining_balance_owner,
            deactivation_owner=initial.deactivation_owner,
            start=diff.clock.timestamp(),
            weight=initial.weight,
        )
        _put(_funded(record, initial.balance, diff, env), diff)
    balances = sum(initial.balance for initial in unsigned.validators)
    verify_spend(tx, diff, env, input_credentials=input_credentials, burned=balances)
    transfer(tx, diff)
    conversion_id = conversion_of(unsigned).conversion_id
    diff.l1_validators.convert(
        subnet_id, Conversion(conversion_id, unsigned.chain_id, unsigned.address)
    )


def execute_register(tx: Tx, unsigned: RegisterL1ValidatorTx, diff: Diff, env: Env) -> None:
    """Add the validator that an L1's manager has requested.

    Raises:
        InvalidTx: Fee and balance are not covered; the message is not a registration of this L1's manager, has expired
            or was used already; the proof of possession is invalid; the node validates the L1 already.
    """
    verify_spend(tx, diff, env, burned=unsigned.balance)
    sender, call, message = _message(unsigned.message, RegisterL1Validator)
    _verify_registration(message)
    _verify_sender(message.subnet_id, sender, call, diff)
    now = diff.clock.timestamp()
    if message.expiry <= now:
        raise InvalidTx(L1Reason.EXPIRED, expiry=message.expiry, now=now)
    if message.expiry - now > MAX_EXPIRY_AHEAD:
        raise InvalidTx(L1Reason.TOO_EARLY, ahead=message.expiry - now, limit=MAX_EXPIRY_AHEAD)
    expiry = Expiry(message.expiry, message.validation_id)
    if diff.l1_validators.has_expiry(expiry):
        raise InvalidTx(L1Reason.ALREADY_ISSUED, validation_id=message.validation_id)
    proof = unsigned.proof_of_possession
    verify_possession_of(ProofOfPossession(message.bls_public_key, proof))
    record = L1Validator(
        validation_id=message.validation_id,
        subnet_id=message.subnet_id,
        node_id=NodeID(message.node_id),
        public_key=message.bls_public_key,
        remaining_balance_owner=message.remaining_balance_owner,
        deactivation_owner=message.disable_owner,
        start=now,
        weight=message.weight,
    )
    _put(_funded(record, unsigned.balance, diff, env), diff)
    transfer(tx, diff)
    diff.l1_validators.add_expiry(expiry)


def execute_set_weight(tx: Tx, unsigned: SetL1ValidatorWeightTx, diff: Diff, env: Env) -> None:
    """Set a validator's weight as its L1's manager has requested; weight 0 removes it and returns its balance.

    Raises:
        InvalidTx: The fee is not covered; the message is not of this L1's manager, or older than another that was
            used; there is no such validator, or it is the last one and would be removed.
    """
    verify_spend(tx, diff, env)
    sender, call, message = _message(unsigned.message, warp.L1ValidatorWeight)
    if message.nonce == MAX and message.weight != 0:
        raise InvalidTx(L1Reason.RESERVED_NONCE)
    validator = _validator(message.validation_id, diff)
    if message.nonce < validator.min_nonce:
        raise InvalidTx(L1Reason.STALE_NONCE, nonce=message.nonce, least=validator.min_nonce)
    _verify_sender(validator.subnet_id, sender, call, diff)
    transfer(tx, diff)
    if message.weight == 0:
        if validator.weight == diff.l1_validators.total_weight(validator.subnet_id):
            raise InvalidTx(L1Reason.LAST_VALIDATOR)
        _refund(tx, len(unsigned.outputs), validator, diff, env)
        diff.l1_validators.put(replace(validator, weight=0))
        return
    _put(replace(validator, weight=message.weight, min_nonce=message.nonce + 1), diff)


def execute_increase_balance(
    tx: Tx, unsigned: IncreaseL1ValidatorBalanceTx, diff: Diff, env: Env
) -> None:
    """Add to a validator's balance; an inactive validator becomes active.

    Raises:
        InvalidTx: Fee and balance are not covered; there is no such validator; too many are active.
    """
    verify_spend(tx, diff, env, burned=unsigned.balance)
    validator = diff.l1_validators.get(unsigned.validation_id)
    if validator is None:
        raise InvalidTx(L1Reason.NOT_FOUND)
    _put(_funded(validator, unsigned.balance, diff, env), diff)
    transfer(tx, diff)


def execute_disable(tx: Tx, unsigned: DisableL1ValidatorTx, diff: Diff, env: Env) -> None:
    """Deactivate a validator and return its balance. An inactive validator stays as it is.

    Raises:
        InvalidTx: There is no such validator; its deactivation owner has not authorized it; the fee is not covered.
    """
    validator = _validator(unsigned.validation_id, diff)
    owner = validator.deactivation_owner
    input_credentials = authorize_owner(
        tx, diff, owner=_owners(owner), auth=unsigned.disable_authorization
    )
    verify_spend(tx, diff, env, input_credentials=input_credentials)
    transfer(tx, diff)
    if validator.is_active:
        _refund(tx, len(unsigned.outputs), validator, diff, env)
        diff.l1_validators.put(validator.deactivated())


def verify_mutable(subnet_id: ID, state: ChainState) -> None:
    """Check that a subnet's owner may still change the subnet.

    Raises:
        InvalidTx: It has been converted to an L1.
    """
    if state.l1_validators.conversion(subnet_id) is not None:
        raise InvalidTx(L1Reason.IMMUTABLE, subnet_id=subnet_id)


def balance_of(validator: L1Validator, fees: L1Fees) -> int:
    """Return the remaining balance of a validator."""
    return validator.end_accumulated_fee - fees.accrued if validator.is_active else 0


def _put(validator: L1Validator, diff: Diff) -> None:
    """Write a validator after the checks that hold for all transactions (etna.md 4.2)."""
    l1s = diff.l1_validators
    known = l1s.get(validator.validation_id)
    if known is not None:
        if _constants(known) != _constants(validator):
            raise InvalidTx(L1Reason.MUTATED)
    else:
        staker = diff.stakers.validator(validator.subnet_id, validator.node_id)
        # Unspecified: a permissioned validator that has not started, which no reference chain has, conflicts too.
        if staker is not None:
            raise InvalidTx(L1Reason.CONFLICTING)
        if l1s.of_node(validator.subnet_id, validator.node_id) is not None:
            raise InvalidTx(L1Reason.DUPLICATE)
    others = l1s.total_weight(validator.subnet_id) - (known.weight if known else 0)
    if others + validator.weight > MAX:
        raise InvalidTx(L1Reason.OVERFLOW)
    l1s.put(validator)


def _constants(validator: L1Validator) -> L1Validator:
    return replace(validator, weight=0, min_nonce=0, end_accumulated_fee=0)


def _funded(validator: L1Validator, balance: int, diff: Diff, env: Env) -> L1Validator:
    """Return a validator with an increased balance, which makes it active; without one it stays as it is."""
    if balance == 0:
        return validator
    l1s = diff.l1_validators
    before = validator.end_accumulated_fee
    if not validator.is_active:
        if l1s.active_count() >= env.config.validator_fees.capacity:
            raise InvalidTx(L1Reason.MAX_ACTIVE)
        before = l1s.fees().accrued
    if before + balance > MAX:
        raise InvalidTx(L1Reason.OVERFLOW)
    return replace(validator, end_accumulated_fee=before + balance)


def _refund(tx: Tx, index: int, validator: L1Validator, diff: Diff, env: Env) -> None:
    """Return the remaining balance of an active validator to its owner."""
    if not validator.is_active:
        return
    left = balance_of(validator, diff.l1_validators.fees())
    if left <= 0:
        raise InvalidTx(L1Reason.ALREADY_DISABLED)
    output = TransferOutput(left, _owners(validator.remaining_balance_owner))
    diff.utxos.produce(UTXO(tx.tx_id, index, env.asset_id, output))


def _owners(owner: PChainOwner) -> OutputOwners:
    return OutputOwners(0, owner.threshold, owner.addresses)


def _validator(validation_id: ID, diff: Diff) -> L1Validator:
    validator = diff.l1_validators.get(validation_id)
    if validator is None:
        raise InvalidTx(L1Reason.VALIDATOR_MISSING)
    return validator


def _message(raw: bytes, kind: type[M]) -> tuple[UnsignedMessage, AddressedCall, M]:
    """Parse a signed message with an addressed call that contains a message of one kind."""
    unsigned = warp.parse_signed_message(raw).message
    call = warp.parse_payload(unsigned.payload)
    if not isinstance(call, AddressedCall):
        raise InvalidTx(L1Reason.WRONG_PAYLOAD, kind="payload.Hash")
    message = warp.parse_l1_message(call.payload)
    if not isinstance(message, kind):
        raise InvalidTx(L1Reason.WRONG_PAYLOAD, kind=f"message.{type(message).__name__}")
    return unsigned, call, message


def _verify_registration(message: RegisterL1Validator) -> None:
    if message.subnet_id == PRIMARY_NETWORK_ID:
        raise InvalidTx(L1Reason.INVALID_SUBNET_ID)
    if message.weight == 0:
        raise InvalidTx(L1Reason.INVALID_WEIGHT)
    try:
        node_id = NodeID(message.node_id)
    except IdError as error:
        raise InvalidTx(L1Reason.INVALID_NODE_ID, cause=error) from None
    if node_id == EMPTY_NODE_ID:
        raise InvalidTx(L1Reason.INVALID_NODE_ID, cause="empty nodeID is disallowed")
    for owner in (message.remaining_balance_owner, message.disable_owner):
        try:
            verify_threshold(owner.threshold, owner.addresses)
        except InvalidTx as cause:
            raise InvalidTx(L1Reason.INVALID_OWNER, cause=cause) from cause


def _verify_sender(
    subnet_id: ID, sender: UnsignedMessage, call: AddressedCall, state: ChainState
) -> None:
    """Check that a message comes from the manager of an L1."""
    conversion = state.l1_validators.conversion(subnet_id)
    if conversion is None:
        raise InvalidTx(L1Reason.NOT_CONVERTED, subnet_id=subnet_id)
    if sender.source_chain_id != conversion.manager_chain_id:
        raise InvalidTx(
            L1Reason.WRONG_SOURCE_CHAIN,
            expected=conversion.manager_chain_id,
            got=sender.source_chain_id,
        )
    if call.source_address != conversion.manager_address:
        raise InvalidTx(
            L1Reason.WRONG_SOURCE_ADDRESS,
            expected=conversion.manager_address.hex(),
            got=call.source_address.hex(),
        )
