"""The heartbeat: build a block of what waits and what the clock brings, and accept it.

Blocks that others have made come in by `following`; both accept by `accept`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from django.db import DatabaseError, transaction

from chaindb import turns
from chaindb.building import building
from chaindb.chains import Chain
from chaindb.locks import Lock
from platform_app import notifications
from platform_app.blocks.block import Block, ProposalBlock, build_options
from platform_app.blocks.builder import Built, build
from platform_app.blocks.executor import Options
from platform_app.chain import PlatformChain
from platform_app.executor.clock import at_next_block
from platform_app.executor.proposal import prefers_commit
from platform_app.executor.standard import execute
from platform_app.services.environment import env
from platform_app.state.changes import StateChanges
from platform_app.state.diff import Diff
from platform_app.store import blocks, mempool, uptime
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.errors import InvalidTx
from platform_app.txs.staking import RewardValidatorTx
from primitives.ids import ID

_BATCH = 64
"""Transactions whose outputs are read together; a block seldom takes more than a few hundred."""

Beside = Callable[[Block], object]
"""Called in the transaction that accepts a block, once that is written."""

_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """What is accepted at once, and what it changes.

    Several blocks are a proposal and its option, of which one alone is never stored.
    """

    blocks: tuple[Block, ...]
    changes: StateChanges


def build_block(chain: PlatformChain, *, now: int) -> Block | None:
    """Build one block, accept it and return it.

    None when there is nothing to put in, or when it is not this node's turn (`chaindb.turns`).

    A proposal is decided at once, by what this node prefers (pchain.md 7.4), and the option returned.

    Args:
        chain: Whose.
        now: The node's time in Unix seconds. The block's is earlier where a staker changes before.
    """
    try:
        return _next_good_block(chain, now)
    except turns.TurnOver as over:
        chain.offer.was_late(over)
        if chain.own is not None:
            chain.own.undo()
        return None


def _next_good_block(chain: PlatformChain, now: int) -> Block | None:
    try:
        return _next_block(chain, now)
    except (DatabaseError, turns.TurnOver):
        raise
    except Exception:
        # Whatever it is, it must not hold up the chain for ever.
        if not _expel(chain, now):
            raise
        return _next_block(chain, now)


def _next_block(chain: PlatformChain, now: int) -> Block | None:
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        state = DatabaseState(chain.db)
        height = state.tip.height + 1
        if not turns.may_produce(Chain.P, height, now):
            return None
        with building(Chain.P, height):
            built = _own(chain, state, now) or _build(chain, state, _waiting(chain, state), now)
            _drop(chain, built.dropped, now)
            if built.block is None:
                return None
            step = _decide(chain, built, state)
            turns.hold(Chain.P, height)  # else nothing is dropped or renewed either
            accept(chain, [step])
            chain.offer.was_taken()
            return step.blocks[-1]


def accept(
    chain: PlatformChain, steps: Sequence[Step], beside: Beside = lambda _block: None
) -> None:
    """Accept verified blocks with what they change: the one way in which the chain grows.

    After the commit those who follow the chain are told of the last one. The caller holds `Lock.PCHAIN`
    and the transaction.
    """
    for step in steps:
        blocks.commit(chain.db, step.blocks, step.changes)
        for block in step.blocks:
            beside(block)
    # Even where nothing leaves the mempool: who admits asks several questions one after the other,
    # and all answers must be of one block.
    chain.db.acquire(Lock.PCHAIN_MEMPOOL)
    mempool.remove(
        chain.db,
        (tx.tx_id for step in steps for block in step.blocks for tx in block.txs),
    )
    last = steps[-1].blocks[-1]
    told = partial(notifications.head_accepted, last.height, last.block_id)
    transaction.on_commit(told, using=chain.db.alias)


def _build(chain: PlatformChain, state: DatabaseState, waiting: Iterable[Tx], now: int) -> Built:
    return build(state.tip, state, waiting, env(chain, state.network, now))


def _own(chain: PlatformChain, state: DatabaseState, now: int) -> Built | None:
    """Return the block with a transaction of the node's own, where there is one.

    It stands at chain time, however late it is built: a stay that is renewed begins at the moment at
    which the last one ended. What else waits is not measured by that earlier clock.
    """
    tx = None if chain.own is None else chain.own.propose(now=state.timestamp())
    if tx is None:
        return None
    built = _build(chain, state, [tx], state.timestamp())
    if built.block is None:
        reasons = [str(reason) for _, reason in built.dropped]
        _refuse(chain, {tx.tx_id: reasons[0] if reasons else "it does not fit into a block"}, now)
        return None
    return built


def _waiting(chain: PlatformChain, state: DatabaseState) -> Iterator[Tx]:
    """Walk what waits, reading what it spends a batch at a time."""
    waiting = chain.offer.of(mempool.oldest_first(chain.db))
    while batch := list(islice(waiting, _BATCH)):
        state.prefetch(batch)
        yield from batch


def _decide(chain: PlatformChain, built: Built, state: DatabaseState) -> Step:
    """Return what to accept: with a proposal its preferred option."""
    block, outcome = built.block, built.outcome
    assert block is not None
    if isinstance(outcome, Diff):
        return Step((block,), outcome.changes())
    assert isinstance(outcome, Options)
    assert isinstance(block, ProposalBlock)
    commit, abort = build_options(block)
    if _deserves_reward(chain, block, state):
        return Step((block, commit), outcome.commit.changes())
    return Step((block, abort), outcome.abort.changes())


def _deserves_reward(chain: PlatformChain, proposal: ProposalBlock, state: DatabaseState) -> bool:
    """Say whether the staker that a proposal names was online enough, as its node's validator."""
    assert proposal.proposal is not None
    assert isinstance(proposal.proposal.unsigned, RewardValidatorTx)
    staker = state.staker(proposal.proposal.unsigned.tx_id)
    assert staker is not None, "the proposal was verified"
    seen = uptime.uptimes(chain.db, [staker.node_id])
    tracking = uptime.tracking(chain.db) is not None
    fraction = seen[0].fraction(staker.end, tracking=tracking) if seen else None
    return prefers_commit(fraction, chain.config.uptime_requirement)


def _drop(chain: PlatformChain, dropped: Sequence[tuple[Tx, InvalidTx]], now: int) -> None:
    """Take out of the mempool what can never be accepted, and keep the reasons."""
    _refuse(chain, {tx.tx_id: str(reason) for tx, reason in dropped}, now)


def _refuse(chain: PlatformChain, reasons: Mapping[ID, str], now: int) -> None:
    if not reasons:
        return
    chain.db.acquire(Lock.PCHAIN_MEMPOOL)
    for tx_id, reason in reasons.items():
        _log.info("dropped %s: %s", tx_id, reason)
    mempool.drop(chain.db, reasons.items(), now)


def _expel(chain: PlatformChain, now: int) -> bool:
    """Drop waiting transactions that make the rules fail instead of refusing; say if there are any."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        state = DatabaseState(chain.db)
        surroundings = env(chain, state.network, now)
        at = at_next_block(state, now, chain.config)
        failing: dict[ID, str] = {}
        for tx in _waiting(chain, state):
            try:
                execute(tx, Diff(at), surroundings)
            except InvalidTx:
                continue  # the builder finds that too, and says so
            except Exception:
                _log.exception("transaction %s fails instead of being refused", tx.tx_id)
                failing[tx.tx_id] = "internal error"
        _refuse(chain, failing, now)
        return bool(failing)
