"""A history of both chains, produced by a node's own services at full speed, and the time that it took.

Nothing else runs in the meantime: no interface, no worker, no peer. So this measures the maximum speed of block
production; a node that serves clients also has to handle their requests.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.selectors import blocks as cchain_blocks
from cchain_app.services import transactions
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import DYNAMIC_FEE
from chaindb import clock
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise
from nodeproject.management.seeding_payments import (
    FEE,
    FUNDER,
    RICH,
    SeededOwner,
    coins_of,
    largest,
    owner,
    split,
    transfer,
)
from platform_app.apps import platform_chain, platform_runtime
from platform_app.selectors import accepted, coins
from platform_app.services import mempool
from platform_app.txs.base import Tx
from primitives.counting import counted
from primitives.evm import Address
from utxo.components import UTXO

ALLOWANCE: Final = 10**18
"""Wei that each sender gets."""
RECIPIENTS: Final = 1_000
GWEI: Final = 10**9
MAX_FEE: Final = 100 * GWEI
"""Wei per gas: far above the base fee that a history reaches."""
TRANSFER_GAS: Final = 21_000


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


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Similar blocks of one chain: those above `low`, up to `high`."""

    chain: str
    """"P" or "C"."""
    low: int
    high: int
    transactions: int
    seconds: float
    """Seconds that their production took, including the submission of transactions."""
    processor: float
    """Seconds of CPU time that it took."""


class HistoryTimings(NamedTuple):
    """The blocks of a history with their production times."""

    empty: BlockRange
    light: BlockRange
    platform: BlockRange


class UnexpectedBlock(Exception):
    """A block of the history has unexpected content."""


def seed(history: SeededHistory) -> HistoryTimings:
    """Produce the history in the data directory of the settings.

    Raises:
        UnexpectedBlock: Another process produces blocks too.
    """
    initialise(this_node())
    return HistoryTimings(
        empty=_empty(history.empty),
        light=_transfers(history.light, history.transfers),
        platform=_platform(history.platform, history.payments),
    )


def _empty(count: int) -> BlockRange:
    with _timed() as clocks:
        for _ in range(count):
            _produce(0)
    return _block_range(count, 0, clocks)


def _transfers(count: int, each: int) -> BlockRange:
    """Produce blocks of transfers, one from each sender."""
    senders = [owner("history", number) for number in range(each)]
    recipients = [owner("recipient", number).address for number in range(RECIPIENTS)]
    _submit([_pay(FUNDER, nonce, key.address, ALLOWANCE) for nonce, key in enumerate(senders)])
    _produce(each)
    batches = [
        [
            _pay(key, nonce, recipients[(nonce * each + place) % RECIPIENTS], 1)
            for place, key in enumerate(senders)
        ]
        for nonce in range(count)
    ]
    with _timed() as clocks:
        for raws in batches:
            _submit(raws)
            _produce(each)
    return _block_range(count, count * each, clocks)


def _block_range(blocks: int, transactions: int, clocks: list[float]) -> BlockRange:
    """Return the most recent blocks of the C-Chain as a stretch."""
    high = cchain_blocks.catch_up(evm_chain()).number
    return BlockRange("C", high - blocks, high, transactions, *clocks)


def _pay(sender: SeededOwner, nonce: int, to: Address, value: int) -> bytes:
    """Return a signed transfer of an amount in wei."""
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
    for outcome in transactions.submit(evm_runtime(), raws):
        if isinstance(outcome, Exception):
            raise outcome


def _produce(wanted: int) -> None:
    made = evm_runtime().consensus.produce(now=clock.cchain_now(), allow_empty=True)
    block = None if made is None else cchain_blocks.by_number(evm_chain(), made.height)
    if block is None or len(block.transactions) != wanted:
        raise UnexpectedBlock(f"{block} has not {counted(wanted, 'transaction')}")


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
