"""Signed transactions from a wallet. Arguments are not checked here: the rules verify the result.

Each transaction pays the static fee of its kind, which is always enough (`executor.fees`). Raised by all:
NotBuilt (not enough coins), InvalidTx (the transaction would not be well formed), CodecError (it would be
too large). Transactions that move funds are in `moving`.
"""

from collections.abc import Iterable, Sequence

from platform_app.state.chain import ChainState
from platform_app.txs.base import (
    AuthInput,
    ProofOfPossession,
    StakingPeriod,
    SubnetValidator,
    Tx,
    UnsignedTx,
)
from platform_app.txs.codec import build, sign_bytes
from platform_app.txs.staking import AddDelegatorTx, AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateChainTx, CreateSubnetTx
from platform_app.txs.syntax import verify_syntax
from platform_app.wallet.errors import NotBuilt, WalletError, WalletReason
from platform_app.wallet.wallet import PlatformWallet, choose
from primitives.hashing import sha256
from primitives.ids import AVM_ID, ID, PRIMARY_NETWORK_ID, SECP256K1_FX_ID, ShortID
from utxo.coins import OwnInput, SigningOwners, sole_owner
from utxo.components import OutputOwners, SignatureCredential, TransferableInput, TransferableOutput

BaseFields = tuple[int, ID, tuple[TransferableOutput, ...], tuple[TransferableInput, ...], bytes]


def build_add_validator(
    wallet: PlatformWallet, validator: StakingPeriod, *, reward_address: ShortID, shares: int
) -> Tx:
    """Build an AddValidatorTx that stakes the validator's weight; shares are in millionths."""
    fee = wallet.config.fees.add_primary_network_validator
    spend = choose(wallet, fee=fee, stake=validator.weight)
    unsigned = AddValidatorTx(
        *fields(wallet, spend.change, spend.inputs),
        validator=validator,
        stake=spend.stake,
        rewards_owner=sole_owner(reward_address),
        shares=shares,
    )
    return sign(wallet, unsigned, spend.inputs)


def build_add_delegator(
    wallet: PlatformWallet, validator: StakingPeriod, *, reward_address: ShortID
) -> Tx:
    """Build an AddDelegatorTx that stakes the weight."""
    fee = wallet.config.fees.add_primary_network_delegator
    spend = choose(wallet, fee=fee, stake=validator.weight)
    unsigned = AddDelegatorTx(
        *fields(wallet, spend.change, spend.inputs),
        validator=validator,
        stake=spend.stake,
        rewards_owner=sole_owner(reward_address),
    )
    return sign(wallet, unsigned, spend.inputs)


def build_add_permissionless_validator(
    wallet: PlatformWallet,
    validator: StakingPeriod,
    *,
    signer: ProofOfPossession,
    validation_rewards_owner: OutputOwners,
    delegation_rewards_owner: OutputOwners,
    shares: int,
) -> Tx:
    """Build an AddPermissionlessValidatorTx of the Primary Network that stakes the weight."""
    fee = wallet.config.fees.add_primary_network_validator
    spend = choose(wallet, fee=fee, stake=validator.weight)
    unsigned = AddPermissionlessValidatorTx(
        *fields(wallet, spend.change, spend.inputs),
        validator=validator,
        subnet_id=PRIMARY_NETWORK_ID,
        signer=signer,
        stake=spend.stake,
        validation_rewards_owner=validation_rewards_owner,
        delegation_rewards_owner=delegation_rewards_owner,
        shares=shares,
    )
    return sign(wallet, unsigned, spend.inputs)


def build_create_subnet(
    wallet: PlatformWallet, *, control_keys: Iterable[ShortID], threshold: int
) -> Tx:
    """Build a CreateSubnetTx; its ID is the subnet's. Control keys may be in any order."""
    spend = choose(wallet, fee=wallet.config.fees.create_subnet)
    unsigned = CreateSubnetTx(
        *fields(wallet, spend.change, spend.inputs),
        owner=OutputOwners(0, threshold, tuple(sorted(control_keys))),
    )
    return sign(wallet, unsigned, spend.inputs)


