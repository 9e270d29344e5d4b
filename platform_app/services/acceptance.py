"""Accepting blocks: the one way in which the chain grows.

Blocks that were built here and blocks of other nodes are verified on a view of the rows and without a lock
(`vm`), and written under the chain's lock if the rows still stand where they were.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from chaindb.locks import Lock
from chainvm.port import HeadMoved, Written
from platform_app import notifications
from platform_app.blocks.processing import Step
from platform_app.chain import PlatformChain
from platform_app.services import clearing
from platform_app.state.staker import Priority
from platform_app.store import blocks, mempool, uptime
from platform_app.store.blocks import Network, Tip
from platform_app.txs.base import Tx
from primitives.ids import ID, NodeID


@dataclass(frozen=True, slots=True)
class Origin:
    """How a processing block came to this node."""

    now: int
    """The node's time when it was built or verified, in Unix seconds."""
    built_here: bool = False
    refused: Sequence[tuple[ID, str]] = ()
    """What of the mempool its builder has found to be invalid for good, and why."""


def accept(
    chain: PlatformChain,
    steps: Sequence[Step],
    origins: Mapping[ID, Origin],
    parent: ID,
    *,
    written: Written,
) -> tuple[Network, Tip]:
    """Accept verified blocks that follow each other with what they change: all or none.

    Args:
        chain: Which chain.
        steps: The blocks and their changes; one at least.
        origins: Whence they come, by the first block of each step.
        parent: What the first of them follows.
        written: Called for each block in the transaction, when nobody else can write to the chain and
            no block is written yet; what it raises undoes all.

    Returns:
        Which chain it is, and where it stands now.

    Raises:
        HeadMoved: The last block that is stored is not the parent any more.
    """
    with chain.answers.changing(), chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        place = blocks.read(chain.db)
        if place is None or place[1].block_id != parent:
            raise HeadMoved

        def after(step: Step) -> None:
            origin = _origin(step, origins)
            if not origin.built_here:
                # Right behind its block: the stay may end in one of the next.
                uptime.learn(chain.db, _new_validators(step), origin.now)

        for step in steps:
            for block in step.blocks:
                written(block.block_id)
        place = write(chain, steps, place, after)
        _clear(chain, steps, origins)
        return place


def _nothing(step: Step) -> None:
    del step


def write(
    chain: PlatformChain,
    steps: Sequence[Step],
    place: tuple[Network, Tip] | None = None,
    after: Callable[[Step], None] = _nothing,
) -> tuple[Network, Tip]:
    """Write verified blocks and take their transactions out of the mempool.

    After the commit those who follow the chain are told of the last one. The caller holds the transaction
    and the locks of chain (`Lock.PCHAIN`).

    Args:
        chain: Which chain.
        steps: The blocks and their changes; one at least.
        place: Where the chain stands, of who has read it under the lock.
        after: Called for each step, once its rows are written.

    Returns:
        Where it stands now.
    """
    for step in steps:
        place = blocks.commit(chain.db, step.blocks, step.changes, place)
        after(step)
    assert place is not None
    # Even where nothing leaves the mempool: who admits asks several questions one after the other,
    # and all answers must be of one block.
    chain.db.acquire(Lock.PCHAIN_MEMPOOL)
    mempool.remove(
        chain.db, (tx.tx_id for step in steps for block in step.blocks for tx in block.txs)
    )
    last = steps[-1].blocks[-1]
    told = partial(notifications.head_accepted, chain, last.height, last.block_id)
    transaction.on_commit(told, using=chain.db.alias)
    return place


def _origin(step: Step, origins: Mapping[ID, Origin]) -> Origin:
    """Return whence a step comes: an option comes with its proposal."""
    return origins[step.blocks[0].block_id]


def _clear(chain: PlatformChain, steps: Sequence[Step], origins: Mapping[ID, Origin]) -> None:
    """Take out of the mempool what can never be accepted now."""
    accepted: list[Tx] = []
    for step in steps:
        origin = _origin(step, origins)
        clearing.drop(chain, origin.refused, origin.now)
        if not origin.built_here:
            accepted += (tx for block in step.blocks for tx in block.txs)
    if accepted:
        clearing.drop_rivals(chain, accepted, _origin(steps[-1], origins).now)


def _new_validators(step: Step) -> list[NodeID]:
    """Return the validators of the Primary Network that begin.

    They count as online until now, however old the block is: nobody here has looked before.
    """
    return [
        staker.node_id
        for staker in step.changes.stakers
        if staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT
    ]
