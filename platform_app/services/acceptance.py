"""Acceptance of blocks, the only way in which the chain grows, and the processing blocks above it.

Blocks built here and blocks of other nodes are verified on a view of the rows without a lock (`vm`). They
are written under the chain's lock, if the rows have not changed since.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db import transaction

from chaindb.locks import Lock
from chainvm.port import BlockContext, HeadMoved, Written
from platform_app import notifications
from platform_app.blocks.processing import PlatformProcessingBlocks, WriteStep
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.config import Env
from platform_app.selectors import stakers
from platform_app.services import clearing
from platform_app.state.stakers import Priority
from platform_app.store import blocks, mempool, uptime
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class ProcessingOrigin:
    """The origin of a processing block."""

    now: int
    """The node's time when it was built or verified, in Unix seconds."""
    built_here: bool = False
    refused: Sequence[tuple[ID, str]] = ()
    """Transactions of the mempool that its builder found permanently invalid, with the reasons."""


def accept(
    chain: PlatformChain,
    steps: Sequence[WriteStep],
    origins: Mapping[ID, ProcessingOrigin],
    parent: ID,
    *,
    written: Written,
) -> tuple[StoredNetwork, Tip]:
    """Accept consecutive verified blocks with their changes, all or none of them.

    Args:
        chain: The chain.
        steps: The blocks and their changes; at least one.
        origins: Their origins, by the first block of each step.
        parent: The parent of the first block.
        written: Called for each block in the transaction, while no other process can write to the chain
            and before any block is written; an exception rolls everything back.

    Returns:
        The network and its new tip.

    Raises:
        HeadMoved: The last stored block is no longer the parent.
    """
    with chain.answers.changing(), chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        place = blocks.read(chain.db)
        if place is None or place[1].block_id != parent:
            raise HeadMoved

        def after(step: WriteStep) -> None:
            origin = _origin(step, origins)
            if not origin.built_here:
                # Directly after its block, because the staking period may end in one of the next blocks.
                _count_untracked(chain, step, origin.now)

        for step in steps:
            for block in step.blocks:
                written(block.block_id)
        place = write(chain, steps, place, after)
        _clear(chain, steps, origins)
        return place


def _nothing(step: WriteStep) -> None:
    del step


def write(
    chain: PlatformChain,
    steps: Sequence[WriteStep],
    place: tuple[StoredNetwork, Tip] | None = None,
    after: Callable[[WriteStep], None] = _nothing,
) -> tuple[StoredNetwork, Tip]:
    """Write verified blocks and remove their transactions from the mempool.

    After the commit, subscribers are notified of the last block and of new blockchains. The caller holds
    the transaction and the chain's lock (`Lock.PCHAIN`).

    Args:
        chain: The chain.
        steps: The blocks and their changes; at least one.
        place: The network and tip, if the caller has read them under the lock.
        after: Called for each step, once its rows are written.

    Returns:
        The network and its new tip.
    """
    for step in steps:
        place = blocks.commit(chain.db, step.blocks, step.diff, place)
        after(step)
    assert place is not None
    # Taken even if nothing leaves the mempool: an admission makes several queries in sequence,
    # and all results must be from the same block.
    chain.db.acquire(Lock.PCHAIN_MEMPOOL)
    mempool.remove(
        chain.db, (tx.tx_id for step in steps for block in step.blocks for tx in block.txs)
    )
    last = steps[-1].blocks[-1]
    announce = partial(notifications.head_accepted, chain, last.height, last.block_id)
    transaction.on_commit(announce, using=chain.db.alias)
    if any(step.diff.subnets.changes().blockchains for step in steps):
        announce = partial(notifications.blockchains_changed, chain)
        transaction.on_commit(announce, using=chain.db.alias)
    return place


def _origin(step: WriteStep, origins: Mapping[ID, ProcessingOrigin]) -> ProcessingOrigin:
    """Return the origin of a step: an option has that of its proposal."""
    return origins[step.blocks[0].block_id]


