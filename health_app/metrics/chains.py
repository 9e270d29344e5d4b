"""Metrics of both chains from the database: heads, mempools, stake, fees. Amounts are in the smallest units."""

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import Metric

from cchain_app.apps import evm_chain
from cchain_app.selectors import calls
from cchain_app.selectors import figures as cchain
from chaindb import clock
from chaindb.chains import Chain
from health_app.metrics.instruments import gauge
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.executor.fees import price_of
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import figures as platform
from platform_app.selectors import mempool, stakers
from primitives.ids import ID

RECENT: Final = 60
"""Blocks of this many seconds, by the node's clock, count as recent."""
_NANOSECONDS: Final = 1_000_000_000


def of_cchain() -> Iterator[Metric]:
    """Yield metrics of the C-Chain; none before its genesis, or if this node does not take part in it."""
    if not Chain.C.is_here:
        return
    head, now = cchain.head(evm_chain()), clock.cchain_now()
    if head is None:
        return
    yield from _head(Chain.C, head.number, head.timestamp, now)
    recent = cchain.recent(evm_chain(), now - RECENT)
    yield from _recent(Chain.C, recent.blocks, recent.transactions)
    waiting = cchain.waiting(evm_chain(), head.number)
    yield gauge("mempool_transactions", waiting.pending, chain=Chain.C, state="pending")
    yield gauge("mempool_transactions", waiting.queued, chain=Chain.C, state="queued")
    yield gauge("mempool_bytes", waiting.size, chain=Chain.C)
    if head.base_fee is not None:
        yield gauge("cchain_base_fee_wei", head.base_fee)
    yield gauge("cchain_gas_used", head.gas_used)
    yield gauge("cchain_gas_limit", head.gas_limit)
    yield gauge("cchain_recent_gas_used", recent.gas_used)
    yield gauge("cchain_last_block_bytes", head.size)
    written = calls.progress(evm_chain())
    if written is not None:
        yield gauge("cchain_calls_height", written.height)
        yield gauge("cchain_calls_unrecorded", written.unrecorded)


def of_platform() -> Iterator[Metric]:
    """Yield metrics of the P-Chain; none before its genesis."""
    now = clock.now()
    try:
        tip, present = platform_chain().tip(), stakers.current_validators(platform_chain())
    except NoPlatformGenesis:
        return
    yield from _names(Chain.P, platform_chain().aliases, platform_chain().blockchain_id)
    if Chain.C.is_here:  # its blockchain ID comes from the P-Chain's genesis
        yield from _names(Chain.C, evm_chain().aliases, evm_chain().blockchain_id)
    yield from _head(Chain.P, tip.height, tip.timestamp, now)
    yield from _recent(Chain.P, *platform.recent(platform_chain(), now - RECENT))
    waiting = mempool.waiting(platform_chain())
    yield gauge("mempool_transactions", waiting.txs, chain=Chain.P, state="pending")
    yield gauge("mempool_bytes", waiting.size, chain=Chain.P)
    yield from _stake(present, now)
    yield gauge("platform_gas_capacity", tip.fee_state.capacity)
    yield gauge("platform_gas_excess", tip.fee_state.excess)
    yield gauge("platform_gas_price", price_of(platform_chain().config.gas, tip.fee_state))
    yield gauge("node_clock_offset_seconds", clock.offset())


def _names(chain: Chain, aliases: Iterable[str], blockchain_id: ID) -> Iterator[Metric]:
    """Yield all names of a chain, so that series can be joined by any of them."""
    for alias in aliases:
        yield gauge("chain_info", 1, chain=chain, alias=alias, blockchain_id=str(blockchain_id))


def _head(chain: Chain, height: int, moment: int, now: int) -> Iterator[Metric]:
    yield gauge("chain_height", height, chain=chain)
    yield gauge("chain_last_block_timestamp_seconds", moment, chain=chain)
    yield gauge("chain_last_block_age_seconds", max(0, now - moment), chain=chain)


def _recent(chain: Chain, blocks: int, transactions: int) -> Iterator[Metric]:
    yield gauge("chain_recent_blocks", blocks, chain=chain)
    yield gauge("chain_recent_transactions", transactions, chain=chain)


def _stake(present: CurrentSet, now: int) -> Iterator[Metric]:
    own = present.by_node.get(platform_chain().node_id)
    yield gauge("platform_local_staked", 0 if own is None else own.weight + own.delegator_weight)
    yield gauge("platform_total_staked", present.weight)
    left = 0 if own is None else max(0, own.end - now)
    yield gauge("platform_time_until_unstake", left * _NANOSECONDS)
    pending = platform.pending(platform_chain())
    yield gauge("platform_validators", len(present), state="current")
    yield gauge("platform_validators", pending.validators, state="pending")
    delegators = sum(one.delegator_count for one in present.validators)
    yield gauge("platform_delegators", delegators, state="current")
    yield gauge("platform_delegators", pending.delegators, state="pending")
    yield from _uptimes(now)


def _uptimes(now: int) -> Iterator[Metric]:
    """Yield the average uptime of all validators, not weighted by stake, and this node's own."""
    tracking = stakers.tracking(platform_chain())
    seen = {
        node_id: uptime.fraction(now, tracking=tracking)
        for node_id, uptime in stakers.uptimes(platform_chain()).items()
    }
    if seen:
        average = sum(seen.values()) / len(seen)
        yield gauge("platform_validator_uptime_ratio", average, of="average")
    own = seen.get(platform_chain().node_id)
    if own is not None:
        yield gauge("platform_validator_uptime_ratio", own, of="own")
