"""Submission to the mempool: refused transactions and their messages, and the further path of accepted ones."""

from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.blocks import builder as block_builder
from platform_app.config import DAY
from platform_app.executor.errors import MissingUtxo, StakerReason, TxStateReason
from platform_app.selectors import accepted
from platform_app.selectors.accepted import Status
from platform_app.services import mempool
from platform_app.services.errors import (
    ConflictingTx,
    IssueReason,
    MempoolFull,
    RefusedIssue,
    TransactionTooLarge,
)
from platform_app.store import mempool as waiting
from platform_app.txs.base import BaseTx, Tx, TxStatus
from platform_app.txs.staking import RewardValidatorTx
from platform_app.txs.subnets import ImportTx
from tests.builders import platform, shared_outputs
from tests.builders.node_settings import updated
from tests.builders.reasons import raises, reason_of
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import (
    STAKE,
    export,
    payments,
    rival,
    scheduled_validator,
    signed,
    staker_of,
    validator,
)
from tests.integration.platform_app.produced import follow, standard
from utxo.errors import InvalidTx

PROCESSING = Status(TxStatus.PROCESSING)
COMMITTED = Status(TxStatus.COMMITTED)
UNKNOWN = Status(TxStatus.UNKNOWN)


def sizes(txs: list[Tx]) -> int:
    return sum(len(tx.raw) for tx in txs)


def unfunded(number: int = 0) -> Tx:
    """Return a transfer that spends outputs which do not exist."""
    return platform.signed(BaseTx, inputs=platform.spend_all(platform.utxo(number=number)))


def test_admitted_transaction_is_processing_until_its_block(pchain: PChain) -> None:
    tx = pchain.make()
    assert accepted.status(platform_chain(), tx.tx_id) == UNKNOWN

    assert mempool.issue_tx(platform_chain(), tx, now=pchain.now) == tx.tx_id
    assert accepted.status(platform_chain(), tx.tx_id) == PROCESSING

    pchain.build()
    assert accepted.status(platform_chain(), tx.tx_id) == COMMITTED
    assert list(waiting.oldest_first(platform_chain().db)) == []


def test_many_are_answered_in_their_order(pchain: PChain) -> None:
    good = payments(pchain, 3)
    bad = unfunded()

    outcomes = mempool.issue(
        platform_chain(), [good[0], bad, good[1], rival(good[0]), good[2]], now=pchain.now
    )

    assert [reason_of(outcome) for outcome in outcomes] == [
        type(good[0].tx_id), TxStateReason.UTXO_MISSING, type(good[1].tx_id), IssueReason.CONFLICTING_TX, type(good[2].tx_id),
    ]  # fmt: skip
    assert [outcomes[place] for place in (0, 2, 4)] == [tx.tx_id for tx in good]
    assert [tx.tx_id for tx in waiting.oldest_first(platform_chain().db)] == [
        tx.tx_id for tx in good
    ]


def test_pending_transaction_is_acknowledged_again(pchain: PChain) -> None:
    tx = pchain.make()

    assert mempool.issue(platform_chain(), [tx, tx], now=pchain.now) == [tx.tx_id, tx.tx_id]
    assert mempool.issue(platform_chain(), [tx], now=pchain.now) == [tx.tx_id]

    assert [item.tx_id for item in waiting.oldest_first(platform_chain().db)] == [tx.tx_id]


def test_accepted_transaction_is_acknowledged_without_pooling(pchain: PChain) -> None:
    tx = pchain.do(pchain.make())

    assert mempool.issue(platform_chain(), [tx], now=pchain.now) == [tx.tx_id]

    assert accepted.status(platform_chain(), tx.tx_id) == COMMITTED
    assert list(waiting.oldest_first(platform_chain().db)) == []


