"""Outputs of addresses: pages with each output once, balances by lock, stake, rewards."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chaindb.database import Database
from platform_app.apps import platform_chain
from platform_app.selectors import outputs
from platform_app.selectors.outputs import Funds
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority
from platform_app.txs.codec import CODEC
from primitives.ids import EMPTY_ID, NodeID, ShortID
from shared_app.paging import UtxoCursor
from tests.builders import platform, shared_outputs
from tests.builders.platform_rows import Change, accept, adding, begin, producing, raw_utxo, reward
from utxo.components import UTXO

pytestmark = pytest.mark.django_db

FIRST, SECOND, THIRD = platform.ADDRESSES[:3]
NOBODY = ShortID(b"\xff" * 20)


def in_order(*utxos: UTXO) -> list[bytes]:
    return [raw_utxo(item) for item in sorted(utxos, key=lambda utxo: utxo.utxo_id)]


def all_pages(addresses: Sequence[ShortID], limit: int) -> list[list[bytes]]:
    pages = [outputs.utxos_of(platform_chain(), addresses, limit=limit)]
    while len(pages[-1].utxos) == limit:
        pages.append(
            outputs.utxos_of(platform_chain(), addresses, limit=limit, after=pages[-1].end)
        )
    return [page.utxos for page in pages]


def test_an_address_has_its_outputs_in_order_of_their_ids() -> None:
    own = [platform.utxo(1 + n, FIRST, number=n) for n in range(5)]
    begin(producing(*own, platform.utxo(9, SECOND, number=9)))

    page = outputs.utxos_of(platform_chain(), [FIRST])

    assert page.utxos == in_order(*own)
    assert page.end == UtxoCursor(FIRST, max(utxo.utxo_id for utxo in own))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_of_any_size_hold_each_output_once(limit: int) -> None:
    first = [platform.utxo(1 + n, FIRST, number=n) for n in range(4)]
    second = [platform.utxo(1 + n, SECOND, number=n) for n in range(10, 13)]
    begin(producing(*first, *second))

    pages = all_pages([SECOND, FIRST], limit)

    assert [raw for page in pages for raw in page] == in_order(*first) + in_order(*second)
    assert all(len(page) == limit for page in pages[:-1])


def test_an_output_of_two_owners_is_on_a_page_once() -> None:
    shared = platform.utxo(5, FIRST, SECOND)
    begin(producing(shared))

    assert outputs.utxos_of(platform_chain(), [FIRST, SECOND]).utxos == [raw_utxo(shared)]
    assert outputs.utxos_of(platform_chain(), [FIRST, FIRST]).utxos == [raw_utxo(shared)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_common_outputs_hide_no_other_behind_them(limit: int) -> None:
    shared = [platform.utxo(1 + n, FIRST, SECOND, number=n) for n in range(3)]
    own = [platform.utxo(9 + n, SECOND, number=9 + n) for n in range(3)]
    begin(producing(*shared, *own))

    found = [raw for page in all_pages([FIRST, SECOND], limit) for raw in page]

    assert set(found) == set(in_order(*shared, *own))
    assert found[: len(shared)] == in_order(*shared)


def test_output_spent_during_paging_is_replaced_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = sorted(
        (platform.utxo(1 + n, FIRST, number=n) for n in range(4)), key=lambda utxo: utxo.utxo_id
    )
    begin(producing(*own))
    read = Database.rows_by_keys
    spends = [own[0].utxo_id]

    def read_after_a_block(db: Database, question: str, *keys: Any) -> list[tuple[object, ...]]:
        if spends:
            spent = spends.pop()
            accept(lambda diff: diff.utxos.consume(spent))
        return read(db, question, *keys)

    monkeypatch.setattr(Database, "rows_by_keys", read_after_a_block)

    assert outputs.utxos_of(platform_chain(), [FIRST], limit=2).utxos == in_order(*own[1:3])


def test_empty_page_keeps_its_cursor() -> None:
    begin()

    assert outputs.utxos_of(platform_chain(), [SECOND, FIRST]).end == UtxoCursor(SECOND, EMPTY_ID)
    after = UtxoCursor(NOBODY, platform.some_id("last"))
    assert outputs.utxos_of(platform_chain(), [FIRST], after=after) == ([], after)


def test_addresses_before_the_cursor_are_skipped() -> None:
    own = [platform.utxo(1, FIRST), platform.utxo(2, SECOND, number=1)]
    begin(producing(*own))

    page = outputs.utxos_of(platform_chain(), [FIRST, SECOND], after=UtxoCursor(SECOND, EMPTY_ID))

    assert page.utxos == [raw_utxo(own[1])]


def test_many_addresses_cost_no_statement_each() -> None:
    own = [platform.utxo(1, FIRST), platform.utxo(2, SECOND, number=1)]
    begin(producing(*own))
    strangers = [ShortID(number.to_bytes(20, "big")) for number in range(1022)]

    with CaptureQueriesContext(connection) as asked:
        page = outputs.utxos_of(platform_chain(), [*strangers, FIRST, SECOND])

    assert page.utxos == [raw_utxo(item) for item in own]
    assert len(asked) == 4


def test_a_page_of_many_addresses_ends_at_the_last_of_them() -> None:
    begin(producing(platform.utxo(1, FIRST)))
    strangers = [ShortID(bytes([255, number]) + bytes(18)) for number in range(20)]

    assert outputs.utxos_of(platform_chain(), [*strangers, FIRST]).end.address == max(strangers)


@pytest.mark.parametrize("extra", [0, 20])
def test_imported_outputs_are_listed_by_source_chain(extra: int) -> None:
    begin(producing(platform.utxo(1, FIRST)))
    sent = [platform.utxo(2 + n, FIRST, number=n) for n in range(1, 4)]
    shared_outputs.receive(platform_chain().db, platform.X_CHAIN_ID, sent, height=1)
    addresses = [FIRST, *(ShortID(bytes([255, n]) + bytes(18)) for n in range(extra))]

    first = outputs.utxos_of(platform_chain(), addresses, source_chain=platform.X_CHAIN_ID, limit=2)
    rest = outputs.utxos_of(
        platform_chain(), addresses, source_chain=platform.X_CHAIN_ID, limit=2, after=first.end
    )

    assert [*first.utxos, *rest.utxos] == in_order(*sent)
    assert (
        outputs.utxos_of(platform_chain(), addresses, source_chain=platform.C_CHAIN_ID).utxos == []
    )


def test_exported_outputs_are_not_importable_here() -> None:
    begin()
    accept(lambda diff: diff.utxos.export(platform.C_CHAIN_ID, platform.utxo(1, FIRST)))

    assert outputs.utxos_of(platform_chain(), [FIRST], source_chain=platform.C_CHAIN_ID).utxos == []


def test_balance_shows_locked_amounts() -> None:
    now = platform.NOW
    begin(
        producing(
            platform.utxo(1, FIRST),
            platform.utxo(2, FIRST, number=1, locktime=now),
            platform.utxo(4, FIRST, number=2, locktime=now + 1),
            platform.utxo(8, FIRST, number=3, stakeable_until=now),
            platform.utxo(16, FIRST, number=4, stakeable_until=now + 1),
            platform.utxo(32, FIRST, number=5, stakeable_until=now + 1, locktime=now + 1),
            platform.utxo(64, FIRST, number=6, asset_id=platform.OTHER_ASSET_ID),
            platform.utxo(128, SECOND, number=7),
        )
    )

    found = outputs.balance(platform_chain(), [FIRST], now=now)

    assert found.funds == {
        platform.ASSET_ID: Funds(1 + 2 + 8, 16, 4 + 32),
        platform.OTHER_ASSET_ID: Funds(64, 0, 0),
    }
    assert found.funds[platform.ASSET_ID].total == 63
    assert len(found.utxos) == 7
    assert (found.since, found.until) == (now, now + 1)


def test_a_balance_of_two_owners_counts_a_common_output_once() -> None:
    shared = platform.utxo(5, FIRST, SECOND, threshold=2)
    begin(producing(shared))

    found = outputs.balance(platform_chain(), [FIRST, SECOND, FIRST], now=platform.NOW)

    assert found.funds == {platform.ASSET_ID: Funds(5, 0, 0)}
    assert found.utxos == [(shared.tx_id, shared.output_index)]


def test_sums_end_where_64_bits_do() -> None:
    begin(producing(*(platform.utxo(2**64 - 2, FIRST, number=n) for n in range(2))))

    (funds,) = outputs.balance(platform_chain(), [FIRST], now=platform.NOW).funds.values()

    assert funds == Funds(2**64 - 1, 0, 0)
    assert funds._replace(locked_stakeable=5).total == 2**64 - 1


def test_address_without_outputs_has_no_balance() -> None:
    begin()

    assert outputs.balance(platform_chain(), [FIRST], now=platform.NOW) == ({}, [], 0, None)


def test_stake_is_that_of_pending_and_current_stakers_of_the_owner() -> None:
    stake = (platform.output(2_000_000_000, FIRST, SECOND),)
    current, add_current = adding(of_tx={"stake": stake})
    pending, add_pending = adding(
        Priority.PRIMARY_DELEGATOR_PENDING,
        weight=25_000_000,
        of_tx={"stake": (platform.output(25_000_000, FIRST),)},
    )
    begin(add_current, add_pending)

    amounts = sorted(item.amount for item in outputs.stake_of(platform_chain(), [FIRST, SECOND]))
    assert amounts == [25_000_000, 2_000_000_000]
    assert [
        other.amount for other in outputs.stake_of(platform_chain(), [FIRST], validators_only=True)
    ] == [current.weight]
    assert outputs.stake_of(platform_chain(), [THIRD]) == []

    reward(current)
    (left,) = outputs.stake_of(platform_chain(), [FIRST])
    assert (left.amount, left.asset_id) == (pending.weight, platform.ASSET_ID)
    assert left.raw == CODEC.marshal(platform.output(25_000_000, FIRST))


def test_staked_outputs_are_in_order_of_stakers() -> None:
    """Current stakers by end, then pending ones by start; outputs of each in the order of its transaction."""

    def staking(priority: Priority, number: int, amounts: Sequence[int], **period: int) -> Change:
        stake = tuple(platform.output(amount, FIRST) for amount in amounts)
        node_id = NodeID(number.to_bytes(20, "big"))
        of_tx = {"stake": stake}
        return adding(priority, node_id=node_id, weight=sum(amounts), of_tx=of_tx, **period)[1]

    now = platform.NOW
    delegator, validator = Priority.PRIMARY_DELEGATOR_PENDING, Priority.PRIMARY_VALIDATOR_CURRENT
    begin(
        *(staking(delegator, 9 - n, [100 + n], start=now + n, end=now + 99) for n in (4, 2, 3)),
        *(staking(validator, 9 - n, [n, 50 + n], start=now, end=now + n) for n in (7, 5, 8, 6)),
    )

    found = outputs.stake_of(platform_chain(), [FIRST, SECOND])

    assert [item.amount for item in found] == [5, 55, 6, 56, 7, 57, 8, 58, 102, 103, 104]


def test_reward_utxos_remain_after_spending() -> None:
    validator, add = adding()
    begin(add)
    paid = [
        UTXO(validator.tx_id, index, platform.ASSET_ID, platform.transfer_output(index))
        for index in (10, 2)
    ]

    def pay(diff: Diff) -> None:
        for utxo in paid:
            diff.utxos.add_reward(validator.tx_id, utxo)
            diff.utxos.produce(utxo)

    reward(validator, pay)
    accept(lambda diff: diff.utxos.consume(paid[0].utxo_id))

    assert outputs.reward_utxos(platform_chain(), validator.tx_id) == [
        raw_utxo(paid[1]),
        raw_utxo(paid[0]),
    ]
    assert outputs.reward_utxos(platform_chain(), platform.some_id("nobody")) == []
