"""The local network's own validator is always renewed."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from platform_app import models, renewal
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import DAY, UNIT
from platform_app.memory.stakers import ValidatorRecord
from platform_app.renewal import MAX_COINS, PAUSE
from platform_app.selectors import accepted, coins, own_stake, stakers
from platform_app.services.mempool import LARGEST_TX
from platform_app.services.vm import OwnTxs
from platform_app.store import mempool
from platform_app.txs.base import BaseTx, Tx, inner_output
from platform_app.txs.staking import AddPermissionlessValidatorTx
from platform_app.wallet.moving import build_transfer
from platform_app.wallet.transactions import build_add_validator
from platform_app.wallet.wallet import PlatformWallet
from primitives.ids import NodeID, ShortID
from primitives.keys import EWOQ_KEY, VMRQ_KEY, address_of
from tests.builders import own_node, platform
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import EWOQ, PChain
from utxo.coins import Keychain

VMRQ = address_of(VMRQ_KEY)
CONFIG = platform.CONFIG
YEAR = 365 * DAY
BY_CONTRACT = 1
"""Statements that a block needs to check whether a renewal is due."""
WHILE_IT_WAITS = 3
"""Statements of such a check between two attempts."""


def renewal_of_this_node() -> OwnTxs:
    """Return the source of this node's renewals, on a local network."""
    own = platform_runtime().vm.own
    assert own is not None
    return own


def renewed(pchain: PChain) -> Tx | None:
    """Propose a renewal as the block builder does."""
    return renewal_of_this_node().propose(now=pchain.now)


def end_stay(pchain: PChain) -> ValidatorRecord:
    """End this node's staking period, and do nothing else; return the ended validator."""
    stay = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    pchain.now = stay.end
    platform_runtime().consensus.produce(now=pchain.now)
    assert not own_stake.is_validator(platform_chain(), pchain.node_id)
    return stay


def wallet_of(pchain: PChain, key: bytes) -> PlatformWallet:
    address = address_of(key)
    return PlatformWallet(
        config=CONFIG,
        asset_id=pchain.asset_id,
        keychain=Keychain.of([key]),
        utxos=coins.coins_of(platform_chain(), [address]),
        change_address=address,
        now=pchain.now,
    )


def give_away(pchain: PChain, *, but: int) -> None:
    """Take all but `but` of vmRQ's coins with its publicly known key, in a block."""
    wallet = wallet_of(pchain, VMRQ_KEY)
    total = sum(inner_output(utxo.output).amount for utxo in wallet.utxos)
    tx = build_transfer(wallet, amount=total - but - CONFIG.fees.tx, to=EWOQ)
    into_block_alone(pchain, tx)


def into_block_alone(pchain: PChain, tx: Tx) -> None:
    """Put a transaction into a block without a preceding renewal."""
    pchain.issue(tx)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(platform_runtime().vm, "own", None)
        platform_runtime().consensus.produce(now=pchain.now)


def give(pchain: PChain, *amounts: int, owners: Sequence[ShortID] = ()) -> None:
    """Give vmRQ some of ewoq's coins in a block; with more owners they are locked, and each owner may sign."""
    lock = pchain.now + 10 * YEAR if owners else None
    everybody = sorted([VMRQ, *owners])
    made = (pchain.output(amount, *everybody, stakeable_until=lock) for amount in amounts)
    into_block_alone(pchain, pchain.make(BaseTx, *made))