def test_oversized_transaction_is_refused_without_recording(pchain: PChain) -> None:
    tx = signed(
        platform.unsigned(
            BaseTx,
            inputs=platform.spend_all(pchain.coins()[0]),
            outputs=tuple(pchain.output(1, EWOQ) for _ in range(900)),
        )
    )
    assert len(tx.raw) > mempool.LARGEST_TX

    with pytest.raises(TransactionTooLarge) as refused:
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)

    assert str(refused.value) == (
        f"tx too large: {tx.tx_id} size ({len(tx.raw)}) > max size (65536)"
    )
    assert accepted.status(platform_chain(), tx.tx_id) == UNKNOWN


def test_the_largest_that_is_taken_gets_into_a_block(pchain: PChain) -> None:
    room = mempool.LARGEST_TX
    coin = pchain.coins()[0]

    def of(count: int) -> Tx:
        outputs_made = tuple(pchain.output(1, EWOQ) for _ in range(count))
        return signed(
            platform.unsigned(BaseTx, inputs=platform.spend_all(coin), outputs=outputs_made)
        )

    each = len(of(2).raw) - len(of(1).raw)
    count = (room - len(of(0).raw)) // each
    memo = b"m" * (room - len(of(count).raw))
    tx = rival(of(count), memo)
    assert len(tx.raw) == room <= block_builder.TXS_SIZE_LIMIT

    pchain.do(tx)

    assert accepted.status(platform_chain(), tx.tx_id) == COMMITTED


def test_full_mempool_refuses_without_recording(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = payments(pchain, 3)
    monkeypatch.setattr(mempool, "MAX_BYTES", sizes(txs) - 1)

    *taken, refused = mempool.issue(platform_chain(), txs, now=pchain.now)

    assert taken == [tx.tx_id for tx in txs[:2]]
    size = len(txs[2].raw)
    assert isinstance(refused, MempoolFull)
    assert str(refused) == (
        f"mempool is full: {txs[2].tx_id} size ({size}) > available space ({size - 1})"
    )
    assert accepted.status(platform_chain(), txs[2].tx_id) == UNKNOWN
    with pytest.raises(MempoolFull):  # stored transactions count like those of the same call
        mempool.issue_tx(platform_chain(), txs[2], now=pchain.now)


def test_a_mempool_that_a_block_has_emptied_takes_more(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = payments(pchain, 2)
    monkeypatch.setattr(mempool, "MAX_BYTES", len(txs[0].raw))
    mempool.issue_tx(platform_chain(), txs[0], now=pchain.now)
    with pytest.raises(MempoolFull):
        mempool.issue_tx(platform_chain(), txs[1], now=pchain.now)

    pchain.build()

    assert mempool.issue_tx(platform_chain(), txs[1], now=pchain.now) == txs[1].tx_id


def test_conflicting_transaction_is_refused_without_recording(
    pchain: PChain,
) -> None:
    tx = pchain.make()
    pchain.issue(tx)

    with pytest.raises(ConflictingTx) as refused:
        mempool.issue_tx(platform_chain(), rival(tx), now=pchain.now)

    assert str(refused.value) == f"tx conflicts with other tx: {rival(tx).tx_id}"
    assert accepted.status(platform_chain(), rival(tx).tx_id) == UNKNOWN


def test_two_imports_of_one_output_conflict(pchain: PChain) -> None:
    exported = platform.utxo(platform.UNIT, EWOQ, asset_id=pchain.asset_id)
    shared_outputs.receive(platform_chain().db, pchain.network.x_chain_id, [exported], height=1)
    tx = signed(
        platform.unsigned(
            ImportTx,
            source_chain=pchain.network.x_chain_id,
            imported_inputs=platform.spend_all(exported),
            inputs=(),
            outputs=(pchain.output(platform.UNIT - 10_000, EWOQ),),
        )
    )
    pchain.issue(tx)

    with pytest.raises(ConflictingTx, match=f"tx conflicts with other tx: {rival(tx).tx_id}"):
        mempool.issue_tx(platform_chain(), rival(tx), now=pchain.now)

    pchain.build()
    assert accepted.status(platform_chain(), tx.tx_id) == COMMITTED


def test_after_the_block_a_rival_is_invalid_and_that_is_remembered(pchain: PChain) -> None:
    tx = pchain.make()
    pchain.do(tx)
    (spent,) = tx.unsigned.inputs  # type: ignore[attr-defined]

    with raises(TxStateReason.UTXO_MISSING, kind=MissingUtxo) as refused:
        mempool.issue_tx(platform_chain(), rival(tx), now=pchain.now)

    reason = f"failed to read consumed UTXO {spent.tx_id}:{spent.output_index} due to: not found"
    assert str(refused.value) == reason
    assert accepted.status(platform_chain(), rival(tx).tx_id) == Status(TxStatus.DROPPED, reason)


def test_rules_are_asked_as_of_the_next_blocks_time(pchain: PChain) -> None:
    """A staking period that will be too short in the next block is refused before the block is built."""
    tx = scheduled_validator(pchain, "late", start=60, end=60 + DAY)
    pchain.now += 61

    with raises(
        StakerReason.PERIOD_TOO_SHORT, kind=InvalidTx, match=r"^staking period is too short$"
    ):
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)


def test_staker_pending_past_its_start_starts_with_the_block(pchain: PChain) -> None:
    tx = scheduled_validator(pchain, "late", start=60, end=3 * DAY)
    mempool.issue_tx(platform_chain(), tx, now=pchain.now)
    pchain.wait(70)

    assert staker_of(tx).start_time == pchain.now


def test_broken_rule_is_reported_and_recorded(pchain: PChain) -> None:
    tx = validator(pchain, "poor", end=3 * DAY, weight=STAKE - 1)

    with raises(
        StakerReason.STAKE_TOO_LOW, kind=InvalidTx, match=r"^weight of this validator is too low$"
    ) as refused:
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)

    assert accepted.status(platform_chain(), tx.tx_id) == Status(
        TxStatus.DROPPED, str(refused.value)
    )