def build_add_subnet_validator(
    wallet: PlatformWallet, validator: SubnetValidator, *, state: ChainState
) -> Tx:
    """Build an AddSubnetValidatorTx, signed by the subnet's owner too.

    Raises:
        WalletError: It names the Primary Network.
        NotBuilt: These keys cannot sign for the subnet's current owner.
    """
    if validator.subnet_id == PRIMARY_NETWORK_ID:
        raise WalletError(WalletReason.SUBNET_VALIDATOR_OF_PRIMARY_NETWORK)
    spend = choose(wallet, fee=wallet.config.fees.add_subnet_validator)
    authorizing = authorize(wallet, validator.subnet_id, state)
    unsigned = AddSubnetValidatorTx(
        *fields(wallet, spend.change, spend.inputs),
        validator=validator,
        subnet_authorization=AuthInput(authorizing.indices),
    )
    return sign(wallet, unsigned, spend.inputs, authorizing)


def build_create_chain(
    wallet: PlatformWallet,
    *,
    subnet_id: ID,
    name: str,
    vm_id: ID,
    fx_ids: Iterable[ID],
    genesis_data: bytes,
    state: ChainState,
) -> Tx:
    """Build a CreateChainTx, signed by the subnet's owner too; its ID is the blockchain's.

    Feature extensions may be in any order. The AVM always gets the extension for transfers.

    Raises:
        WalletError: It names the Primary Network.
        NotBuilt: These keys cannot sign for the subnet's current owner.
    """
    if subnet_id == PRIMARY_NETWORK_ID:
        raise WalletError(WalletReason.CHAIN_OF_PRIMARY_NETWORK)
    spend = choose(wallet, fee=wallet.config.fees.create_blockchain)
    authorizing = authorize(wallet, subnet_id, state)
    wanted = {SECP256K1_FX_ID, *fx_ids} if vm_id == AVM_ID else fx_ids
    unsigned = CreateChainTx(
        *fields(wallet, spend.change, spend.inputs),
        subnet_id=subnet_id,
        chain_name=name,
        vm_id=vm_id,
        fx_ids=tuple(sorted(wanted)),
        genesis_data=genesis_data,
        subnet_authorization=AuthInput(authorizing.indices),
    )
    return sign(wallet, unsigned, spend.inputs, authorizing)


def authorize(wallet: PlatformWallet, subnet_id: ID, state: ChainState) -> SigningOwners:
    """Return the signers for a subnet's owner.

    Raises:
        NotBuilt: There is no transaction with that ID; the transaction with that ID is of
            another kind; the keys are too few, or cannot sign yet.
    """
    owners = state.subnets.owner(subnet_id)
    if owners is None:
        subnet_tx = state.txs.get(subnet_id)
        if subnet_tx is None:
            raise NotBuilt(WalletReason.SUBNET_MISSING, subnet_id=subnet_id)
        raise NotBuilt(WalletReason.NOT_A_SUBNET, kind=type(subnet_tx.unsigned).__name__)
    signers = wallet.keychain.signers_for(owners, wallet.now)
    if signers is None:
        raise NotBuilt(WalletReason.CANNOT_SIGN)
    return signers


def fields(
    wallet: PlatformWallet, outputs: tuple[TransferableOutput, ...], inputs: Iterable[OwnInput]
) -> BaseFields:
    """Return the base fields of a transaction; outputs and inputs are sorted."""
    spent = tuple(own.input for own in inputs)
    return wallet.config.network_id, PRIMARY_NETWORK_ID, outputs, spent, b""


def sign(
    wallet: PlatformWallet,
    unsigned: UnsignedTx,
    inputs: Sequence[OwnInput],
    authorizing: SigningOwners | None = None,
) -> Tx:
    """Sign a transaction for each of its inputs in order, and last for a subnet's owner.

    Raises:
        InvalidTx: It is not well formed.
        CodecError: A value does not fit into its field, or the transaction is too large.
    """
    digest = sha256(sign_bytes(unsigned))
    signers = [own.signers for own in inputs]
    if authorizing is not None:
        signers.append(authorizing.addresses)
    signatures = wallet.keychain.sign_inputs(digest, signers)
    tx = build(unsigned, tuple(map(SignatureCredential, signatures)))
    verify_syntax(tx, wallet.config, wallet.asset_id)
    return tx
