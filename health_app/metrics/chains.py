"""Both chains as figures, from rows: heads, mempools, stake, fees. Amounts in smallest units."""

from collections.abc import Iterator
from typing import Final

from cchain_app.apps import evm_chain
from cchain_app.selectors import figures as cchain
from chaindb import clock
from chaindb.chains import Chain
from health_app.metrics.figures import Family, Figure
from platform_app.apps import platform_chain
from platform_app.chain import NoGenesis
from platform_app.executor.fees import price_of
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import figures as platform
from platform_app.selectors import mempool, stakers

RECENT: Final = 60
"""Seconds of the node's clock in which blocks count as recent."""
_NANOSECONDS: Final = 1_000_000_000

_CHAIN: Final = ("chain",)
_HEIGHT: Final = Family("chain_height", "Height of the last accepted block.", labels=_CHAIN)
_BLOCK_TIME: Final = Family(
    "chain_last_block_timestamp_seconds", "Time of the last accepted block.", labels=_CHAIN
)
_BLOCK_AGE: Final = Family(
    "chain_last_block_age_seconds",
    "Age of the last accepted block by the node's clock.",
    labels=_CHAIN,
)
_RECENT_BLOCKS: Final = Family(
    "chain_recent_blocks", "Blocks of the last 60 seconds.", labels=_CHAIN
)
_RECENT_TRANSACTIONS: Final = Family(
    "chain_recent_transactions", "Transactions in blocks of the last 60 seconds.", labels=_CHAIN
)
_WAITING: Final = Family(
    "mempool_transactions",
    "Transactions that wait for a block; queued ones wait for others first.",
    labels=("chain", "state"),
)
_WAITING_BYTES: Final = Family(
    "mempool_bytes", "Bytes of the transactions that wait for a block.", labels=_CHAIN
)
_OFFSET: Final = Family(
    "node_clock_offset_seconds", "How far the node's clock is ahead of wall time."
)

_BASE_FEE: Final = Family("cchain_base_fee_wei", "Base fee of the last block, for each gas.")
_GAS_USED: Final = Family("cchain_gas_used", "Gas used by the last block.")
_GAS_LIMIT: Final = Family("cchain_gas_limit", "Gas limit of the last block.")
_RECENT_GAS: Final = Family("cchain_recent_gas_used", "Gas used in the last 60 seconds.")
_BLOCK_BYTES: Final = Family("cchain_last_block_bytes", "Size of the last block.")

_LOCAL_STAKED: Final = Family("platform_local_staked", "Stake on this node, with delegations.")
_TOTAL_STAKED: Final = Family("platform_total_staked", "Stake of the Primary Network.")
_UNSTAKE: Final = Family(
    "platform_time_until_unstake", "Nanoseconds until this node's stay as a validator ends."
)
_VALIDATORS: Final = Family(
    "platform_validators", "Validators of the Primary Network.", labels=("state",)
)
_DELEGATORS: Final = Family(
    "platform_delegators", "Delegators of the Primary Network.", labels=("state",)
)
_UPTIME: Final = Family(
    "platform_validator_uptime_ratio",
    "Part of their stay that validators were online, as this node sees it.",
    labels=("of",),
)
_CAPACITY: Final = Family(
    "platform_gas_capacity",
    "Gas that was left after the last block, as platform.getFeeState says; time since adds to it.",
)
_EXCESS: Final = Family(
    "platform_gas_excess",
    "Gas used above the target, after the last block: it drives the price; time since lowers it.",
)
_PRICE: Final = Family("platform_gas_price", "Price of one gas after the last block.")


def of_cchain() -> Iterator[Figure]:
    """Walk what rows say of the C-Chain; nothing before its genesis, or where this node is not part of it."""
    if not Chain.C.is_here:
        return
    head, now = cchain.head(evm_chain()), clock.now()
    if head is None:
        return
    yield from _head(Chain.C, head.number, head.timestamp, now)
    recent = cchain.recent(evm_chain(), now - RECENT)
    yield from _recent(Chain.C, recent.blocks, recent.transactions)
    waiting = cchain.waiting(evm_chain(), head.number)
    yield _WAITING.of(waiting.pending, Chain.C, "pending")
    yield _WAITING.of(waiting.queued, Chain.C, "queued")
    yield _WAITING_BYTES.of(waiting.size, Chain.C)
    if head.base_fee is not None:
        yield _BASE_FEE.of(head.base_fee)
    yield _GAS_USED.of(head.gas_used)
    yield _GAS_LIMIT.of(head.gas_limit)
    yield _RECENT_GAS.of(recent.gas_used)
    yield _BLOCK_BYTES.of(head.size)


def of_platform() -> Iterator[Figure]:
    """Walk what rows say of the P-Chain; nothing before its genesis."""
    now = clock.now()
    try:
        tip, present = platform_chain().tip(), stakers.current_validators(platform_chain())
    except NoGenesis:
        return
    yield from _head(Chain.P, tip.height, tip.timestamp, now)
    yield from _recent(Chain.P, *platform.recent(platform_chain(), now - RECENT))
    waiting = mempool.waiting(platform_chain())
    yield _WAITING.of(waiting.txs, Chain.P, "pending")
    yield _WAITING_BYTES.of(waiting.size, Chain.P)
    yield from _stake(present, now)
    yield _CAPACITY.of(tip.fee_state.capacity)
    yield _EXCESS.of(tip.fee_state.excess)
    yield _PRICE.of(price_of(platform_chain().config.gas, tip.fee_state))
    yield _OFFSET.of(clock.offset())


def _head(chain: Chain, height: int, moment: int, now: int) -> Iterator[Figure]:
    yield _HEIGHT.of(height, chain)
    yield _BLOCK_TIME.of(moment, chain)
    yield _BLOCK_AGE.of(max(0, now - moment), chain)


def _recent(chain: Chain, blocks: int, transactions: int) -> Iterator[Figure]:
    yield _RECENT_BLOCKS.of(blocks, chain)
    yield _RECENT_TRANSACTIONS.of(transactions, chain)


def _stake(present: CurrentSet, now: int) -> Iterator[Figure]:
    own = present.by_node.get(platform_chain().node_id)
    yield _LOCAL_STAKED.of(0 if own is None else own.weight + own.delegator_weight)
    yield _TOTAL_STAKED.of(present.weight)
    yield _UNSTAKE.of(0 if own is None else max(0, own.end - now) * _NANOSECONDS)
    pending = platform.pending(platform_chain())
    yield _VALIDATORS.of(len(present), "current")
    yield _VALIDATORS.of(pending.validators, "pending")
    yield _DELEGATORS.of(sum(one.delegator_count for one in present.validators), "current")
    yield _DELEGATORS.of(pending.delegators, "pending")
    yield from _uptimes(now)


def _uptimes(now: int) -> Iterator[Figure]:
    """Walk the average of all validators, by number and not by stake, and this node's own."""
    tracking = stakers.tracking(platform_chain())
    seen = {
        node_id: uptime.fraction(now, tracking=tracking)
        for node_id, uptime in stakers.uptimes(platform_chain()).items()
    }
    if seen:
        yield _UPTIME.of(sum(seen.values()) / len(seen), "average")
    own = seen.get(platform_chain().node_id)
    if own is not None:
        yield _UPTIME.of(own, "own")