def test_proposals_are_never_taken(pchain: PChain) -> None:
    tx = platform.signed(RewardValidatorTx)

    with raises(TxStateReason.WRONG_TX_TYPE, kind=InvalidTx, match=r"^wrong transaction type$"):
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)


def test_dropped_transaction_can_be_issued_again(pchain: PChain) -> None:
    first = pchain.make()
    spending_change = _spending_change(pchain, first)
    with raises(
        TxStateReason.UTXO_MISSING, kind=MissingUtxo
    ):  # it arrived before the transaction that creates its inputs
        mempool.issue_tx(platform_chain(), spending_change, now=pchain.now)
    assert accepted.status(platform_chain(), spending_change.tx_id).status is TxStatus.DROPPED

    pchain.do(first)
    mempool.issue_tx(platform_chain(), spending_change, now=pchain.now)

    assert accepted.status(platform_chain(), spending_change.tx_id) == PROCESSING
    pchain.build()
    assert accepted.status(platform_chain(), spending_change.tx_id) == COMMITTED


def test_export_to_an_absent_chain_is_refused(pchain: PChain, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P", "C"))
    tx = export(pchain, pchain.network.x_chain_id)

    with raises(IssueReason.NOTHING_IMPORTS, kind=RefusedIssue) as refused:
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)

    assert str(refused.value) == (
        f"this node runs no X-Chain (NODE_CHAINS), so the coins that {tx.tx_id} exports could not be imported"
    )
    assert accepted.status(platform_chain(), tx.tx_id) == UNKNOWN


def test_accepted_export_is_acknowledged_again(pchain: PChain) -> None:
    tx = export(pchain, pchain.network.c_chain_id)
    follow(pchain, standard(pchain, tx, after=1))

    assert mempool.issue_tx(platform_chain(), tx, now=pchain.now + 1) == tx.tx_id


def test_peers_may_export_and_so_may_blocks(pchain: PChain) -> None:
    """This node's own rule for its API does not apply, because all nodes of a network must agree about a block."""
    tx = export(pchain, pchain.network.c_chain_id)

    assert mempool.issue(platform_chain(), [tx], now=pchain.now, gossiped=True) == [tx.tx_id]
    assert pchain.wait(1)
    assert accepted.status(platform_chain(), tx.tx_id) == COMMITTED


