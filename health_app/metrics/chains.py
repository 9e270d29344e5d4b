"""Metrics of the chains from the database: heads, mempools, stake, fees. Amounts are in the smallest units."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import permutations
from typing import Final

from prometheus_client.core import Metric

from cchain_app.chain import EvmChain
from cchain_app.selectors import atomic, calls
from cchain_app.selectors import figures as cchain
from chaindb import clock
from chaindb.chains import C_CHAIN, P_CHAIN, X_CHAIN, NodeChain, is_left_out
from health_app.metrics.instruments import gauge
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.executor.fees import price_of, validator_price
from platform_app.memory.stakers import CurrentSet
from platform_app.selectors import figures as platform
from platform_app.selectors import l1_validators, mempool, stakers
from platform_app.store.blocks import Tip
from primitives.ids import ID, P_CHAIN_ID
from shared_app.selectors import WaitingGroup, waiting_groups
from xchain_app.chain import AvmChain
from xchain_app.selectors import accepted as xchain
from xchain_app.selectors import assets as xchain_assets
from xchain_app.selectors import mempool as xchain_mempool
from xchain_app.store.state import NoXChain

RECENT: Final = 60
"""Blocks of this many seconds, by the node's clock, count as recent."""
MAX_L1S: Final = 100
"""Limit of L1s with a metric of the balance: NODE_TRACK_SUBNETS may track the subnets of strangers."""
MAX_GROUPS: Final = 50
"""Maximum number of pairs of chains and assets with metrics of waiting outputs, because anybody can create assets."""
_NANOSECONDS: Final = 1_000_000_000


def of_evm(chain: EvmChain) -> Iterator[Metric]:
    """Yield metrics of an EVM chain; none before its genesis, or if this node does not take part in it.

    Figures of EVM chains alone are named after the C-Chain; those of further chains have the chain as a label.
    """
    if is_left_out(chain.name):
        return
    head, now = cchain.head(chain), clock.cchain_now()
    if head is None:
        return
    yield from _head(chain.name, head.number, head.timestamp, now)
    recent = cchain.recent(chain, now - RECENT)
    yield from _recent(chain.name, recent.blocks, recent.transactions)
    waiting = cchain.waiting(chain, head.number)
    yield gauge("mempool_transactions", waiting.pending, chain=chain.name, state="pending")
    yield gauge("mempool_transactions", waiting.queued, chain=chain.name, state="queued")
    if chain.atomic is not None:
        pending = atomic.count(chain)
        yield gauge("mempool_transactions", pending, chain=chain.name, state="atomic")
    yield gauge("mempool_bytes", waiting.size, chain=chain.name)
    labels = {} if chain.name == C_CHAIN else {"chain": chain.name}
    if head.base_fee is not None:
        yield gauge("cchain_base_fee_wei", head.base_fee, **labels)
    yield gauge("cchain_gas_used", head.gas_used, **labels)
    yield gauge("cchain_gas_limit", head.gas_limit, **labels)
    yield gauge("cchain_recent_gas_used", recent.gas_used, **labels)
    yield gauge("cchain_last_block_bytes", head.size, **labels)
    yield from _of_coreth(chain, labels)
    written = calls.progress(chain)
    if written is not None:
        yield gauge("cchain_calls_height", written.height, **labels)
        yield gauge("cchain_calls_unrecorded", written.unrecorded, **labels)


def _of_coreth(chain: EvmChain, labels: dict[str, str]) -> Iterator[Metric]:
    """Yield what only headers of a network of avalanchego nodes say; nothing before Fortuna."""
    fields = cchain.coreth_fields(chain)
    if fields is None or fields.gas_target is None:
        return
    yield gauge("cchain_gas_target", fields.gas_target, **labels)
    yield gauge("cchain_gas_capacity", fields.gas_capacity or 0, **labels)
    yield gauge("cchain_gas_excess", fields.gas_excess or 0, **labels)
    if fields.min_delay is not None:
        yield gauge("cchain_min_block_delay_seconds", fields.min_delay / 1_000, **labels)


def of_platform(
    chain: PlatformChain, evms: Iterable[EvmChain], subnets: Callable[[], Collection[ID]]
) -> Iterator[Metric]:
    """Yield metrics of the P-Chain, and the names of the EVM chains, whose IDs it determines; none before its genesis.

    Args:
        chain: The P-Chain.
        evms: The EVM chains.
        subnets: Returns the subnets that this node tracks.
    """
    now = clock.now()
    try:
        tip, present = chain.tip(), stakers.current_validators(chain)
    except NoPlatformGenesis:
        return
    yield from _names(chain)
    for evm in evms:
        if not is_left_out(evm.name):
            yield from _names(evm)
    yield from _head(P_CHAIN, tip.height, tip.timestamp, now)
    yield from _recent(P_CHAIN, *platform.recent(chain, now - RECENT))
    waiting = mempool.waiting(chain)
    yield gauge("mempool_transactions", waiting.txs, chain=P_CHAIN, state="pending")
    yield gauge("mempool_bytes", waiting.size, chain=P_CHAIN)
    yield from _stake(chain, present, now)
    yield gauge("platform_gas_capacity", tip.fee_state.capacity)
    yield gauge("platform_gas_excess", tip.fee_state.excess)
    yield gauge("platform_gas_price", price_of(chain.config.gas, tip.fee_state))
    yield from _l1s(chain, tip, now, subnets())
    yield gauge("node_clock_offset_seconds", clock.offset())


