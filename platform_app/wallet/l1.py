"""Signed transactions about L1s and their validators.

These kinds have no static fee, so each pays for its gas at the price after the last accepted block, which is the
highest price of the next block (etna.md 2). Raised by all: NotBuilt and its subclasses, and the errors of
`transactions.sign`.
"""

from collections.abc import Callable, Iterable

from platform_app.executor.fees import required_fee
from platform_app.state.chain import ChainState
from platform_app.txs.base import AuthInput, Tx, UnsignedTx
from platform_app.txs.l1 import (
    ConvertSubnetToL1Tx,
    ConvertSubnetToL1Validator,
    DisableL1ValidatorTx,
    IncreaseL1ValidatorBalanceTx,
    RegisterL1ValidatorTx,
    SetL1ValidatorWeightTx,
)
from platform_app.wallet.errors import NotBuilt, WalletReason
from platform_app.wallet.transactions import BaseFields, authorize, fields, sign
from platform_app.wallet.wallet import PlatformWallet, choose
from primitives.ids import ID
from utxo.coins import SigningOwners
from utxo.components import OutputOwners


def build_convert_subnet(
    wallet: PlatformWallet,
    *,
    subnet_id: ID,
    manager_chain_id: ID,
    manager_address: bytes,
    validators: Iterable[ConvertSubnetToL1Validator],
    state: ChainState,
) -> Tx:
    """Build a ConvertSubnetToL1Tx, signed by the subnet's owner too; validators may be in any order.

    Raises:
        NotBuilt: These keys cannot sign for the subnet's current owner.
    """
    authorizing = authorize(wallet, subnet_id, state)
    ordered = tuple(sorted(validators, key=lambda validator: validator.node_id))
    return _build(
        wallet,
        lambda base: ConvertSubnetToL1Tx(
            *base,
            subnet_id=subnet_id,
            chain_id=manager_chain_id,
            address=manager_address,
            validators=ordered,
            subnet_authorization=AuthInput(authorizing.indices),
        ),
        state,
        burned=sum(validator.balance for validator in ordered),
        authorizing=authorizing,
    )


def build_register_validator(
    wallet: PlatformWallet,
    *,
    message: bytes,
    proof_of_possession: bytes,
    balance: int,
    state: ChainState,
) -> Tx:
    """Build a RegisterL1ValidatorTx with a signed message."""
    return _build(
        wallet,
        lambda base: RegisterL1ValidatorTx(
            *base, balance=balance, proof_of_possession=proof_of_possession, message=message
        ),
        state,
        burned=balance,
    )


def build_set_weight(wallet: PlatformWallet, *, message: bytes, state: ChainState) -> Tx:
    """Build a SetL1ValidatorWeightTx with a signed message."""
    return _build(wallet, lambda base: SetL1ValidatorWeightTx(*base, message=message), state)


def build_increase_balance(
    wallet: PlatformWallet, *, validation_id: ID, balance: int, state: ChainState
) -> Tx:
    """Build an IncreaseL1ValidatorBalanceTx; anybody may pay for any validator."""
    return _build(
        wallet,
        lambda base: IncreaseL1ValidatorBalanceTx(
            *base, validation_id=validation_id, balance=balance
        ),
        state,
        burned=balance,
    )


def build_disable_validator(wallet: PlatformWallet, *, validation_id: ID, state: ChainState) -> Tx:
    """Build a DisableL1ValidatorTx, signed by the validator's deactivation owner too.

    Raises:
        NotBuilt: There is no such validator; these keys cannot sign for its deactivation owner.
    """
    validator = state.l1_validators.get(validation_id)
    if validator is None:
        raise NotBuilt(WalletReason.L1_VALIDATOR_MISSING, validation_id=validation_id)
    owner = validator.deactivation_owner
    owners = OutputOwners(0, owner.threshold, owner.addresses)
    authorizing = wallet.keychain.signers_for(owners, wallet.now)
    if authorizing is None:
        raise NotBuilt(WalletReason.CANNOT_DISABLE)
    return _build(
        wallet,
        lambda base: DisableL1ValidatorTx(
            *base,
            validation_id=validation_id,
            disable_authorization=AuthInput(authorizing.indices),
        ),
        state,
        authorizing=authorizing,
    )


def _build(
    wallet: PlatformWallet,
    make: Callable[[BaseFields], UnsignedTx],
    state: ChainState,
    *,
    burned: int = 0,
    authorizing: SigningOwners | None = None,
) -> Tx:
    """Build and sign a transaction that burns an amount and its fee.

    The fee depends on the number of coins that pay for it, so coins are chosen again until they cover it.
    """
    fee = 0
    while True:
        spend = choose(wallet, fee=fee + burned)
        unsigned = make(fields(wallet, spend.change, spend.inputs))
        required = required_fee(unsigned, wallet.config, state.clock.fee_state())
        if required <= fee:
            return sign(wallet, unsigned, spend.inputs, authorizing)
        fee = required
