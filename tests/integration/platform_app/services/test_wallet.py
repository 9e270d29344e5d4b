"""Transactions issued by keystore users are built from their coins, signed with their keys, and accepted."""

from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.config import DAY, UNIT
from platform_app.executor.errors import StakerReason
from platform_app.selectors import accepted as rows
from platform_app.selectors import coins, outputs, stakers, subnets
from platform_app.services import keystore, wallet
from platform_app.services.errors import ConflictingTx, IssueReason, RefusedIssue
from platform_app.services.wallet import Payer
from platform_app.store import mempool
from platform_app.txs.base import TxStatus, inner_output
from platform_app.txs.errors import TxSyntaxReason
from platform_app.wallet.errors import (
    KeystoreError,
    KeystoreReason,
    TxNotCreated,
    WalletError,
    WalletReason,
)
from primitives.codec_errors import CodecReason
from primitives.ids import EVM_ID, ID, PRIMARY_NETWORK_ID
from primitives.keys import EWOQ_KEY
from tests.builders import platform, shared_outputs
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.node_settings import updated
from tests.builders.reasons import raises, reason_of
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.services.paying import (
    ADDRESS,
    EWOQ,
    FEES,
    KEY,
    OTHER,
    PAYER,
    STAKE,
    accepted,
    delegator,
    funded,
    period,
    validator,
)
from utxo.errors import InvalidTx, UtxoReason


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


@pytest.fixture
def rich(pchain: PChain) -> PChain:
    """A chain with a user who has ewoq's key."""
    some_user(EWOQ_KEY)
    return pchain


def test_a_validator_waits_and_then_validates(rich: PChain) -> None:
    issued = wallet.add_validator(platform_chain(), PAYER, **validator(rich))

    assert issued.change_address == EWOQ
    assert rows.status(platform_chain(), issued.tx_id).status is TxStatus.PROCESSING
    tx = accepted(rich, issued)
    assert tx.unsigned.rewards_owner.addresses == (ADDRESS,)
    assert tx.unsigned.shares == 20_000
    assert [item.tx_id for item in stakers.pending_stakers(platform_chain()).validators] == [
        issued.tx_id
    ]
    rich.wait(60)
    assert platform.NODE_ID in stakers.current_validators(platform_chain()).by_node


def test_missing_node_id_means_this_node(rich: PChain) -> None:
    issued = wallet.add_delegator(platform_chain(), PAYER, **delegator(rich))

    assert accepted(rich, issued).unsigned.validator.node_id == rich.node_id


def test_validator_without_start_starts_immediately(rich: PChain) -> None:
    issued = wallet.add_validator(platform_chain(), PAYER, **validator(rich, start=0))

    assert accepted(rich, issued).unsigned.validator.start == 0
    assert stakers.current_validators(platform_chain()).by_node[platform.NODE_ID].start == rich.now


def test_subnet_validator_without_start_starts_immediately(rich: PChain) -> None:
    created = wallet.create_subnet(
        platform_chain(), PAYER, control_keys=[EWOQ], threshold=1, now=rich.now
    )
    accepted(rich, created)
    terms = period(rich, start=0)
    accepted(
        rich,
        wallet.add_subnet_validator(
            platform_chain(), PAYER, subnet_id=created.tx_id, weight=20, **terms
        ),
    )

    (begun,) = stakers.current_validators(platform_chain(), created.tx_id).validators
    assert (begun.start, begun.end) == (rich.now, terms["end"])


def test_a_subnet_its_validator_and_its_blockchain(rich: PChain) -> None:
    created = wallet.create_subnet(
        platform_chain(), PAYER, control_keys=[EWOQ, ADDRESS], threshold=1, now=rich.now
    )
    accepted(rich, created)
    added = wallet.add_subnet_validator(
        platform_chain(), PAYER, subnet_id=created.tx_id, weight=20, **period(rich)
    )
    accepted(rich, added)
    chain_issued = wallet.create_blockchain(
        platform_chain(),
        PAYER,
        subnet_id=created.tx_id,
        name="A chain",
        vm_id=EVM_ID,
        fx_ids=[],
        genesis_data=b"{}",
        now=rich.now,
    )
    accepted(rich, chain_issued)

    found = subnets.subnet(platform_chain(), created.tx_id)
    assert found is not None
    assert set(found.owner.addresses) == {EWOQ, ADDRESS}
    assert len(stakers.pending_stakers(platform_chain(), created.tx_id).validators) == 1
    assert [
        blockchain.name for blockchain in subnets.blockchains(platform_chain(), created.tx_id)
    ] == ["A chain"]