def _l1s(chain: PlatformChain, tip: Tip, now: int, subnets: Collection[ID]) -> Iterator[Metric]:
    """Yield metrics of L1 validators, and for how long each validation of a tracked L1 by this node is paid.

    Anybody may register this node as a validator of an L1 of their own, without its knowledge and without a balance.
    That must not raise an alert here.
    """
    yield gauge("platform_l1_validators", tip.l1s.active)
    fee = validator_price(chain.config.validator_fees, tip.l1s.fees.excess)
    yield gauge("platform_l1_fee", fee)
    for validator in l1_validators.of_node(chain, chain.node_id, subnets)[:MAX_L1S]:
        ends = l1_validators.end_of_balance(chain, tip, validator)
        left = l1_validators.MAX_SECONDS if ends is None else max(0, ends - now)
        yield gauge(
            "platform_l1_balance_seconds",
            left if validator.is_active else 0,
            subnet_id=str(validator.subnet_id),
            validation_id=str(validator.validation_id),
        )


def of_avm(chain: AvmChain) -> Iterator[Metric]:
    """Yield metrics of the X-Chain; none before its genesis, or if this node does not take part in it."""
    if is_left_out(chain.name):
        return
    try:
        tip = chain.tip()
    except NoXChain:
        return
    now = clock.now()
    yield from _names(chain)
    yield from _head(chain.name, tip.height, tip.timestamp, now)
    yield from _recent(chain.name, *xchain.recent(chain, now - RECENT))
    waiting = xchain_mempool.waiting(chain)
    yield gauge("mempool_transactions", waiting.txs, chain=chain.name, state="pending")
    yield gauge("mempool_bytes", waiting.size, chain=chain.name)
    yield gauge("xchain_assets", xchain_assets.count(chain))


def of_transfers(chain: PlatformChain) -> Iterator[Metric]:
    """Yield the waiting outputs between the chains of the Primary Network, by chains and asset; none before the genesis.

    The coin has a value for each pair of chains, also if no output waits.
    """
    try:
        network = chain.network()
    except NoPlatformGenesis:
        return
    named = {P_CHAIN_ID: P_CHAIN, network.x_chain_id: X_CHAIN, network.c_chain_id: C_CHAIN}
    coin = network.asset_id
    found = {
        WaitingGroup(source, destination, coin, 0, 0.0)
        for source, destination in permutations(named, 2)
    }
    waiting = waiting_groups(chain.db, coin, MAX_GROUPS)
    known = {(group.source, group.destination) for group in waiting if group.asset == coin}
    empty = [group for group in found if (group.source, group.destination) not in known]
    for group in (*waiting, *empty):
        labels = {
            "source": named.get(group.source, str(group.source)),
            "destination": named.get(group.destination, str(group.destination)),
            "asset_id": str(group.asset),
        }
        yield gauge("transfers_waiting", group.outputs, **labels)
        yield gauge("transfers_waiting_amount", group.amount, **labels)


def _names(chain: NodeChain) -> Iterator[Metric]:
    """Yield all names of a chain, so that series can be joined by any of them."""
    blockchain_id = str(chain.blockchain_id)
    for alias in chain.aliases:
        yield gauge("chain_info", 1, chain=chain.name, alias=alias, blockchain_id=blockchain_id)


def _head(chain: str, height: int, moment: int, now: int) -> Iterator[Metric]:
    yield gauge("chain_height", height, chain=chain)
    yield gauge("chain_last_block_timestamp_seconds", moment, chain=chain)
    yield gauge("chain_last_block_age_seconds", max(0, now - moment), chain=chain)


def _recent(chain: str, blocks: int, transactions: int) -> Iterator[Metric]:
    yield gauge("chain_recent_blocks", blocks, chain=chain)
    yield gauge("chain_recent_transactions", transactions, chain=chain)


def _stake(chain: PlatformChain, present: CurrentSet, now: int) -> Iterator[Metric]:
    own = present.by_node.get(chain.node_id)
    yield gauge("platform_local_staked", 0 if own is None else own.weight + own.delegator_weight)
    yield gauge("platform_total_staked", present.weight)
    left = 0 if own is None else max(0, own.end - now)
    yield gauge("platform_time_until_unstake", left * _NANOSECONDS)
    pending = platform.pending(chain)
    yield gauge("platform_validators", len(present), state="current")
    yield gauge("platform_validators", pending.validators, state="pending")
    delegators = sum(validator.delegator_count for validator in present.validators)
    yield gauge("platform_delegators", delegators, state="current")
    yield gauge("platform_delegators", pending.delegators, state="pending")
    yield from _uptimes(chain, now)


def _uptimes(chain: PlatformChain, now: int) -> Iterator[Metric]:
    """Yield the average uptime of all validators, not weighted by stake, and this node's own."""
    tracking = stakers.tracking(chain)
    uptimes = {
        node_id: uptime.fraction(now, tracking=tracking)
        for node_id, uptime in stakers.uptimes(chain).items()
    }
    if uptimes:
        average = sum(uptimes.values()) / len(uptimes)
        yield gauge("platform_validator_uptime_ratio", average, of="average")
    own = uptimes.get(chain.node_id)
    if own is not None:
        yield gauge("platform_validator_uptime_ratio", own, of="own")
