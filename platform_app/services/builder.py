"""The heartbeat: build a block of what waits and what the clock brings, and accept it.

Blocks that others have made come in by `following`; both accept by `accept`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from django.db import DatabaseError
from django.db import transaction as database

from chaindb import turns
from chaindb.building import building
from chaindb.chains import Chain
from chaindb.locks import Lock, acquire
from chaindb.offers import Offer
from platform_app import notifications
from platform_app.apps import platform_chain
from platform_app.blocks.block import Block, ProposalBlock, build_options
from platform_app.blocks.builder import Built, build
from platform_app.blocks.executor import Options
from platform_app.executor.clock import at_next_block
from platform_app.executor.proposal import prefers_commit
from platform_app.executor.standard import execute
from platform_app.services import renewal
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

MOST_TXS = 1_024
"""Of a block, about; where one came too late for this node's turn the next is offered parts of that."""

_offer = Offer(MOST_TXS)
_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """What is accepted at once, and what it changes.

    Several blocks are a proposal and its option, of which one alone is never stored.
    """

    blocks: tuple[Block, ...]
    changes: StateChanges


def build_block(*, now: int) -> Block | None:
    """Build one block, accept it and return it.

    None when there is nothing to put in, or when it is not this node's turn (`chaindb.turns`).

    A proposal is decided at once, by what this node prefers (pchain.md 7.4), and the option returned.

    Args:
        now: The node's time in Unix seconds. The block's is earlier where a staker changes before.
    """
    try:
        return _next_good_block(now)
    except turns.TurnOver as over:
        _offer.was_late(over)
        renewal.undo_attempt()
        return None


def _next_good_block(now: int) -> Block | None:
    try:
        return _next_block(now)
    except (DatabaseError, turns.TurnOver):
        raise
    except Exception:
        # Whatever it is, it must not hold up the chain for ever.
        if not _expel(now):
            raise
        return _next_block(now)


@database.atomic(durable=True)
def _next_block(now: int) -> Block | None:
    acquire(Lock.PCHAIN)
    state = DatabaseState(platform_chain().db)
    height = state.tip.height + 1
    if not turns.may_produce(Chain.P, height, now):
        return None
    with building(Chain.P, height):
        built = _renewal(state, now) or _build(state, _waiting(state), now)
        _drop(built.dropped, now)
        if built.block is None:
            return None
        step = _decide(built, state)
        turns.hold(Chain.P, height)  # else nothing is dropped or renewed either
        accept([step])
        _offer.was_taken()
        return step.blocks[-1]


def accept(steps: Sequence[Step], beside: Beside = lambda _block: None) -> None:
    """Accept verified blocks with what they change: the one way in which the chain grows.

    After the commit those who follow the chain are told of the last one. The caller holds `Lock.PCHAIN`
    and the transaction.
    """
    for step in steps:
        blocks.commit(platform_chain().db, step.blocks, step.changes)
        for block in step.blocks:
            beside(block)
    # Even where nothing leaves the mempool: who admits asks several questions one after the other,
    # and all answers must be of one block.
    acquire(Lock.PCHAIN_MEMPOOL)
    mempool.remove(
        platform_chain().db,
        (tx.tx_id for step in steps for block in step.blocks for tx in block.txs),
    )
    last = steps[-1].blocks[-1]
    database.on_commit(partial(notifications.head_accepted, last.height, last.block_id))


def _build(state: DatabaseState, waiting: Iterable[Tx], now: int) -> Built:
    return build(state.tip, state, waiting, env(state.network, now))


def _renewal(state: DatabaseState, now: int) -> Built | None:
    """Return the block that makes this node a validator again where it no longer is one.

    It stands at chain time, the moment at which the last stay ended, however late it is built: there
    is no gap between the two. What else waits is not measured by that earlier clock.
    """
    tx = renewal.renew_own_validator(now=state.timestamp())
    if tx is None:
        return None
    built = _build(state, [tx], state.timestamp())
    if built.block is None:
        reasons = [str(reason) for _, reason in built.dropped]
        _refuse({tx.tx_id: reasons[0] if reasons else "it does not fit into a block"}, now)
        return None
    return built


def _waiting(state: DatabaseState) -> Iterator[Tx]:
    """Walk what waits, reading what it spends a batch at a time."""
    waiting = _offer.of(mempool.oldest_first(platform_chain().db))
    while batch := list(islice(waiting, _BATCH)):
        state.prefetch(batch)
        yield from batch


def _decide(built: Built, state: DatabaseState) -> Step:
    """Return what to accept: with a proposal its preferred option."""
    block, outcome = built.block, built.outcome
    assert block is not None
    if isinstance(outcome, Diff):
        return Step((block,), outcome.changes())
    assert isinstance(outcome, Options)
    assert isinstance(block, ProposalBlock)
    commit, abort = build_options(block)
    if _deserves_reward(block, state):
        return Step((block, commit), outcome.commit.changes())
    return Step((block, abort), outcome.abort.changes())


def _deserves_reward(proposal: ProposalBlock, state: DatabaseState) -> bool:
    """Say whether the staker that a proposal names was online enough, as its node's validator."""
    assert proposal.proposal is not None
    assert isinstance(proposal.proposal.unsigned, RewardValidatorTx)
    staker = state.staker(proposal.proposal.unsigned.tx_id)
    assert staker is not None, "the proposal was verified"
    seen = uptime.uptimes(platform_chain().db, [staker.node_id])
    tracking = uptime.tracking(platform_chain().db) is not None
    fraction = seen[0].fraction(staker.end, tracking=tracking) if seen else None
    return prefers_commit(fraction, platform_chain().config.uptime_requirement)


def _drop(dropped: Sequence[tuple[Tx, InvalidTx]], now: int) -> None:
    """Take out of the mempool what can never be accepted, and keep the reasons."""
    _refuse({tx.tx_id: str(reason) for tx, reason in dropped}, now)


def _refuse(reasons: Mapping[ID, str], now: int) -> None:
    if not reasons:
        return
    acquire(Lock.PCHAIN_MEMPOOL)
    for tx_id, reason in reasons.items():
        _log.info("dropped %s: %s", tx_id, reason)
    mempool.drop(platform_chain().db, reasons.items(), now)


@database.atomic(durable=True)
def _expel(now: int) -> bool:
    """Drop waiting transactions that make the rules fail instead of refusing; say if there are any."""
    acquire(Lock.PCHAIN)
    state = DatabaseState(platform_chain().db)
    surroundings = env(state.network, now)
    at = at_next_block(state, now, platform_chain().config)
    failing: dict[ID, str] = {}
    for tx in _waiting(state):
        try:
            execute(tx, Diff(at), surroundings)
        except InvalidTx:
            continue  # the builder finds that too, and says so
        except Exception:
            _log.exception("transaction %s fails instead of being refused", tx.tx_id)
            failing[tx.tx_id] = "internal error"
    _refuse(failing, now)
    return bool(failing)
