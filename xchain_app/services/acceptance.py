"""Acceptance of blocks, the only way in which the chain grows, and the processing blocks above it.

Blocks are verified on a view of the rows without a lock (`vm`). They are written under the chain's lock, if the rows have
not changed since.
"""

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from chaindb.locks import Lock
from chainvm.port import HeadMoved, Written
from primitives.ids import ID
from xchain_app import notifications
from xchain_app.blocks.processing import AvmProcessingBlocks
from xchain_app.chain import AvmChain
from xchain_app.store import blocks, mempool
from xchain_app.store.blocks import AcceptedAvmBlock, StoredXChain, XTip
from xchain_app.store.state import NoXChain, XDatabaseState
from xchain_app.txs.base import conflict_keys


def accept(
    chain: AvmChain, accepted: Sequence[AcceptedAvmBlock], parent: ID, *, written: Written
) -> tuple[StoredXChain, XTip]:
    """Accept consecutive verified blocks with their changes, all or none of them, shared memory included.

    After the commit, subscribers are notified of the last block.

    Args:
        chain: The chain.
        accepted: The blocks; at least one.
        parent: The parent of the first block.
        written: Called for each block in the transaction, while no other process can write to the chain
            and before any block is written; an exception rolls everything back.

    Returns:
        The chain and its new tip.

    Raises:
        HeadMoved: The last stored block is no longer the parent.
        SharedMemoryConflict: A block imports or exports an output a second time.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(chain.lock)
        place = blocks.read(chain.db)
        if place is None or place[1].block_id != parent:
            raise HeadMoved
        for item in accepted:
            written(item.block.block_id)
        place = blocks.commit(chain.db, accepted, place)
        _clear_mempool(chain, accepted)
        last = accepted[-1].block
        announce = partial(notifications.head_accepted, chain, last.height, last.block_id)
        transaction.on_commit(announce, using=chain.db.alias)
        return place


def _clear_mempool(chain: AvmChain, accepted: Sequence[AcceptedAvmBlock]) -> None:
    """Remove accepted transactions and those that conflict with them; forget the reasons of refusals."""
    chain.db.acquire(Lock.XCHAIN_MEMPOOL)
    mempool.forget_reasons(chain.db)
    if mempool.is_empty(chain.db):
        return
    txs = [tx for item in accepted for tx in item.block.txs]
    keys = {key for tx in txs for key in conflict_keys(tx.unsigned)}
    conflicting = mempool.spenders(chain.db, list(keys)).values()
    mempool.remove(chain.db, {*conflicting, *(tx.tx_id for tx in txs)})


class XTree:
    """Processing blocks and the accepted state below them. Not thread-safe.

    Rows are read without a lock, so another process may accept a block between two reads. Blocks verified
    meanwhile are not valid; acceptance detects that, and the VM checks the rows before it rejects a block.

    Args:
        chain: The chain. Nothing is read from it before the first access.
    """

    def __init__(self, chain: AvmChain) -> None:
        self._chain = chain
        self._view: tuple[XDatabaseState, AvmProcessingBlocks] | None = None
        self.own: set[ID] = set()
        """The processing blocks that were built here: their transactions are still in the mempool."""

    @property
    def state(self) -> XDatabaseState:
        """The accepted state. It caches its reads until the rows are checked."""
        return self._loaded()[0]

    @property
    def blocks(self) -> AvmProcessingBlocks:
        """The processing blocks."""
        return self._loaded()[1]

    def refresh(self) -> bool:
        """Check the rows; return whether the tip has changed, in which case processing blocks are dropped.

        Raises:
            NoXChain: The database holds no chain.
        """
        place = blocks.read(self._chain.db)
        if place is None:
            raise NoXChain
        moved = self._view is not None and self.state.tip.block_id != place[1].block_id
        if moved:
            self.forget()
        self.read_from(place)
        return moved

    def read_from(self, place: tuple[StoredXChain, XTip]) -> None:
        """Read the accepted state afresh from now on."""
        state = XDatabaseState(self._chain.db, place)
        if self._view is None:
            self._view = state, AvmProcessingBlocks(state.tip, state)
        else:
            processing = self._view[1]
            processing.rebase(state)
            self._view = state, processing

    def forget(self) -> None:
        """Drop the processing blocks. They would be lost in a restart too."""
        self._view = None
        self.own.clear()

    def _loaded(self) -> tuple[XDatabaseState, AvmProcessingBlocks]:
        if self._view is None:
            self.refresh()
        assert self._view is not None
        return self._view
