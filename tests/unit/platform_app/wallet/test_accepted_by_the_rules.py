"""For any coins, the rules accept all transactions of the wallet, and it builds all possible ones."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st

from platform_app.config import DAY, UNIT
from platform_app.executor.standard import execute
from platform_app.state.chain import Diff
from platform_app.txs.base import Tx, inner_output
from platform_app.wallet import moving, transactions
from platform_app.wallet.errors import NotBuilt, WalletReason
from platform_app.wallet.wallet import PlatformWallet
from primitives.ids import EVM_ID
from tests.builders import platform
from tests.builders.platform_state import ENV, MemoryState, staker, stakers, state
from tests.builders.wallet import coins, keychains, wallet
from tests.searching import cases
from utxo.components import UTXO

FEES = platform.CONFIG.fees
OTHER_NODE = platform.NodeID(b"another node".ljust(20))
TO = platform.ADDRESSES[3]


class Wish(NamedTuple):
    """A transaction to build, and the amounts that it needs."""

    name: str
    build: Callable[[PlatformWallet], Tx]
    fee: int
    """Including the transferred amount."""
    stake: int = 0
    stays: int = 0
    """The part of `fee` that an owner on this chain receives."""


def validator(weight: int) -> Wish:
    return Wish(
        "validator",
        lambda one: transactions.build_add_validator(
            one,
            platform.validator(weight=weight, node_id=OTHER_NODE),
            reward_address=TO,
            shares=20_000,
        ),
        FEES.add_primary_network_validator,
        weight,
    )


def permissionless(weight: int) -> Wish:
    return Wish(
        "permissionless validator",
        lambda one: transactions.build_add_permissionless_validator(
            one,
            platform.validator(weight=weight, node_id=OTHER_NODE, start=platform.NOW),
            signer=platform.proof_of_possession(),
            validation_rewards_owner=platform.owners(),
            delegation_rewards_owner=platform.owners(TO),
            shares=20_000,
        ),
        FEES.add_primary_network_validator,
        weight,
    )


def delegator(weight: int) -> Wish:
    return Wish(
        "delegator",
        lambda one: transactions.build_add_delegator(
            one, platform.validator(weight=weight), reward_address=TO
        ),
        FEES.add_primary_network_delegator,
        weight,
    )


def transfer(amount: int) -> Wish:
    return Wish(
        "transfer",
        lambda one: moving.build_transfer(one, amount=amount, to=TO),
        FEES.tx + amount,
        stays=amount,
    )


def export(amount: int) -> Wish:
    return Wish(
        "export",
        lambda one: moving.build_export(
            one, amount=amount, to=TO, destination_chain=platform.X_CHAIN_ID
        ),
        FEES.tx + amount,
    )


SUBNET = Wish(
    "subnet",
    lambda one: transactions.build_create_subnet(one, control_keys=[TO], threshold=1),
    FEES.create_subnet,
)


def wishes() -> st.SearchStrategy[Wish]:
    weights = st.integers(platform.CONFIG.min_validator_stake, 5_000 * UNIT)
    amounts = st.integers(1, 10 * UNIT)
    return st.one_of(
        weights.map(validator),
        weights.map(permissionless),
        st.integers(platform.CONFIG.min_delegator_stake, 3_000 * UNIT).map(delegator),
        amounts.map(transfer),
        amounts.map(export),
        st.just(SUBNET),
    )


def environment(*utxos: UTXO) -> MemoryState:
    """Return a state with these outputs, a validator to delegate to, and a subnet."""
    delegatee = staker(end=platform.NOW + 300 * DAY)
    owner = platform.owners(*platform.ADDRESSES[:2], threshold=2)
    return state(*utxos, stakers=stakers(delegatee), owners={platform.SUBNET_ID: owner})


def accepted(tx: Tx, into: MemoryState) -> None:
    diff = Diff(into)
    execute(tx, diff, ENV)
    into.accept(diff)


def usable(one: PlatformWallet) -> tuple[int, int]:
    """Return the amounts of the staking asset that the keys can spend: unlocked, and locked."""
    sums = [0, 0]
    for utxo in one.utxos:
        owners = inner_output(utxo.output).owners
        held = sum(address in one.keychain.keys for address in owners.addresses)
        if (
            utxo.asset_id == one.asset_id
            and held >= owners.threshold
            and owners.locktime <= one.now
        ):
            locked = getattr(utxo.output, "locktime", 0) > one.now
            sums[locked] += inner_output(utxo.output).amount
    return sums[0], sums[1]


def is_enough(one: PlatformWallet, wish: Wish) -> bool:
    unlocked, locked = usable(one)
    return unlocked >= wish.fee + max(0, wish.stake - locked)


@settings(max_examples=cases(25))
@given(coins(), keychains(), wishes())
def test_built_transaction_is_accepted_and_burns_the_fee(
    held: tuple[UTXO, ...], keys: tuple[bytes, ...], wish: Wish
) -> None:
    one, into = wallet(*held, keys=keys), environment(*held)

    try:
        tx = wish.build(one)
    except NotBuilt as error:
        reason = error.reason
        assert reason is WalletReason.NOT_ENOUGH_COINS
        event(f"too little for a {wish.name}")
        assert not is_enough(one, wish)
        return

    event(f"a {wish.name}")
    assert is_enough(one, wish)
    before = into.unspent()
    accepted(tx, into)
    assert before - into.unspent() == wish.fee - wish.stays + wish.stake


@settings(max_examples=cases(15))
@given(coins(), keychains())
def test_subnet_transaction_of_the_owner_is_accepted(
    held: tuple[UTXO, ...], keys: tuple[bytes, ...]
) -> None:
    one, into = wallet(*held, keys=keys), environment(*held)
    before = into.unspent()

    try:
        added = transactions.build_add_subnet_validator(
            one, platform.subnet_validator(), state=into
        )
    except NotBuilt as error:
        reason = error.reason
        if reason is WalletReason.NOT_ENOUGH_COINS:
            assert usable(one)[0] < FEES.add_subnet_validator
        else:
            assert reason is WalletReason.CANNOT_SIGN
            assert not set(platform.KEYS[:2]) <= set(keys)
        return

    accepted(added, into)
    assert before - into.unspent() == FEES.add_subnet_validator
    left = tuple(into.utxos.values())
    try:
        created = transactions.build_create_chain(
            wallet(*left, keys=keys),
            subnet_id=platform.SUBNET_ID,
            name="A chain",
            vm_id=EVM_ID,
            fx_ids=(),
            genesis_data=b"{}",
            state=into,
        )
    except NotBuilt as error:
        reason = error.reason
        assert reason is WalletReason.NOT_ENOUGH_COINS
        event("too little for a chain")
    else:
        event("a chain")
        accepted(created, into)


@settings(max_examples=cases(15))
@given(coins(), coins(), keychains())
def test_built_import_is_accepted(
    held: tuple[UTXO, ...], exported: tuple[UTXO, ...], keys: tuple[bytes, ...]
) -> None:
    one, into = wallet(*held, keys=keys), environment(*held)
    into.share(platform.C_CHAIN_ID, *exported)

    try:
        tx = moving.build_import(one, exported, source_chain=platform.C_CHAIN_ID, to=TO)
    except NotBuilt as error:
        reason = error.reason
        if reason is WalletReason.NO_IMPORTABLE_FUNDS:
            event("nothing to import")
        else:
            assert reason is WalletReason.NOT_ENOUGH_COINS
            event("too little for the fee")
            assert usable(one)[0] < FEES.tx
        return
    event("an import")
    before = into.unspent()
    gained = sum(
        inner_output(utxo.output).amount
        for utxo in exported
        if utxo.asset_id == platform.ASSET_ID
        and utxo.utxo_id
        in {imported_tx_input.utxo_id for imported_tx_input in tx.unsigned.imported_inputs}
    )
    accepted(tx, into)
    assert before + gained - into.unspent() == FEES.tx