def _spending_change(pchain: PChain, tx: Tx) -> Tx:
    (change,) = tx.unsigned.outputs  # type: ignore[attr-defined]
    coin = platform.UTXO(tx.tx_id, 0, change.asset_id, change.output)
    made = (pchain.output(platform.UNIT, EWOQ),)
    return signed(platform.unsigned(inputs=platform.spend_all(coin), outputs=made))


def test_only_recent_dropped_transactions_are_recorded(pchain: PChain) -> None:
    txs = [unfunded(number) for number in range(waiting.DROPPED + 1)]

    mempool.issue(platform_chain(), txs, now=pchain.now)

    assert accepted.status(platform_chain(), txs[0].tx_id) == UNKNOWN
    assert all(
        accepted.status(platform_chain(), tx.tx_id).status is TxStatus.DROPPED for tx in txs[1:]
    )


def test_block_after_the_first_check_is_noticed_by_the_second(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx, other = payments(pchain, 2)
    admit = mempool._admit

    def after_a_block(*arguments: Any) -> Any:
        monkeypatch.setattr(mempool, "_admit", admit)
        pchain.do(rival(tx))
        return admit(*arguments)

    monkeypatch.setattr(mempool, "_admit", after_a_block)

    refused, taken = mempool.issue(platform_chain(), [tx, other], now=pchain.now)

    assert reason_of(refused) is TxStateReason.UTXO_MISSING
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.DROPPED
    assert taken == other.tx_id


def test_rival_after_the_first_check_is_noticed_by_the_second(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = pchain.make()
    admit = mempool._admit

    def after_a_rival(*arguments: Any) -> Any:
        monkeypatch.setattr(mempool, "_admit", admit)
        pchain.issue(rival(tx))
        return admit(*arguments)

    monkeypatch.setattr(mempool, "_admit", after_a_rival)

    with pytest.raises(ConflictingTx):
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)

    assert [item.tx_id for item in waiting.oldest_first(platform_chain().db)] == [rival(tx).tx_id]


def test_concurrent_repeated_issue_is_acknowledged(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = pchain.make()
    known = waiting.known

    def before_it_came(db: Any, tx_ids: Any) -> Any:
        monkeypatch.setattr(waiting, "known", known)
        found = known(db, tx_ids)
        mempool.issue_tx(platform_chain(), tx, now=pchain.now)  # another thread is faster
        return found

    monkeypatch.setattr(waiting, "known", before_it_came)

    assert mempool.issue_tx(platform_chain(), tx, now=pchain.now) == tx.tx_id
    assert [item.tx_id for item in waiting.oldest_first(platform_chain().db)] == [tx.tx_id]


def test_garbage_takes_no_lock(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only exception is storing the reason: refusals that are not stored write nothing at all."""
    tx = pchain.make()
    pchain.issue(tx)
    monkeypatch.setattr(mempool, "_admit", None)

    assert mempool.issue(platform_chain(), [], now=pchain.now) == []
    assert mempool.issue(platform_chain(), [tx], now=pchain.now) == [tx.tx_id]
    with pytest.raises(ConflictingTx):
        mempool.issue_tx(platform_chain(), rival(tx), now=pchain.now)


def test_pending_transaction_that_became_invalid_is_dropped_with_reason(
    pchain: PChain,
) -> None:
    first = scheduled_validator(pchain, "node", start=600, end=3 * DAY)
    pchain.do(pchain.make(BaseTx, pchain.output(3_000_000_000, EWOQ)))
    second = scheduled_validator(pchain, "node", start=700, end=3 * DAY)
    pchain.issue(first, second)  # each is valid on its own

    pchain.build()

    assert accepted.status(platform_chain(), first.tx_id) == COMMITTED
    node_id = first.unsigned.validator.node_id  # type: ignore[attr-defined]
    assert accepted.status(platform_chain(), second.tx_id) == Status(
        TxStatus.DROPPED, str(InvalidTx(StakerReason.ALREADY_VALIDATOR, node_id=node_id))
    )
    assert list(waiting.oldest_first(platform_chain().db)) == []