def _clear(
    chain: PlatformChain, steps: Sequence[WriteStep], origins: Mapping[ID, ProcessingOrigin]
) -> None:
    """Remove transactions from the mempool that can no longer be accepted."""
    accepted: list[Tx] = []
    for step in steps:
        origin = _origin(step, origins)
        clearing.drop(chain, origin.refused, origin.now)
        if not origin.built_here:
            accepted += (tx for block in step.blocks for tx in block.txs)
    if accepted:
        clearing.drop_rivals(chain, accepted, _origin(steps[-1], origins).now)


def _count_untracked(chain: PlatformChain, step: WriteStep, now: int) -> None:
    """Count the time in which this node did not track a step's validators of the Primary Network as online.

    Validators that start count as online until now, however old the block is. A renewed validator was tracked
    before the block, so it counts as online only until this node began to track its present connections.
    """
    changes = step.diff.stakers.changes()
    renewed = changes.renewed({tx.tx_id for tx, _ in step.diff.txs.changes()})
    known = {staker.node_id for staker in renewed}
    started = [
        staker.node_id
        for staker in changes.present
        if staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT and staker.node_id not in known
    ]
    uptime.learn(chain.db, started, now)
    if known:
        began = uptime.connected(chain.db).get(chain.node_id, now)
        uptime.learn(chain.db, known, min(began, now))


class PlatformTree:
    """Processing blocks and the accepted state below them. Not thread-safe.

    Rows are read without a lock, so another process may accept a block between two reads. Blocks verified
    meanwhile are not valid; acceptance detects that, and the VM checks the rows before it rejects a block.

    Args:
        chain: The chain. Nothing is read from it before the first access.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._view: tuple[DatabaseState, PlatformProcessingBlocks] | None = None
        self.origins: dict[ID, ProcessingOrigin] = {}
        """The origins of blocks that are processing, or accepted and not written yet."""

    @property
    def state(self) -> DatabaseState:
        """The accepted state. It caches its reads until the rows are checked."""
        return self._loaded()[0]

    @property
    def blocks(self) -> PlatformProcessingBlocks:
        """The processing blocks."""
        return self._loaded()[1]

    @property
    def stored(self) -> ID:
        """The last block whose rows are written."""
        return self.state.tip.block_id

    def env(self, context: BlockContext) -> Env:
        """Return the environment for executing a block; in one that is decided, warp messages are not checked again.

        Where nodes vote, a block without a P-Chain height has height 0 (etna.md 7.3), so that they agree on its messages.
        """
        height = 0 if context.lacks_height else context.p_chain_height
        env = self._chain.env(self.state.network, context.now, height, decided=context.decided)
        if context.decided:
            return env
        return replace(env, signers=partial(stakers.signers_at, self._chain))

    def refresh(self) -> bool:
        """Check the rows; return whether the tip has changed, in which case processing blocks are dropped.

        Raises:
            NoPlatformGenesis: The database holds no chain.
        """
        place = blocks.read(self._chain.db)
        if place is None:
            raise NoPlatformGenesis
        moved = self._view is not None and self.stored != place[1].block_id
        if moved:
            self.forget()
        self._read_from(place)
        return moved

    def move(self, steps: Sequence[WriteStep], place: tuple[StoredNetwork, Tip]) -> None:
        """Continue from blocks that were accepted and written; `place` is the new network and tip."""
        self._read_from(place)
        for step in steps:
            for block in step.blocks:
                del self.origins[block.block_id]

    def forget(self) -> None:
        """Drop the processing blocks. They would be lost in a restart too."""
        self._view = None
        self.origins.clear()

    def _loaded(self) -> tuple[DatabaseState, PlatformProcessingBlocks]:
        if self._view is None:
            self.refresh()
        assert self._view is not None
        return self._view

    def _read_from(self, place: tuple[StoredNetwork, Tip]) -> None:
        """Read the accepted state afresh from now on."""
        state = DatabaseState(self._chain.db, place)
        if self._view is None:
            self._view = state, PlatformProcessingBlocks(state.tip, state)
        else:
            blocks = self._view[1]
            blocks.rebase(state)
            self._view = state, blocks
