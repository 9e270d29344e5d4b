"""Conversion of connections into uptimes of validators (pchain.md 7.5).

Times are the node's, in Unix seconds. If the clock is moved, connected nodes count as connected in between.
"""

from collections.abc import Collection

from platform_app.blocks.block import Block
from platform_app.chain import PlatformChain
from platform_app.executor.proposal import prefers_commit, required_uptime
from platform_app.state.chain import ChainState
from platform_app.store import subnet_uptime, uptime
from platform_app.txs.l1 import RewardAutoRenewedValidatorTx
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

CHECKPOINT = 60
"""Seconds after which all uptimes are written, even if no connection changed. If this process is killed, at
most that much offline time of a node is lost."""


def tracking(chain: PlatformChain) -> bool:
    """Return whether uptimes are tracked; all validators count as online until the first peer ever connects."""
    return uptime.tracking(chain.db) is not None


def begin(chain: PlatformChain, now: int, subnets: Collection[ID] = ()) -> None:
    """Record that connections were not tracked until now: for the start of the process that sees them.

    The time since uptimes were last written counts as online, for all validators, as in the reference.
    Nothing is recorded until the first peer has ever connected.

    Args:
        chain: The chain.
        now: Unix seconds.
        subnets: The subnets whose validators are tracked besides those of the Primary Network.
    """
    with chain.db.atomic():
        if not tracking(chain):
            return
        uptime.claim(chain.db, now)
        uptime.settle_all(chain.db, now, tracking=False)
        subnet_uptime.settle_all(chain.db, subnets, now, tracking=False)
        uptime.disconnect(chain.db, uptime.connected(chain.db))
        uptime.connect(chain.db, [chain.node_id], now)


def observe(
    chain: PlatformChain,
    connected: Collection[NodeID],
    now: int,
    subnets: Collection[ID] = (),
) -> None:
    """Record the nodes connected now; this node is always included. A repetition costs two queries.

    The first peer that ever connects starts the tracking. Changes since the last call count from now on.

    Args:
        chain: The chain.
        connected: The nodes.
        now: Unix seconds.
        subnets: The subnets whose validators are tracked besides those of the Primary Network.
    """
    present = {chain.node_id, *connected}
    if _has_changes(chain, present, now):
        _record(chain, present, now, subnets)


def deserves_reward(chain: PlatformChain, proposal: Block, state: ChainState) -> bool:
    """Return whether the staker in a proposal was online enough, as its node's validator (7.4).

    Unspecified: as in the reference, a staker is rewarded if its uptime is unknown. A staker that is not in
    the state is rewarded too: the proposal is about to be rejected.

    Args:
        chain: The chain.
        proposal: A proposal block.
        state: The state that it is verified on.
    """
    proposed = None if proposal.proposal is None else proposal.proposal.unsigned
    if not isinstance(proposed, RewardValidatorTx | RewardAutoRenewedValidatorTx):
        return True
    staker = state.stakers.get(proposed.tx_id)
    if staker is None:
        return True
    seen = uptime.uptimes(chain.db, [staker.node_id])
    fraction = seen[0].fraction(staker.end, tracking=tracking(chain)) if seen else None
    validator = state.stakers.validator(PRIMARY_NETWORK_ID, staker.node_id)
    start = staker.start if validator is None else validator.start
    return prefers_commit(fraction, required_uptime(chain.config, start))


def _has_changes(chain: PlatformChain, present: set[NodeID], now: int) -> bool:
    tracking_row = uptime.tracking(chain.db)
    if tracking_row is None:
        return len(present) > 1
    return _is_due(tracking_row, now) or uptime.connected(chain.db).keys() != present


def _is_due(tracking_row: uptime.Tracking, now: int) -> bool:
    return tracking_row.settled_at is None or now >= tracking_row.settled_at + CHECKPOINT


def _record(chain: PlatformChain, present: set[NodeID], now: int, subnets: Collection[ID]) -> None:
    with chain.db.atomic():
        tracking_row = uptime.claim(chain.db, now)
        before = uptime.connected(chain.db).keys()
        if _is_due(tracking_row, now):
            is_tracked = tracking_row.settled_at is not None
            uptime.settle_all(chain.db, now, tracking=is_tracked)
            subnet_uptime.settle_all(chain.db, subnets, now, tracking=is_tracked)
        else:
            uptime.settle(chain.db, present ^ before, now)
            subnet_uptime.settle(chain.db, subnets, present ^ before, now)
        uptime.disconnect(chain.db, before - present)
        uptime.connect(chain.db, present - before, now)
