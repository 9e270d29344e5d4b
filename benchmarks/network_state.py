"""A history of both chains, made by a node's own services as fast as they can, and how long it took.

Nothing else happens meanwhile: no interface, no worker, no peer. So this is production at its fullest
speed; what a node makes for clients comes after their requests.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from django.db import connections

from benchmarks.coins import FEE, RICH, Owner, coins_of, largest, owner, split
from benchmarks.coins import transfer as payment
from benchmarks.network_nodes import History, Past, Stretch
from benchmarks.scene import FUNDER
from benchmarks.signing import account, sign
from cchain_app.selectors import blocks as cchain_blocks
from cchain_app.services import transactions
from cchain_app.services.chain import produce_block
from chaindb import clock
from nodeproject.initialise import initialise
from platform_app.selectors import chain as platform_chain
from platform_app.selectors import coins
from platform_app.services import chain, mempool
from platform_app.txs.base import Tx
from platform_app.txs.components import UTXO
from primitives.evm import Address

ALLOWANCE = 10**18
"""Wei that each sender gets."""
RECIPIENTS = 1_000


class NotMade(Exception):
    """A block of the history has not what it should have."""


def make(history: History) -> None:
    """Make the history in the data directory that the settings name, and print how (`Past`)."""
    initialise()
    made = Past(
        empty=_empty(history.empty),
        light=_transfers(history.light, history.transfers),
        platform=_platform(history.platform, history.payments),
    )
    connections.close_all()
    print(json.dumps([asdict(one) for one in made]))


def _empty(count: int) -> Stretch:
    with _timed() as clocks:
        for _ in range(count):
            _produce(0)
    return _stretch(count, 0, clocks)


def _transfers(count: int, each: int) -> Stretch:
    """Make blocks of transfers, one of each sender."""
    senders = [account("history", number) for number in range(each)]
    _offer([sign(FUNDER, nonce, one.address, value=ALLOWANCE) for nonce, one in enumerate(senders)])
    _produce(each)
    offered = [
        [
            sign(one, nonce, _recipient(nonce * each + place), value=1)
            for place, one in enumerate(senders)
        ]
        for nonce in range(count)
    ]
    with _timed() as clocks:
        for raws in offered:
            _offer(raws)
            _produce(each)
    return _stretch(count, count * each, clocks)


def _stretch(blocks: int, transactions: int, clocks: list[float]) -> Stretch:
    """Return what was made last on the C-Chain."""
    high = cchain_blocks.catch_up().number
    return Stretch("C", high - blocks, high, transactions, *clocks)


def _offer(raws: Sequence[str]) -> None:
    for outcome in transactions.submit([bytes.fromhex(raw[2:]) for raw in raws]):
        if isinstance(outcome, Exception):
            raise outcome


def _produce(wanted: int) -> None:
    block = produce_block(now=clock.now(), allow_empty=True)
    if block is None or len(block.transactions) != wanted:
        raise NotMade(f"{block} has not {wanted} transactions")


def _platform(count: int, each: int) -> Stretch:
    """Make blocks of payments that depend on nothing but what the sender had before."""
    sender, taker = owner("history"), owner("history", 1)
    txs = [
        payment(coin, sender, [(taker.short_id, FEE)])
        for coin in _coins(sender, 2 * FEE, count * each)
    ]
    low = platform_chain.tip().height
    with _timed() as clocks:
        for start in range(0, len(txs), each):
            _build(txs[start : start + each])
    return Stretch("P", low, platform_chain.tip().height, len(txs), *clocks)


def _coins(taker: Owner, amount: int, count: int) -> list[UTXO]:
    """Take outputs of an amount from the network's rich owner."""
    rich = largest(coins.coins_of([RICH.short_id]))
    txs = split(rich, RICH, [(taker.short_id, amount)] * count)
    for tx in txs:
        _build([tx])
    return [coin for tx in txs for coin in coins_of(tx, taker)]


def _build(txs: Sequence[Tx]) -> None:
    for outcome in mempool.issue(txs, now=clock.now()):
        if isinstance(outcome, Exception):
            raise outcome
    block = chain.build_block(now=clock.now())
    if block is None or len(block.txs) != len(txs):
        raise NotMade(f"{block} has not {len(txs)} transactions")


def _recipient(number: int) -> Address:
    return account("recipient", number % RECIPIENTS).address


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Give a list that has, in the end, the seconds and those of the processor."""
    spent: list[float] = []
    started, used = time.perf_counter(), time.process_time()
    yield spent
    spent += [time.perf_counter() - started, time.process_time() - used]
