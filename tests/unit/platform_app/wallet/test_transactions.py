"""The wallet builds the requested transactions, signs them, and the rules accept them."""

from dataclasses import replace
from typing import Any

from platform_app.config import DAY
from platform_app.txs.base import Tx
from platform_app.txs.errors import TxSyntaxReason
from platform_app.wallet import transactions
from platform_app.wallet.errors import NotBuilt, WalletError, WalletReason
from platform_app.wallet.wallet import PlatformWallet
from primitives.codec_errors import CodecError, CodecReason
from primitives.ids import AVM_ID, EVM_ID, NFT_FX_ID, PRIMARY_NETWORK_ID, SECP256K1_FX_ID
from tests.builders import platform
from tests.builders.platform_state import MemoryState, executed, staker, stakers, state
from tests.builders.reasons import raises
from tests.builders.wallet import CHANGE, wallet
from utxo.components import OutputOwners, SignatureCredential
from utxo.errors import InvalidTx, UtxoReason

CONFIG = platform.CONFIG
ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]
REWARDED = platform.ADDRESSES[3]
PURSE = platform.utxo(10 * CONFIG.min_validator_stake)
SUBNET_OWNER = platform.owners(ONE, TWO, THREE, threshold=2)


def rich(*keys: bytes) -> PlatformWallet:
    return wallet(PURSE, keys=keys or (KEY_1,))


def some_state(**changes: Any) -> MemoryState:
    return state(PURSE, **changes)


def with_subnet(**changes: Any) -> MemoryState:
    validator = staker(end=platform.NOW + 300 * DAY)
    fields = {"owners": {platform.SUBNET_ID: SUBNET_OWNER}, "stakers": stakers(validator)}
    return some_state(**{**fields, **changes})


def burned(tx: Tx, into: MemoryState) -> int:
    """Execute a transaction; return the burned amount of the staking asset, excluding stake."""
    before = into.unspent()
    into.accept(executed(tx, into))
    staked = sum(item.output.amount for item in getattr(tx.unsigned, "stake", ()))
    return before - into.unspent() - staked


def test_add_validator_has_the_given_terms() -> None:
    into = some_state()

    tx = transactions.build_add_validator(
        rich(), platform.validator(), reward_address=REWARDED, shares=30_000
    )

    assert tx.unsigned.validator == platform.validator()
    assert tx.unsigned.rewards_owner == OutputOwners(0, 1, (REWARDED,))
    assert tx.unsigned.shares == 30_000
    assert tx.unsigned.stake == (platform.output(CONFIG.min_validator_stake, CHANGE),)
    assert tx.unsigned.memo == b""
    assert burned(tx, into) == CONFIG.fees.add_primary_network_validator
    assert into.stakers.get(tx.tx_id) is not None


def test_add_delegator_has_the_given_terms() -> None:
    validator = platform.validator(weight=CONFIG.min_delegator_stake)
    into = some_state(stakers=stakers(staker(end=platform.NOW + 300 * DAY)))

    tx = transactions.build_add_delegator(rich(), validator, reward_address=REWARDED)

    assert tx.unsigned.validator == validator
    assert tx.unsigned.rewards_owner == OutputOwners(0, 1, (REWARDED,))
    assert burned(tx, into) == CONFIG.fees.add_primary_network_delegator
    assert into.stakers.get(tx.tx_id) is not None


def test_permissionless_validator_has_the_given_terms() -> None:
    into = some_state()

    tx = transactions.build_add_permissionless_validator(
        rich(),
        platform.validator(),
        signer=platform.proof_of_possession(),
        validation_rewards_owner=platform.owners(ONE, TWO),
        delegation_rewards_owner=platform.owners(THREE),
        shares=20_000,
    )

    assert tx.unsigned.subnet_id == PRIMARY_NETWORK_ID
    assert tx.unsigned.signer == platform.proof_of_possession()
    assert tx.unsigned.validation_rewards_owner == platform.owners(ONE, TWO)
    assert tx.unsigned.delegation_rewards_owner == platform.owners(THREE)
    assert burned(tx, into) == CONFIG.fees.add_primary_network_validator