def test_funds_do_not_leave_for_a_chain_that_cannot_import_them(
    rich: PChain, settings: Any
) -> None:
    settings.NODE = updated(settings.NODE, chains=("P", "C"))
    with raises(IssueReason.NOTHING_IMPORTS, kind=RefusedIssue) as refused:
        wallet.export_avax(
            platform_chain(),
            PAYER,
            amount=UNIT,
            to=ADDRESS,
            destination_chain=rich.network.x_chain_id,
            now=rich.now,
        )

    assert str(refused.value).startswith("this node runs no X-Chain (NODE_CHAINS)")
    assert list(mempool.oldest_first(platform_chain().db)) == []


def test_import_credits_funds_of_another_chain(rich: PChain) -> None:
    x_chain = rich.network.x_chain_id
    coming = platform.utxo(3 * UNIT, EWOQ, asset_id=rich.asset_id)
    shared_outputs.receive(platform_chain().db, x_chain, [coming], 1)
    imported = wallet.import_avax(
        platform_chain(), PAYER, source_chain=x_chain, to=OTHER, now=rich.now
    )

    accepted(rich, imported)
    assert (
        outputs.balance(platform_chain(), [OTHER], now=rich.now).funds[rich.asset_id].total
        == 3 * UNIT - FEES.tx
    )
    assert outputs.utxos_of(platform_chain(), [EWOQ], source_chain=x_chain).utxos == []


def test_nothing_to_import_is_refused(rich: PChain) -> None:
    with pytest.raises(TxNotCreated) as refused:
        wallet.import_avax(
            platform_chain(), PAYER, source_chain=rich.network.x_chain_id, to=OTHER, now=rich.now
        )

    assert str(refused.value) == "couldn't create tx: no spendable funds were found"
    assert reason_of(refused.value.values["cause"]) is WalletReason.NO_IMPORTABLE_FUNDS


def test_change_is_sent_to_the_given_address(rich: PChain) -> None:
    payer = Payer(NAME, PASSWORD, change_address=OTHER)

    issued = wallet.create_subnet(
        platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=rich.now
    )

    assert issued.change_address == OTHER
    (change,) = accepted(rich, issued).unsigned.outputs
    assert inner_output(change.output).owners.addresses == (OTHER,)


def test_only_named_addresses_pay(pchain: PChain) -> None:
    funded(pchain, 5 * UNIT)
    some_user(EWOQ_KEY, KEY)
    payer = Payer(NAME, PASSWORD, addresses=[ADDRESS, OTHER])

    issued = wallet.create_subnet(
        platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
    )

    assert issued.change_address == ADDRESS
    tx = accepted(pchain, issued)
    (change,) = tx.unsigned.outputs
    assert inner_output(change.output).amount == 5 * UNIT - FEES.create_subnet


def test_user_without_keys_is_refused(pchain: PChain) -> None:
    some_user()

    with raises(KeystoreReason.NO_KEYS, kind=KeystoreError) as refused:
        wallet.create_subnet(
            platform_chain(), PAYER, control_keys=[EWOQ], threshold=1, now=pchain.now
        )

    assert str(refused.value) == "user has no keys or funds"


def test_payer_without_the_named_addresses_is_refused(rich: PChain) -> None:
    payer = Payer(NAME, PASSWORD, addresses=[OTHER])

    with raises(KeystoreReason.NO_KEYS, kind=KeystoreError):
        wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=rich.now
        )


def test_a_wrong_password_pays_nothing(rich: PChain) -> None:
    payer = Payer(NAME, "wrong")

    with raises(KeystoreReason.USER_NOT_RETRIEVED, kind=KeystoreError) as refused:
        wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=rich.now
        )

    assert str(refused.value) == ('problem retrieving user "anna": incorrect password: user "anna"')


def test_insufficient_funds_are_refused_with_avalanchegos_message(pchain: PChain) -> None:
    payer = funded(pchain, 3 * UNIT, UNIT)

    with pytest.raises(TxNotCreated) as refused:
        wallet.add_validator(platform_chain(), payer, **validator(pchain))

    assert reason_of(refused.value.values["cause"]) is WalletReason.NOT_ENOUGH_COINS
    assert str(refused.value) == (
        "couldn't create tx: couldn't generate tx inputs/outputs: provided keys have balance "
        f"(unlocked, locked) (0, {4 * UNIT}) but need (0, {STAKE})"
    )
    assert list(mempool.oldest_first(platform_chain().db)) == []


