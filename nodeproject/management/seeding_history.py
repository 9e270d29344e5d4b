"""A history of both chains, produced by a node's own services at full speed, and the time that it took.

Nothing else runs in the meantime: no interface, no worker, no peer. So this measures the maximum speed of block
production; a node that serves clients also has to handle their requests.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf
from typing import NamedTuple

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks as cchain_blocks
from cchain_app.services import calls
from cchain_app.services.genesis import load_genesis
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from explorer_app.services.statistics import summarise
from explorer_app.services.tokens import index_tokens
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise
from nodeproject.management.seeding_payments import (
    FEE,
    RICH,
    SeededOwner,
    coins_of,
    largest,
    owner,
    split,
    transfer,
)
from nodeproject.management.seeding_transfers import (
    TransferBlocks,
    UnexpectedBlock,
    produce,
    produce_together,
    submit,
)
from platform_app.apps import platform_chain, platform_runtime
from platform_app.selectors import accepted, coins
from platform_app.services import mempool
from platform_app.txs.base import Tx
from utxo.components import UTXO


@dataclass(frozen=True, slots=True)
class SeededHistory:
    """The blocks to produce, in this order."""

    empty: int
    """Number of the C-Chain's blocks without transactions."""
    light: int
    """Number of the C-Chain's blocks with some transfers."""
    transfers: int
    """Transfers in each of these blocks."""
    platform: int
    """Number of the P-Chain's blocks with payments."""
    payments: int
    """Payments in each of these blocks."""
    recipients: int = 1_000
    """Accounts that get the transfers."""
    together: int = 0
    """Blocks of the C-Chain that are committed together, without the pool; 0: each is built from the pool and committed."""
    interval: int = 0
    """Seconds between two blocks that are committed together; 0: they have the node's time."""
    ago: int = 0
    """Seconds before now at which the first block of a new history that is committed together has its time."""
    indexes: bool = False
    """Whether the indexes of calls and tokens and the figures of days and accounts are written too; else the node does it."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Similar blocks of one chain: those above `low`, up to `high`."""

    chain: str
    """"P" or "C"."""
    low: int
    high: int
    transactions: int
    seconds: float
    """Seconds that their production took, including the submission of transactions, or their signing without the pool."""
    processor: float
    """Seconds of CPU time that it took."""


class HistoryTimings(NamedTuple):
    """The blocks of a history with their production times."""

    empty: BlockRange
    light: BlockRange
    platform: BlockRange


def seed(history: SeededHistory) -> HistoryTimings:
    """Produce the history in the data directory of the settings.

    Raises:
        UnexpectedBlock: Another process produces blocks too.
    """
    # The blocks of a new chain are later than its genesis block.
    before = history.ago + history.interval if history.together and history.ago else 0
    initialise(this_node(), partial(load_genesis, ago=before))
    made = HistoryTimings(
        empty=_empty(history),
        light=_transfers(history),
        platform=_platform(history.platform, history.payments),
    )
    if history.indexes:
        _write_indexes()
    return made


def _empty(history: SeededHistory) -> BlockRange:
    with _timed() as clocks:
        if history.together:
            _make_together(history, ([] for _ in range(history.empty)))
        else:
            for _ in range(history.empty):
                produce(0)
    return _block_range(history.empty, 0, clocks)


def _transfers(history: SeededHistory) -> BlockRange:
    """Produce blocks of transfers, one from each sender."""
    source = TransferBlocks(history.light, history.transfers, history.recipients)
    if history.light and (funding := source.funding()):
        _fund(history, funding)
    if history.together:
        with _timed() as clocks:
            _make_together(history, source)
    else:
        signed = list(source)
        with _timed() as clocks:
            for payments in signed:
                submit(payments)
                produce(len(payments))
    return _block_range(history.light, history.light * history.transfers, clocks)


def _fund(history: SeededHistory, payments: Sequence[Transaction]) -> None:
    if history.together:
        # A block from the pool would have the present time, and all that follow it later ones.
        _make_together(history, [payments])
    else:
        submit(payments)
        produce(len(payments))


def _make_together(history: SeededHistory, content: Iterable[Sequence[Transaction]]) -> None:
    remaining = iter(content)
    while part := list(islice(remaining, history.together)):
        produce_together(part, clock.cchain_now() - history.ago, history.interval)


def _write_indexes() -> None:
    """Write the indexes that a node writes after its blocks, according to the settings, up to the head."""
    site, chain = this_node().explorer, evm_chain()
    if calls.is_enabled(chain):
        calls.index_calls(chain, seconds=inf)
    if site.indexes_tokens:
        index_tokens(chain, seconds=inf, now=clock.wall())
    if site.summarises:
        summarise(chain, seconds=inf)


def _block_range(blocks: int, transactions: int, clocks: list[float]) -> BlockRange:
    """Return the most recent blocks of the C-Chain."""
    high = cchain_blocks.catch_up(evm_chain()).number
    return BlockRange("C", high - blocks, high, transactions, *clocks)


def _platform(count: int, each: int) -> BlockRange:
    """Produce blocks of payments that only spend outputs the sender had before."""
    sender, taker = owner("history"), owner("history", 1)
    txs = [
        transfer(coin, sender, [(taker.short_id, FEE)])
        for coin in _coins(sender, 2 * FEE, count * each)
    ]
    low = platform_chain().tip().height
    with _timed() as clocks:
        for start in range(0, len(txs), each):
            _build(txs[start : start + each])
    return BlockRange("P", low, platform_chain().tip().height, len(txs), *clocks)


def _coins(taker: SeededOwner, amount: int, count: int) -> list[UTXO]:
    """Take outputs of an amount from the network's prefunded owner."""
    rich = largest(coins.coins_of(platform_chain(), [RICH.short_id]))
    txs = split(rich, RICH, [(taker.short_id, amount)] * count)
    for tx in txs:
        _build([tx])
    return [coin for tx in txs for coin in coins_of(tx, taker)]


def _build(txs: Sequence[Tx]) -> None:
    for outcome in mempool.issue(platform_chain(), txs, now=clock.now()):
        if isinstance(outcome, Exception):
            raise outcome
    # A producer woken by the submission may have built the block before this call.
    platform_runtime().consensus.produce(now=clock.now())
    waiting = [tx for tx in txs if accepted.tx(platform_chain(), tx.tx_id) is None]
    if waiting:
        raise UnexpectedBlock(f"{len(waiting)} of {len(txs)} transactions still wait")


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Yield a list that in the end has the elapsed seconds and the seconds of CPU time."""
    spent: list[float] = []
    started, used = time.perf_counter(), time.process_time()
    yield spent
    spent += [time.perf_counter() - started, time.process_time() - used]