def test_control_keys_of_a_subnet_are_sorted() -> None:
    into = some_state()

    tx = transactions.build_create_subnet(rich(), control_keys=[THREE, ONE, TWO], threshold=2)

    assert tx.unsigned.owner == SUBNET_OWNER
    assert burned(tx, into) == CONFIG.fees.create_subnet
    assert into.subnets.owner(tx.tx_id) == SUBNET_OWNER


def test_a_subnet_without_enough_control_keys_is_not_built() -> None:
    with raises(UtxoReason.UNSPENDABLE_OUTPUT, kind=InvalidTx, match=r"^output is unspendable$"):
        transactions.build_create_subnet(rich(), control_keys=[ONE], threshold=2)


def test_a_subnet_with_a_control_key_twice_is_not_built() -> None:
    with raises(
        UtxoReason.ADDRESSES_NOT_SORTED, kind=InvalidTx, match=r"^addresses not sorted and unique$"
    ):
        transactions.build_create_subnet(rich(), control_keys=[ONE, ONE], threshold=1)


def test_a_subnets_owner_signs_for_its_validator() -> None:
    into = with_subnet()

    tx = transactions.build_add_subnet_validator(
        rich(KEY_1, KEY_3), platform.subnet_validator(), state=into
    )

    assert tx.unsigned.validator == platform.subnet_validator()
    assert tx.unsigned.subnet_authorization.signature_indices == (0, 2)
    assert burned(tx, into) == CONFIG.fees.add_subnet_validator
    assert into.stakers.get(tx.tx_id) is not None


def test_key_that_pays_and_authorizes_signs_once() -> None:
    tx = transactions.build_add_subnet_validator(
        rich(KEY_1, KEY_2), platform.subnet_validator(), state=with_subnet()
    )

    paying, authorizing = tx.credentials
    assert isinstance(paying, SignatureCredential)
    assert isinstance(authorizing, SignatureCredential)
    assert paying.signatures == authorizing.signatures[:1]
    assert len(authorizing.signatures) == 2


def test_too_few_control_keys_authorize_nothing() -> None:
    with raises(WalletReason.CANNOT_SIGN, kind=NotBuilt) as refused:
        transactions.build_add_subnet_validator(
            rich(), platform.subnet_validator(), state=with_subnet()
        )

    assert str(refused.value) == "couldn't authorize tx's subnet restrictions: can't sign"


def test_control_keys_that_must_not_sign_yet_authorize_nothing() -> None:
    later = replace(SUBNET_OWNER, locktime=platform.NOW + 1)

    with raises(WalletReason.CANNOT_SIGN, kind=NotBuilt):
        transactions.build_add_subnet_validator(
            rich(KEY_1, KEY_2),
            platform.subnet_validator(),
            state=with_subnet(owners={platform.SUBNET_ID: later}),
        )


def test_a_subnet_that_does_not_exist_authorizes_nothing() -> None:
    with raises(WalletReason.SUBNET_MISSING, kind=NotBuilt) as refused:
        transactions.build_add_subnet_validator(
            rich(), platform.subnet_validator(), state=some_state()
        )

    assert str(refused.value) == (
        "couldn't authorize tx's subnet restrictions: failed to fetch subnet "
        f"{platform.SUBNET_ID}: not found"
    )


def test_a_transaction_that_created_no_subnet_authorizes_nothing() -> None:
    into = some_state()
    other = transactions.build_add_validator(
        rich(), platform.validator(), reward_address=REWARDED, shares=20_000
    )
    into.accept(executed(other, into))
    validator = platform.subnet_validator(subnet_id=other.tx_id)

    with raises(WalletReason.NOT_A_SUBNET, kind=NotBuilt) as refused:
        transactions.build_add_subnet_validator(rich(), validator, state=into)

    assert str(refused.value) == (
        "couldn't authorize tx's subnet restrictions: "
        "expected tx type *txs.CreateSubnetTx but got *txs.AddValidatorTx"
    )


