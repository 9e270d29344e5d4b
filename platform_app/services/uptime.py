"""Turning who is connected into how long validators were online (pchain.md 7.5).

Times are the node's, in Unix seconds: when the clock leaps, who was connected was so on the way.
"""

from collections.abc import Collection

from platform_app.blocks.block import Block
from platform_app.chain import PlatformChain
from platform_app.executor.proposal import prefers_commit
from platform_app.state.chain import ChainState
from platform_app.store import uptime
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import NodeID

CHECKPOINT = 60
"""Seconds after which all uptimes are written, whether or not somebody came or went: that much of the
time that a node was offline is forgotten, at most, when this one is killed."""


def tracking(chain: PlatformChain) -> bool:
    """Say whether uptimes are tracked: everybody counts as online until the first peer ever comes."""
    return uptime.tracking(chain.db) is not None


def begin(chain: PlatformChain, now: int) -> None:
    """Note that nobody has looked until now: for the start of whatever sees the connections.

    What passed since uptimes were written last counts as online, for everybody, as in the reference.
    Before the first peer ever there is nothing to note.
    """
    with chain.db.atomic():
        if not tracking(chain):
            return
        uptime.claim(chain.db, now)
        uptime.settle_all(chain.db, now, tracking=False)
        uptime.disconnect(chain.db, uptime.connected(chain.db))
        uptime.connect(chain.db, [chain.node_id], now)


def observe(chain: PlatformChain, connected: Collection[NodeID], now: int) -> None:
    """Note who is connected now; this node always is. Repeating it costs two questions.

    The first peer ever begins the tracking. Who came or went since the last look did so now.
    """
    present = {chain.node_id, *connected}
    if _is_news(chain, present, now):
        _note(chain, present, now)


def deserves_reward(chain: PlatformChain, proposal: Block, state: ChainState) -> bool:
    """Say whether the staker that a proposal names was online enough, as its node's validator (7.4).

    Unspecified: as in the reference a staker is rewarded where that is not known, and so is one that the
    state does not have: the proposal is about to be refused.

    Args:
        chain: Whose.
        proposal: A proposal block.
        state: What it is verified on.
    """
    proposed = None if proposal.proposal is None else proposal.proposal.unsigned
    if not isinstance(proposed, RewardValidatorTx):
        return True
    staker = state.staker(proposed.tx_id)
    if staker is None:
        return True
    seen = uptime.uptimes(chain.db, [staker.node_id])
    fraction = seen[0].fraction(staker.end, tracking=tracking(chain)) if seen else None
    return prefers_commit(fraction, chain.config.uptime_requirement)


def _is_news(chain: PlatformChain, present: set[NodeID], now: int) -> bool:
    known = uptime.tracking(chain.db)
    if known is None:
        return len(present) > 1
    return _is_due(known, now) or uptime.connected(chain.db).keys() != present


def _is_due(known: uptime.Tracking, now: int) -> bool:
    return known.settled_at is None or now >= known.settled_at + CHECKPOINT


def _note(chain: PlatformChain, present: set[NodeID], now: int) -> None:
    with chain.db.atomic():
        known = uptime.claim(chain.db, now)
        before = uptime.connected(chain.db).keys()
        if _is_due(known, now):
            uptime.settle_all(chain.db, now, tracking=known.settled_at is not None)
        else:
            uptime.settle(chain.db, present ^ before, now)
        uptime.disconnect(chain.db, before - present)
        uptime.connect(chain.db, present - before, now)
