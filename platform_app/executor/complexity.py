"""The resources that a transaction uses, in four dimensions (pchain.md 6.2).

Bandwidth in bytes, reads and writes of the database, compute in microseconds. For a correctly signed
transaction, bandwidth is the length of its bytes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import (
    Auth,
    AuthInput,
    BaseTx,
    LockIn,
    LockOut,
    ProofOfPossession,
    Signer,
    SpendingTx,
    UnsignedTx,
    inner_input,
    inner_output,
)
from platform_app.txs.errors import TxSyntaxReason, UnsupportedTxType
from platform_app.txs.subnets import CreateChainTx, ExportTx, ImportTx
from platform_app.txs.warp import parse_signed_message
from utxo.components import OutputOwners, Owner, TransferableInput, TransferableOutput

_ADDRESS = 20
_SIGNATURE = 69
"""65 bytes, and the index of the signer."""
_SIGNATURE_COMPUTE = 200
_LOCK = 12
_KEY_AND_PROOF = 48 + 96
_POSSESSION_COMPUTE = 1050


class Complexity(NamedTuple):
    """The resources used by one transaction."""

    bandwidth: int = 0
    reads: int = 0
    writes: int = 0
    compute: int = 0


def complexity_of(tx: UnsignedTx) -> Complexity:
    """Return the complexity of a transaction including its credentials.

    Raises:
        UnsupportedTxType: Its type has no dynamic fee.
        InvalidTx: Its warp message is invalid.
    """
    rule = _RULES.get(type(tx))
    if rule is None or not isinstance(tx, SpendingTx):
        raise UnsupportedTxType(TxSyntaxReason.UNSUPPORTED_TYPE)
    return _sum((*_outputs(tx.outputs), *_inputs(tx.inputs), _bytes(tx.memo), *rule(tx)))


def _sum(parts: Iterable[Complexity]) -> Complexity:
    return Complexity(*map(sum, zip(*parts, strict=True)))


def _bytes(data: bytes) -> Complexity:
    return Complexity(len(data))


def _outputs(outputs: Sequence[TransferableOutput]) -> Iterable[Complexity]:
    for transferable in outputs:
        output = transferable.output
        lock = _LOCK if isinstance(output, LockOut) else 0
        addresses = len(inner_output(output).owners.addresses)
        yield Complexity(60 + _ADDRESS * addresses + lock, 0, 1, 0)


def _inputs(inputs: Sequence[TransferableInput]) -> Iterable[Complexity]:
    for transferable in inputs:
        spent = transferable.input
        lock = _LOCK if isinstance(spent, LockIn) else 0
        signatures = len(inner_input(spent).signature_indices)
        yield Complexity(92 + _SIGNATURE * signatures + lock, 1, 1, _SIGNATURE_COMPUTE * signatures)


def _owner(owner: Owner) -> Complexity:
    assert isinstance(owner, OutputOwners)
    return Complexity(16 + _ADDRESS * len(owner.addresses))


def _auth(auth: Auth) -> Complexity:
    assert isinstance(auth, AuthInput)
    signatures = len(auth.signature_indices)
    return Complexity(8 + _SIGNATURE * signatures, 0, 0, _SIGNATURE_COMPUTE * signatures)


def _signer(signer: Signer) -> Complexity:
    if isinstance(signer, ProofOfPossession):
        return Complexity(_KEY_AND_PROOF, 0, 0, _POSSESSION_COMPUTE)
    return Complexity()


def _warp(message: bytes) -> Complexity:
    signers = parse_signed_message(message).signer_count
    return Complexity(len(message), 23, 0, 1000 + 5 * signers)


def _l1_validator(validator: l1.ConvertSubnetToL1Validator) -> Complexity:
    owners = (validator.remaining_balance_owner, validator.deactivation_owner)
    addresses = sum(len(owner.addresses) for owner in owners)
    bandwidth = 36 + len(validator.node_id) + _KEY_AND_PROOF + _ADDRESS * addresses
    return Complexity(bandwidth, 0, 4, _POSSESSION_COMPUTE)


def _base(_tx: BaseTx) -> Iterable[Complexity]:
    yield Complexity(58)


def _add_subnet_validator(tx: subnets.AddSubnetValidatorTx) -> Iterable[Complexity]:
    yield Complexity(142, 3, 3)
    yield _auth(tx.subnet_authorization)


def _create_chain(tx: CreateChainTx) -> Iterable[Complexity]:
    yield Complexity(140, 3, 1)
    yield _auth(tx.subnet_authorization)
    name = tx.chain_name.encode("utf-8", "surrogateescape")
    yield Complexity(32 * len(tx.fx_ids) + len(name) + len(tx.genesis_data))


def _create_subnet(tx: subnets.CreateSubnetTx) -> Iterable[Complexity]:
    yield Complexity(62, 0, 1)
    yield _owner(tx.owner)


def _import(tx: ImportTx) -> Iterable[Complexity]:
    yield Complexity(94)
    yield from _inputs(tx.imported_inputs)


def _export(tx: ExportTx) -> Iterable[Complexity]:
    yield Complexity(94)
    yield from _outputs(tx.exported_outputs)


def _remove_subnet_validator(tx: subnets.RemoveSubnetValidatorTx) -> Iterable[Complexity]:
    yield Complexity(118, 1, 3)
    yield _auth(tx.subnet_authorization)


def _add_validator(tx: staking.AddPermissionlessValidatorTx) -> Iterable[Complexity]:
    yield Complexity(154, 1, 3)
    yield _signer(tx.signer)
    yield from _outputs(tx.stake)
    yield _owner(tx.validation_rewards_owner)
    yield _owner(tx.delegation_rewards_owner)


def _add_delegator(tx: staking.AddPermissionlessDelegatorTx) -> Iterable[Complexity]:
    yield Complexity(142, 1, 2)
    yield from _outputs(tx.stake)
    yield _owner(tx.rewards_owner)


def _transfer_ownership(tx: subnets.TransferSubnetOwnershipTx) -> Iterable[Complexity]:
    yield Complexity(102, 1, 1)
    yield _auth(tx.subnet_authorization)
    yield _owner(tx.new_owner)


def _convert(tx: l1.ConvertSubnetToL1Tx) -> Iterable[Complexity]:
    yield Complexity(138, 3, 2)
    yield from map(_l1_validator, tx.validators)
    yield _auth(tx.subnet_authorization)
    yield _bytes(tx.address)


def _register(tx: l1.RegisterL1ValidatorTx) -> Iterable[Complexity]:
    yield Complexity(166, 5, 6, _POSSESSION_COMPUTE)
    yield _warp(tx.message)


def _set_weight(tx: l1.SetL1ValidatorWeightTx) -> Iterable[Complexity]:
    yield Complexity(62, 3, 5)
    yield _warp(tx.message)


def _increase_balance(_tx: l1.IncreaseL1ValidatorBalanceTx) -> Iterable[Complexity]:
    yield Complexity(98, 1, 5)


def _disable(tx: l1.DisableL1ValidatorTx) -> Iterable[Complexity]:
    yield Complexity(98, 1, 6)
    yield _auth(tx.disable_authorization)


def _add_auto_renewed(tx: l1.AddAutoRenewedValidatorTx) -> Iterable[Complexity]:
    yield Complexity(118, 0, 3)
    yield _signer(tx.signer)
    yield from _outputs(tx.stake)
    yield _owner(tx.validation_rewards_owner)
    yield _owner(tx.delegation_rewards_owner)
    yield _owner(tx.validator_authority)


def _set_auto_renewed(tx: l1.SetAutoRenewedValidatorConfigTx) -> Iterable[Complexity]:
    yield Complexity(110, 1, 1)
    yield _auth(tx.auth)


_RULES: dict[type, Callable[[Any], Iterable[Complexity]]] = {
    BaseTx: _base,
    CreateChainTx: _create_chain,
    ImportTx: _import,
    ExportTx: _export,
    subnets.CreateSubnetTx: _create_subnet,
    subnets.AddSubnetValidatorTx: _add_subnet_validator,
    subnets.RemoveSubnetValidatorTx: _remove_subnet_validator,
    subnets.TransferSubnetOwnershipTx: _transfer_ownership,
    staking.AddPermissionlessValidatorTx: _add_validator,
    staking.AddPermissionlessDelegatorTx: _add_delegator,
    l1.ConvertSubnetToL1Tx: _convert,
    l1.RegisterL1ValidatorTx: _register,
    l1.SetL1ValidatorWeightTx: _set_weight,
    l1.IncreaseL1ValidatorBalanceTx: _increase_balance,
    l1.DisableL1ValidatorTx: _disable,
    l1.AddAutoRenewedValidatorTx: _add_auto_renewed,
    l1.SetAutoRenewedValidatorConfigTx: _set_auto_renewed,
}