def said_by(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the renewal's log messages."""
    return [record.getMessage() for record in caplog.records if record.name == renewal.__name__]


def scheduled(pchain: PChain, node_id: NodeID, *, rewarded: ShortID = EWOQ) -> Tx:
    """Return a transaction of ewoq that makes a node a validator in a minute, without a BLS key."""
    period = platform.validator(
        node_id=node_id,
        start=pchain.now + 60,
        end=pchain.now + 30 * DAY,
        weight=CONFIG.min_validator_stake,
    )
    return build_add_validator(
        wallet_of(pchain, EWOQ_KEY), period, reward_address=rewarded, shares=50_000
    )


def test_after_its_end_this_node_validates_again_on_the_same_terms(pchain: PChain) -> None:
    first = stakers.current_validators(platform_chain()).by_node[pchain.node_id]

    pchain.now = first.end
    pchain.build()

    again = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    assert (again.start, again.end) == (first.end, first.end + YEAR)
    same = (
        "weight", "shares", "public_key", "proof_of_possession", "rewards_owner",
        "delegation_rewards_owner",
    )  # fmt: skip
    for name in same:
        assert getattr(again, name) == getattr(first, name), name
    assert again.tx_id != first.tx_id


def test_renewed_stake_belongs_to_vmrq_and_rewards_to_ewoq(pchain: PChain) -> None:
    end_stay(pchain)

    tx = renewed(pchain)

    assert tx is not None
    assert isinstance(tx.unsigned, AddPermissionlessValidatorTx)
    assert {inner_output(item.output).owners.addresses for item in tx.unsigned.stake} == {(VMRQ,)}
    assert tx.unsigned.validation_rewards_owner.addresses == (EWOQ,)  # type: ignore[attr-defined]


def test_a_renewal_is_nowhere_but_in_its_block(pchain: PChain) -> None:
    end_stay(pchain)

    tx = renewed(pchain)

    assert tx is not None
    assert list(mempool.oldest_first(platform_chain().db)) == []
    renewal_of_this_node().undo()
    (block,) = pchain.build()
    assert block.txs == (tx,)


def test_renewal_continues_after_a_long_pause(pchain: PChain) -> None:
    pchain.wait(5 * YEAR)

    again = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    assert (again.start, again.end) == (pchain.now, pchain.now + YEAR)


def test_validator_renews_every_year(pchain: PChain) -> None:
    for _ in range(4):
        stay = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
        pchain.now = stay.end
        pchain.build()

    stays = models.Staker.objects.filter(node_id=pchain.node_id).order_by("position")
    assert [stay.phase for stay in stays] == [*[models.Phase.PAST] * 4, models.Phase.CURRENT]
    assert len({stay.weight for stay in stays}) == 1


def test_while_nothing_is_due_it_costs_one_statement(
    pchain: PChain, django_assert_num_queries: object
) -> None:
    with transaction.atomic(), django_assert_num_queries(BY_CONTRACT):  # type: ignore[operator]
        assert renewal_of_this_node().propose(now=pchain.now) is None


@pytest.mark.parametrize("network_id", [1, 5, 54321])
def test_other_networks_are_not_renewed(pchain: PChain, settings: Any, network_id: int) -> None:
    end_stay(pchain)
    assert platform_runtime().vm.own is not None

    settings.NODE = updated(settings.NODE, network_id=network_id)

    assert platform_runtime().vm.own is None


def test_a_renewal_that_waits_is_not_made_again(pchain: PChain) -> None:
    end_stay(pchain)
    tx = renewed(pchain)
    assert tx is not None
    pchain.issue(tx)
    renewal_of_this_node().undo()

    assert renewed(pchain) is None
    assert list(mempool.oldest_first(platform_chain().db)) == [tx]


def test_pending_validator_transaction_prevents_renewal(pchain: PChain) -> None:
    end_stay(pchain)
    tx = scheduled(pchain, pchain.node_id)
    pchain.issue(tx)

    assert renewed(pchain) is None
    platform_runtime().consensus.produce(now=pchain.now)
    assert renewed(pchain) is None
    pchain.wait(60)
    assert stakers.current_validators(platform_chain()).by_node[pchain.node_id].tx_id == tx.tx_id


def test_renewal_after_a_period_without_bls_key_uses_the_earlier_key(pchain: PChain) -> None:
    first = end_stay(pchain)
    pchain.issue(scheduled(pchain, pchain.node_id))
    platform_runtime().consensus.produce(now=pchain.now)
    pchain.wait(60)
    assert end_stay(pchain).public_key is None

    pchain.build()

    again = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    assert again.public_key == first.public_key
    assert again.weight == CONFIG.min_validator_stake
    assert again.shares == 50_000


@pytest.mark.parametrize("named", [False, True])
def test_pending_transaction_of_another_node_does_not_prevent_renewal(
    pchain: PChain, *, named: bool
) -> None:
    """Not even a transaction that contains this node's ID in another field."""
    end_stay(pchain)
    rewarded = ShortID(bytes(pchain.node_id)) if named else EWOQ
    pchain.issue(scheduled(pchain, platform.NODE_ID, rewarded=rewarded))

    assert renewed(pchain) is not None


def test_a_node_that_never_staked_has_nothing_to_renew(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = NodeID(b"stranger".ljust(20))
    with monkeypatch.context() as patched:
        own_node.be(patched, stranger)
        assert renewed(pchain) is None

    assert list(mempool.oldest_first(platform_chain().db)) == []


def test_with_less_left_it_stakes_less(pchain: PChain) -> None:
    end_stay(pchain)
    give_away(pchain, but=3_000 * UNIT)

    pchain.build()

    again = stakers.current_validators(platform_chain()).by_node[pchain.node_id]
    assert again.weight == 3_000 * UNIT


def test_renewed_stake_is_limited_by_the_network(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_stay(pchain)
    less = replace(CONFIG, max_validator_stake=5_000 * UNIT)
    with monkeypatch.context() as patched:
        patched.setattr(platform_chain(), "config", less)
        tx = renewed(pchain)

    assert tx is not None
    assert tx.unsigned.validator.weight == 5_000 * UNIT  # type: ignore[attr-defined]


def test_renewal_without_funds_is_logged_once(
    pchain: PChain, caplog: pytest.LogCaptureFixture
) -> None:
    end_stay(pchain)
    give_away(pchain, but=CONFIG.min_validator_stake - 2)
    caplog.clear()
    caplog.set_level(logging.WARNING)

    assert renewed(pchain) is None
    give(pchain, 1)
    assert renewed(pchain) is None

    assert list(mempool.oldest_first(platform_chain().db)) == []
    (said,) = said_by(caplog)
    left, least = CONFIG.min_validator_stake - 2, CONFIG.min_validator_stake
    assert said == (
        f"{pchain.node_id} cannot become a validator again: couldn't generate tx inputs/outputs: "
        f"provided keys have balance (unlocked, locked) (0, {left}) but need (0, {least})"
    )


def test_renewal_avoids_coins_being_spent(pchain: PChain) -> None:
    end_stay(pchain)
    wallet = wallet_of(pchain, VMRQ_KEY)
    tx = build_transfer(wallet, amount=UNIT, to=EWOQ)
    pchain.issue(tx)

    assert renewed(pchain) is None
    assert list(mempool.oldest_first(platform_chain().db)) == [tx]
    pchain.build()
    pchain.now += 1
    pchain.build()
    assert own_stake.is_validator(platform_chain(), pchain.node_id)


def test_invalid_renewal_is_not_pooled(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    end_stay(pchain)
    strict = replace(CONFIG, min_delegation_fee=1_000_000)
    with monkeypatch.context() as patched:
        patched.setattr(platform_chain(), "config", strict)
        assert renewed(pchain) is None

    assert list(mempool.oldest_first(platform_chain().db)) == []
    assert "staker charges an insufficient delegation fee" in caplog.text


def test_renewal_stakes_the_largest_coins_that_fit(
    pchain: PChain,
) -> None:
    end_stay(pchain)
    give_away(pchain, but=0)
    give(pchain, *[19 * UNIT] * 250)
    give(pchain, *[20 * UNIT] * (MAX_COINS - 1))

    tx = renewed(pchain)

    assert tx is not None
    assert tx.unsigned.validator.weight == 20 * UNIT * (MAX_COINS - 1) + 19 * UNIT  # type: ignore[attr-defined]
    assert LARGEST_TX // 2 < len(tx.raw) <= LARGEST_TX
    renewal_of_this_node().undo()
    pchain.build()
    assert own_stake.is_validator(platform_chain(), pchain.node_id)


def test_any_number_of_tiny_coins_stops_nothing(pchain: PChain) -> None:
    """One transaction that spends all of them would exceed the maximum size."""
    end_stay(pchain)
    give_away(pchain, but=0)
    for _ in range(3):
        give(pchain, *[1] * 700)
    tx = pchain.make()
    pchain.issue(tx)

    pchain.build()

    assert accepted.tx(platform_chain(), tx.tx_id) is not None
    assert not own_stake.is_validator(platform_chain(), pchain.node_id)


@pytest.mark.parametrize(
    ("count", "reason"),
    [(4, "tx too large: "), (14, "byte array exceeds maximum length: ")],
    ids=["mempool", "codec"],
)
def test_coins_of_a_thousand_owners_stop_nothing(
    pchain: PChain, caplog: pytest.LogCaptureFixture, count: int, reason: str
) -> None:
    """Stake from a locked coin keeps its owners: a few such coins make a large transaction."""
    end_stay(pchain)
    give_away(pchain, but=0)
    crowd = [ShortID(bytes([1]) + number.to_bytes(19, "big")) for number in range(1_000)]
    for start in range(0, count, 2):
        give(pchain, *[1_000 * UNIT] * min(2, count - start), owners=crowd)
    tx = pchain.make()
    pchain.issue(tx)
    caplog.clear()

    pchain.build()

    assert accepted.tx(platform_chain(), tx.tx_id) is not None
    assert not own_stake.is_validator(platform_chain(), pchain.node_id)
    (said,) = said_by(caplog)
    assert reason in said


def test_coins_of_several_owners_do_not_hide_own_coins(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_stay(pchain)
    give_away(pchain, but=3_000 * UNIT)
    closed = [
        pchain.output(4_000 * UNIT, VMRQ, EWOQ, threshold=2),
        pchain.output(4_000 * UNIT, VMRQ, locktime=pchain.now + YEAR),
    ]
    into_block_alone(pchain, pchain.make(BaseTx, *closed))
    monkeypatch.setattr(renewal, "MAX_COINS", 1)

    tx = renewed(pchain)

    assert tx is not None
    assert tx.unsigned.validator.weight == 3_000 * UNIT  # type: ignore[attr-defined]


def test_impossible_renewal_is_retried_at_intervals(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    seconds = [0.0]
    monkeypatch.setattr(renewal, "monotonic", lambda: seconds[0])
    end_stay(pchain)
    spends_all = build_transfer(wallet_of(pchain, VMRQ_KEY), amount=UNIT, to=EWOQ)
    pchain.issue(spends_all)
    assert renewed(pchain) is None
    mempool.remove(platform_chain().db, [spends_all.tx_id])

    seconds[0] = PAUSE - 1
    with transaction.atomic(), django_assert_max_num_queries(WHILE_IT_WAITS):
        assert renewal_of_this_node().propose(now=pchain.now) is None
    seconds[0] = PAUSE
    assert renewed(pchain) is not None


def test_renewal_is_repeated_after_an_abandoned_block(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "monotonic", lambda: 0.0)
    end_stay(pchain)
    spends_all = build_transfer(wallet_of(pchain, VMRQ_KEY), amount=UNIT, to=EWOQ)
    pchain.issue(spends_all)
    assert renewed(pchain) is None
    mempool.remove(platform_chain().db, [spends_all.tx_id])
    assert renewed(pchain) is None

    renewal_of_this_node().undo()

    assert renewed(pchain) is not None


def test_recurring_renewal_failure_is_logged_again(
    pchain: PChain, caplog: pytest.LogCaptureFixture
) -> None:
    end_stay(pchain)
    give_away(pchain, but=0)
    assert renewed(pchain) is None
    give(pchain, 2_000 * UNIT)
    pchain.build()
    end_stay(pchain)
    give_away(pchain, but=0)
    assert renewed(pchain) is None

    assert len(said_by(caplog)) == 2


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_node_without_certificate_builds_blocks(
    pchain: PChain,
    settings: Any,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    content: str | None,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if content is not None:
        elsewhere.write_text(content)
    settings.NODE = updated(settings.NODE, staking_cert_file=str(elsewhere))

    pchain.do(pchain.make())
    pchain.do(pchain.make())

    (said,) = said_by(caplog)
    assert said.startswith(
        "the block producer needs the node's certificate to renew its staking period: "
    )