def test_larger_coins_are_taken_first(pchain: PChain) -> None:
    payer = funded(pchain, 10 * UNIT, 30 * UNIT, 20 * UNIT)

    issued = wallet.add_delegator(platform_chain(), payer, **delegator(pchain, stake=40 * UNIT))

    spent = accepted(pchain, issued).unsigned.inputs
    assert sorted(spent_input.input.amount for spent_input in spent) == [20 * UNIT, 30 * UNIT]


def test_coins_that_are_being_spent_are_taken_last(pchain: PChain) -> None:
    payer = funded(pchain, UNIT, 3 * UNIT)
    issued = [
        wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
        )
        for _ in range(2)
    ]

    with pytest.raises(ConflictingTx):
        wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
        )

    for item in issued:
        accepted(pchain, item)


def test_more_coins_than_a_page_are_read(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    funded(pchain, *range(UNIT, UNIT + 7))
    utxos_of = outputs.utxos_of
    monkeypatch.setattr(coins, "PAGE", 3)
    monkeypatch.setattr(
        outputs, "utxos_of", lambda *arguments, **rest: utxos_of(*arguments, limit=3, **rest)
    )

    amounts = [
        inner_output(coin.output).amount for coin in coins.coins_of(platform_chain(), [ADDRESS])
    ]

    assert amounts == list(range(UNIT + 6, UNIT - 1, -1))


def test_address_without_outputs_has_no_coins(pchain: PChain) -> None:
    assert pchain.coins(OTHER) == []
    assert coins.coins_of(platform_chain(), [OTHER]) == []


def test_coins_of_several_of_the_keys_are_there_once(pchain: PChain) -> None:
    pchain.do(pchain.make(platform.BaseTx, pchain.output(UNIT, ADDRESS, OTHER)))

    assert len(coins.coins_of(platform_chain(), [ADDRESS, OTHER])) == 1


TERMS = {
    "start too soon": (
        {"start": 19},
        WalletReason.START_TOO_SOON,
        "start time must be at least 20s in the future",
    ),
    "start too late": (
        {"start": 14 * DAY + 1},
        WalletReason.START_TOO_FAR,
        "start time is too far in the future",
    ),
}


@pytest.mark.parametrize(("ahead", "reason", "words"), TERMS.values(), ids=TERMS)
def test_staking_terms_are_checked_before_the_password(
    pchain: PChain, ahead: dict[str, int], reason: WalletReason, words: str
) -> None:
    nobody = Payer("", "")
    times = period(pchain, start=pchain.now + ahead["start"])
    for refuse in (
        lambda: wallet.add_validator(platform_chain(), nobody, **validator(pchain, **times)),
        lambda: wallet.add_delegator(platform_chain(), nobody, **delegator(pchain, **times)),
        lambda: wallet.add_subnet_validator(
            platform_chain(), nobody, subnet_id=platform.SUBNET_ID, weight=1, **times
        ),
    ):
        with raises(reason, kind=WalletError) as refused:
            refuse()
        assert str(refused.value) == words


def test_other_terms_are_checked_before_the_password(pchain: PChain) -> None:
    nobody = Payer("", "")
    with raises(WalletReason.RATE_OUT_OF_RANGE, kind=WalletError):
        wallet.add_validator(platform_chain(), nobody, **validator(pchain, delegation_fee_rate=101))
    with raises(WalletReason.SUBNET_VALIDATOR_OF_PRIMARY_NETWORK, kind=WalletError):
        wallet.add_subnet_validator(
            platform_chain(), nobody, subnet_id=PRIMARY_NETWORK_ID, weight=1, **period(pchain)
        )
    with raises(WalletReason.CHAIN_OF_PRIMARY_NETWORK, kind=WalletError):
        wallet.create_blockchain(
            platform_chain(),
            nobody,
            subnet_id=PRIMARY_NETWORK_ID,
            name="A chain",
            vm_id=EVM_ID,
            fx_ids=[],
            genesis_data=b"",
            now=pchain.now,
        )
    with raises(WalletReason.ZERO_AMOUNT, kind=WalletError) as refused:
        wallet.export_avax(
            platform_chain(),
            nobody,
            amount=0,
            to=OTHER,
            destination_chain=platform.X_CHAIN_ID,
            now=pchain.now,
        )
    assert str(refused.value) == "argument 'amount' must be > 0"


def test_malformed_transaction_is_not_created(rich: PChain) -> None:
    with pytest.raises(TxNotCreated) as refused:
        wallet.create_subnet(
            platform_chain(), PAYER, control_keys=[EWOQ], threshold=2, now=rich.now
        )

    assert reason_of(refused.value.values["cause"]) is UtxoReason.UNSPENDABLE_OUTPUT
    assert str(refused.value) == "couldn't create tx: output is unspendable"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-chain", TxSyntaxReason.ILLEGAL_CHAIN_NAME),
        ("a" * 70_000, CodecReason.UNENCODABLE_VALUE),
    ],
)
def test_a_blockchain_of_an_illegal_name_is_not_created(
    rich: PChain, name: str, reason: object
) -> None:
    created = wallet.create_subnet(
        platform_chain(), PAYER, control_keys=[EWOQ], threshold=1, now=rich.now
    )
    accepted(rich, created)

    with pytest.raises(TxNotCreated) as refused:
        wallet.create_blockchain(
            platform_chain(),
            PAYER,
            subnet_id=created.tx_id,
            name=name,
            vm_id=EVM_ID,
            fx_ids=[],
            genesis_data=b"",
            now=rich.now,
        )

    assert reason_of(refused.value.values["cause"]) is reason