def test_the_primary_network_has_no_permissioned_validators() -> None:
    with raises(WalletReason.SUBNET_VALIDATOR_OF_PRIMARY_NETWORK, kind=WalletError) as refused:
        transactions.build_add_subnet_validator(
            rich(),
            platform.subnet_validator(subnet_id=PRIMARY_NETWORK_ID),
            state=some_state(),
        )

    assert str(refused.value) == "subnet validator attempts to validate primary network"


def chain(**changes: Any) -> dict[str, Any]:
    fields = {
        "subnet_id": platform.SUBNET_ID,
        "name": "A chain",
        "vm_id": EVM_ID,
        "fx_ids": (),
        "genesis_data": b"genesis",
        "state": with_subnet(),
    }
    return {**fields, **changes}


def test_create_chain_has_the_given_terms() -> None:
    into = with_subnet()

    tx = transactions.build_create_chain(rich(KEY_2, KEY_1), **chain(state=into))

    assert (tx.unsigned.chain_name, tx.unsigned.vm_id) == ("A chain", EVM_ID)
    assert tx.unsigned.genesis_data == b"genesis"
    assert tx.unsigned.fx_ids == ()
    assert burned(tx, into) == CONFIG.fees.create_blockchain
    assert into.subnets.of_blockchain(tx.tx_id) == platform.SUBNET_ID


def test_feature_extensions_are_put_in_order() -> None:
    wanted = sorted((NFT_FX_ID, SECP256K1_FX_ID), reverse=True)

    tx = transactions.build_create_chain(rich(KEY_2, KEY_1), **chain(fx_ids=wanted))

    assert tx.unsigned.fx_ids == tuple(sorted(wanted))


def test_the_avm_gets_the_extension_for_transfers() -> None:
    keys = rich(KEY_2, KEY_1)

    without = transactions.build_create_chain(keys, **chain(vm_id=AVM_ID, fx_ids=[NFT_FX_ID]))
    with_it = transactions.build_create_chain(
        keys, **chain(vm_id=AVM_ID, fx_ids=[NFT_FX_ID, SECP256K1_FX_ID])
    )

    assert without.unsigned.fx_ids == tuple(sorted((NFT_FX_ID, SECP256K1_FX_ID)))
    assert with_it.unsigned.fx_ids == without.unsigned.fx_ids


def test_the_primary_network_gets_no_blockchains() -> None:
    with raises(WalletReason.CHAIN_OF_PRIMARY_NETWORK, kind=WalletError) as refused:
        transactions.build_create_chain(rich(), **chain(subnet_id=PRIMARY_NETWORK_ID))

    assert str(refused.value) == "new blockchain can't be validated by primary network"


def test_a_blockchain_with_an_illegal_name_is_not_built() -> None:
    with raises(TxSyntaxReason.ILLEGAL_CHAIN_NAME, kind=InvalidTx):
        transactions.build_create_chain(rich(KEY_1, KEY_2), **chain(name="a-chain"))


def test_a_name_that_fits_into_no_field_is_not_built() -> None:
    with raises(CodecReason.UNENCODABLE_VALUE, kind=CodecError):
        transactions.build_create_chain(rich(KEY_1, KEY_2), **chain(name="a" * 70_000))


def test_funds_are_checked_before_the_subnet() -> None:
    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt):
        transactions.build_create_chain(wallet(), **chain(state=some_state()))


def test_a_wallet_does_not_show_its_keys() -> None:
    shown = repr(rich())

    assert KEY_1.hex() not in shown
    assert repr(KEY_1) not in shown
