"""A history of both chains, made by a node's own services as fast as they can, and how long it took.

Nothing else happens meanwhile: no interface, no worker, no peer. So this is production at its fullest
speed; what a node makes for clients comes after their requests.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks as cchain_blocks
from cchain_app.services import transactions
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import DYNAMIC_FEE
from chaindb import clock
from nodeproject.apps import this_node
from nodeproject.management.seeding.owners import FUNDER, RICH, Owner, owner
from nodeproject.management.seeding.payments import FEE, coins_of, largest, split, transfer
from nodeproject.startup.initialise import initialise
from platform_app.apps import platform_chain
from platform_app.selectors import accepted, coins
from platform_app.services import mempool
from platform_app.txs.base import Tx
from platform_app.txs.components import UTXO
from primitives.evm import Address

ALLOWANCE: Final = 10**18
"""Wei that each sender gets."""
RECIPIENTS: Final = 1_000
GWEI: Final = 10**9
MAX_FEE: Final = 100 * GWEI
"""Wei for each gas: far above the base fee that a history drives up."""
TRANSFER_GAS: Final = 21_000


@dataclass(frozen=True, slots=True)
class History:
    """What is made, in this order."""

    empty: int
    """Blocks of the C-Chain without transactions."""
    light: int
    """Blocks of the C-Chain with some transfers."""
    transfers: int
    """In each of these."""
    platform: int
    """Blocks of the P-Chain with payments."""
    payments: int
    """In each of these."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Blocks of one chain that are alike: those above `low`, up to `high`."""

    chain: str
    """"P" or "C"."""
    low: int
    high: int
    transactions: int
    seconds: float
    """Which their production took: transactions taken in and blocks made."""
    processor: float
    """Seconds of processor time that it took."""


class Past(NamedTuple):
    """How a history was made."""

    empty: Stretch
    light: Stretch
    platform: Stretch


class NotMade(Exception):
    """A block of the history has not what it should have."""


def seed(history: History) -> Past:
    """Make the history in the data directory that the settings name.

    Raises:
        NotMade: Another one makes blocks besides.
    """
    initialise(this_node())
    return Past(
        empty=_empty(history.empty),
        light=_transfers(history.light, history.transfers),
        platform=_platform(history.platform, history.payments),
    )


def _empty(count: int) -> Stretch:
    with _timed() as clocks:
        for _ in range(count):
            _produce(0)
    return _stretch(count, 0, clocks)


def _transfers(count: int, each: int) -> Stretch:
    """Make blocks of transfers, one of each sender."""
    senders = [owner("history", number) for number in range(each)]
    recipients = [owner("recipient", number).address for number in range(RECIPIENTS)]
    _submit([_pay(FUNDER, nonce, one.address, ALLOWANCE) for nonce, one in enumerate(senders)])
    _produce(each)
    batches = [
        [
            _pay(one, nonce, recipients[(nonce * each + place) % RECIPIENTS], 1)
            for place, one in enumerate(senders)
        ]
        for nonce in range(count)
    ]
    with _timed() as clocks:
        for raws in batches:
            _submit(raws)
            _produce(each)
    return _stretch(count, count * each, clocks)


def _stretch(blocks: int, transactions: int, clocks: list[float]) -> Stretch:
    """Return what was made last on the C-Chain."""
    high = cchain_blocks.catch_up(evm_chain()).number
    return Stretch("C", high - blocks, high, transactions, *clocks)


def _pay(sender: Owner, nonce: int, to: Address, value: int) -> bytes:
    """Return a signed transfer of so many wei."""
    transaction = UnsignedTransaction(
        type=DYNAMIC_FEE,
        chain_id=evm_chain().config.chain_id,
        nonce=nonce,
        gas=TRANSFER_GAS,
        to=to,
        value=value,
        max_fee_per_gas=MAX_FEE,
        max_priority_fee_per_gas=GWEI,
    )
    return sign_transaction(transaction, sender.key)


def _submit(raws: Sequence[bytes]) -> None:
    for outcome in transactions.submit(evm_chain(), raws):
        if isinstance(outcome, Exception):
            raise outcome


def _produce(wanted: int) -> None:
    made = evm_chain().consensus.produce(now=clock.cchain_now(), allow_empty=True)
    block = None if made is None else cchain_blocks.by_number(evm_chain(), made.height)
    if block is None or len(block.transactions) != wanted:
        raise NotMade(f"{block} has not {wanted} transactions")


def _platform(count: int, each: int) -> Stretch:
    """Make blocks of payments that depend on nothing but what the sender had before."""
    sender, taker = owner("history"), owner("history", 1)
    txs = [
        transfer(coin, sender, [(taker.short_id, FEE)])
        for coin in _coins(sender, 2 * FEE, count * each)
    ]
    low = platform_chain().tip().height
    with _timed() as clocks:
        for start in range(0, len(txs), each):
            _build(txs[start : start + each])
    return Stretch("P", low, platform_chain().tip().height, len(txs), *clocks)


def _coins(taker: Owner, amount: int, count: int) -> list[UTXO]:
    """Take outputs of an amount from the network's rich owner."""
    rich = largest(coins.coins_of(platform_chain(), [RICH.short_id]))
    txs = split(rich, RICH, [(taker.short_id, amount)] * count)
    for tx in txs:
        _build([tx])
    return [coin for tx in txs for coin in coins_of(tx, taker)]


def _build(txs: Sequence[Tx]) -> None:
    for outcome in mempool.issue(platform_chain(), txs, now=clock.now()):
        if isinstance(outcome, Exception):
            raise outcome
    # Whoever else was asked for a block may have been faster.
    platform_chain().consensus.produce(now=clock.now())
    waiting = [one for one in txs if accepted.tx(platform_chain(), one.tx_id) is None]
    if waiting:
        raise NotMade(f"{len(waiting)} of {len(txs)} transactions still wait")


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Give a list that has, in the end, the seconds and those of the processor."""
    spent: list[float] = []
    started, used = time.perf_counter(), time.process_time()
    yield spent
    spent += [time.perf_counter() - started, time.process_time() - used]