def test_owner_of_another_subnet_is_not_needed(rich: PChain) -> None:
    created = wallet.create_subnet(
        platform_chain(), PAYER, control_keys=[OTHER], threshold=1, now=rich.now
    )
    accepted(rich, created)

    with pytest.raises(TxNotCreated) as refused:
        wallet.add_subnet_validator(
            platform_chain(), PAYER, subnet_id=created.tx_id, weight=1, **period(rich)
        )

    assert reason_of(refused.value.values["cause"]) is WalletReason.CANNOT_SIGN
    assert str(refused.value) == (
        "couldn't create tx: couldn't authorize tx's subnet restrictions: can't sign"
    )


def test_rule_violation_is_refused_with_its_message(rich: PChain) -> None:
    created = wallet.create_subnet(
        platform_chain(), PAYER, control_keys=[EWOQ], threshold=1, now=rich.now
    )
    accepted(rich, created)

    with raises(StakerReason.STAKE_TOO_LOW, kind=InvalidTx):
        wallet.add_validator(platform_chain(), PAYER, **validator(rich, stake=STAKE - 1))
    with raises(StakerReason.NOT_PRIMARY_VALIDATOR, kind=InvalidTx):
        wallet.add_subnet_validator(
            platform_chain(),
            PAYER,
            subnet_id=created.tx_id,
            weight=1,
            node_id=platform.NODE_ID,
            **period(rich),
        )

    assert list(mempool.oldest_first(platform_chain().db)) == []


def test_locked_coins_are_staked_and_returned_locked(pchain: PChain) -> None:
    until = pchain.now + 400 * DAY
    locked = pchain.output(STAKE + UNIT, ADDRESS, stakeable_until=until)
    pchain.do(pchain.make(platform.BaseTx, locked))
    payer = Payer(some_user(KEY), PASSWORD)

    tx = accepted(pchain, wallet.add_validator(platform_chain(), payer, **validator(pchain)))

    (staked,), (change,) = tx.unsigned.stake, tx.unsigned.outputs
    assert staked == pchain.output(STAKE, ADDRESS, stakeable_until=until)
    assert change == pchain.output(UNIT, ADDRESS, stakeable_until=until)


def test_a_payers_password_does_not_show() -> None:
    assert PASSWORD not in repr(Payer(NAME, PASSWORD))


def test_an_unknown_subnet_is_named(rich: PChain) -> None:
    unknown = ID(bytes(31) + b"\1")

    with pytest.raises(TxNotCreated) as refused:
        wallet.add_subnet_validator(
            platform_chain(), PAYER, subnet_id=unknown, weight=1, **period(rich)
        )

    assert str(refused.value) == (
        "couldn't create tx: couldn't authorize tx's subnet restrictions: "
        f"failed to fetch subnet {unknown}: not found"
    )
    assert keystore.list_users(platform_chain()) == [NAME]
