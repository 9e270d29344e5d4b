"""Rendered answers stay within their memory limit, and their memory is counted correctly."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from itertools import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.api.rendered import (
    BY_PYTHON,
    FILTERS_OF_BLOCK,
    RenderedBlock,
    RenderedBlocks,
    join_logs,
)
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.filters import LogFilter
from chaindb.connections import WouldBlock
from primitives.evm import Address
from tests.builders.accepted import TOPIC, accepted, log
from tests.builders.transactions import signed

ENDLESS = 1 << 40


def block(number: int, *, transactions: int = 8, data: int = 68) -> AcceptedBlock:
    """Return a block that shares no objects with other blocks."""
    sent = [signed(nonce=place, data=bytes(data)) for place in range(transactions)]
    logs = [[log(TOPIC, TOPIC, TOPIC, data=bytes(32 + number))] for _ in sent]
    return accepted(number, sent, logs)


def nothing(_kept: RenderedBlock) -> None:
    pass


def receipts(kept: RenderedBlock) -> None:
    for place in range(len(kept.first_log_indexes) - 1):
        kept.receipt(place)


def everything(kept: RenderedBlock) -> None:
    receipts(kept)
    for place in range(len(kept.first_log_indexes) - 1):
        kept.transaction(place)
    kept.header()
    kept.receipts()
    for full in (True, False):
        kept.block(full=full)
    kept.matching(LogFilter(topics=(frozenset([TOPIC]),)))


def taken(work: Callable[[], object]) -> int:
    """Return the number of bytes that are additionally allocated after a piece of work."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("render", [nothing, receipts, everything])
@pytest.mark.parametrize("shape", [(1, 0), (8, 68), (50, 68), (5, 4_000)])
def test_weight_matches_allocated_memory(
    shape: tuple[int, int], render: Callable[[RenderedBlock], None]
) -> None:
    transactions, data = shape
    kept = RenderedBlocks(ENDLESS)

    def work(numbers: range) -> None:
        for number in numbers:
            render(kept.of(block(number, transactions=transactions, data=data)))

    work(range(1))  # allocates the memory that all blocks share
    before = kept.weight
    held = taken(lambda: work(range(1, 8)))

    assert held < kept.weight - before < 2 * held


def test_oldest_rendered_block_is_evicted_first() -> None:
    one, two, three = (block(number) for number in (1, 2, 3))
    kept = RenderedBlocks(most_bytes=5 * RenderedBlock(one).weight // 2)
    first = kept.of(one)
    kept.of(two)
    assert kept.of(one) is first
    kept.of(three)
    assert len(kept) == 2
    assert kept.of(one) is not first


def test_later_renderings_count_towards_the_limit() -> None:
    blocks = [block(number) for number in range(20)]
    most = sum(RenderedBlock(other).weight for other in blocks)
    kept = RenderedBlocks(most)
    rendered = [kept.of(item) for item in blocks]
    assert (len(kept), kept.weight) == (20, most)

    for element in rendered:
        everything(element)

    assert kept.weight <= most
    assert 1 < len(kept) < 20
    assert kept.weight == sum(entry.weight for entry in rendered[-len(kept) :])


def test_more_blocks_are_cached_if_less_of_each_is_rendered() -> None:
    def blocks_kept(render: Callable[[RenderedBlock], None]) -> int:
        kept = RenderedBlocks(most_bytes=500_000)
        for number in range(40):
            render(kept.of(block(number)))
        return len(kept)

    assert blocks_kept(everything) < blocks_kept(receipts) < blocks_kept(nothing)


def test_renderings_of_an_evicted_block_do_not_count() -> None:
    kept = RenderedBlocks(most_bytes=1)
    forgotten = kept.of(block(1))
    last = kept.of(block(2))
    assert len(kept) == 1, "the last one stays, however much it is"

    everything(forgotten)

    assert kept.weight == last.weight
    everything(last)
    assert kept.weight == last.weight


texts = st.lists(st.binary(min_size=1, max_size=5), max_size=6)


@given(texts)
def test_logs_of_one_piece_are_found_again(drawn: list[bytes]) -> None:
    joined = join_logs(drawn)
    assert joined.joined == b",".join(drawn)
    assert list(map(bytes, joined.texts())) == drawn
    assert join_logs(list(joined.texts())) == joined


@given(texts, st.data())
def test_selected_logs_join_like_a_list_of_these_alone(
    drawn: list[bytes], data: st.DataObject
) -> None:
    wanted = data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn)))
    assert join_logs(drawn).those(wanted) == join_logs(list(compress(drawn, wanted)))


def test_matches_of_several_transactions_are_in_their_order() -> None:
    kept = RenderedBlock(block(1, transactions=3))
    found = kept.matching(LogFilter())
    assert list(map(bytes, found.texts())) == [kept.logs(place).joined for place in range(3)]
    assert not kept.matching(LogFilter(frozenset({Address(bytes(20))}))).ends


def test_all_logs_of_a_transaction_are_kept_once() -> None:
    kept = RenderedBlock(block(1, transactions=1))
    logs = kept.logs(0)
    before = kept.weight
    assert kept.matching(LogFilter()) is logs
    assert kept.weight - before < len(logs.joined)


async def test_logs_above_the_event_loop_limit_need_a_thread() -> None:
    few = BY_PYTHON._replace(on_event_loop=2)
    kept = RenderedBlock(accepted(1, [signed(nonce=0)], [[log(TOPIC)] * 3]), renderer=few)
    for ask in (kept.logs, kept.receipt):
        with pytest.raises(WouldBlock):
            ask(0)
    with pytest.raises(WouldBlock):
        kept.receipts()
    assert len((await asyncio.to_thread(kept.logs, 0)).ends) == 3
    assert kept.receipts()


async def test_all_logs_of_a_block_count_where_they_are_matched_on_the_event_loop() -> None:
    few = BY_PYTHON._replace(on_event_loop=2)
    sent = [signed(nonce=place) for place in range(3)]
    kept = RenderedBlock(accepted(1, sent, [[log(TOPIC)]] * 3), renderer=few)
    for place in range(3):
        kept.logs(place)
    with pytest.raises(WouldBlock):
        kept.matching(LogFilter())
    found = await asyncio.to_thread(kept.matching, LogFilter())
    assert kept.matching(LogFilter()) is found


def test_filters_of_many_addresses_count_with_their_matches() -> None:
    kept = RenderedBlock(block(1))
    kept.logs(0)
    before = kept.weight

    def ask() -> None:
        for first in range(0, 2 * FILTERS_OF_BLOCK * 1_000, 1_000):
            wanted = (Address(index.to_bytes(20, "big")) for index in range(first, first + 1_000))
            kept.matching(LogFilter(frozenset(wanted)))

    held = taken(ask)
    assert held < kept.weight - before < 2 * held
