"""`ports.AcceptedChain`: a chain of this node with its outer blocks, as the network sees it.

Requests are answered from the database and write nothing.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from chaindb import clock
from chainvm.consensus import SoleConsensus
from chainvm.port import Block
from network_app.chains.accepting import Acceptor
from network_app.chains.backend import ChainBackend
from network_app.chains.outer_blocks import OuterRows
from network_app.chains.voting import voted_chain
from network_app.ports import (
    ANCESTOR_OVERHEAD,
    AcceptResult,
    BlockRef,
    ParsedBlock,
    TransactionSource,
)
from network_app.proposervm.vm import ProposerBlock
from network_app.store import fetched
from primitives.ids import ID, NodeID

if TYPE_CHECKING:  # imported with the connections
    from network_app.consensus.vm import VotedChain

CHUNK = 128
"""Number of blocks read together when many are requested."""
SINCE_BYTES = 8 * 1024 * 1024
"""Bytes of blocks since a height that are read together."""

B = TypeVar("B", bound=Block)


class NetworkChain(Generic[B]):
    """One chain of this node for the network.

    Args:
        rows: The outer blocks of its accepted blocks.
        chain_id: Returns its ID, once there is a genesis.
        inner: The inner chain.
        acceptor: Accepts blocks of other nodes.
        consensus: Decides on its blocks if this node produces them.
    """

    def __init__(
        self,
        rows: OuterRows,
        chain_id: Callable[[], ID],
        inner: ChainBackend[B],
        acceptor: Acceptor[B],
        consensus: SoleConsensus[ProposerBlock[B]],
    ) -> None:
        self.alias = rows.alias
        self.vm = acceptor.vm
        """The chain with its outer blocks."""
        self.consensus = consensus
        """Decides on its blocks if this node produces them."""
        self.rows = rows
        """The outer blocks of its accepted blocks."""
        self._chain_id = chain_id
        self._inner = inner
        self._acceptor = acceptor
        self._on_disk = 0
        """Height up to which blocks are flushed to disk; peers learn only of blocks up to it."""

    @property
    def chain_id(self) -> ID:
        """The ID of the chain."""
        return self._chain_id()

    def voted(self, *, followed: NodeID | None = None) -> "VotedChain[ProposerBlock[B]]":
        """Return the chain for the engine that votes on it, or that queries the followed node. Blocking."""
        return voted_chain(
            self.alias,
            self.chain_id,
            self.vm,
            self.rows,
            timing=self._inner.timing,
            followed=followed,
        )

    def begin(self) -> None:
        """Create missing outer blocks of accepted blocks before the first request for them."""
        self.vm.get()

    # accepted blocks

    def last_accepted(self) -> BlockRef:
        """Return the last accepted block."""
        tip = self.rows.tip()
        self._flush_up_to(tip.height)
        return tip

    def accepted_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the accepted blocks at these heights."""
        self.last_accepted()
        return self.rows.ids_at(heights)

    def height_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of these blocks, None for those that are not accepted."""
        return self.rows.heights_of(block_ids)

    def block(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes; genesis is bare."""
        genesis = self.rows.genesis
        return genesis.raw if block_id == genesis.block_id else self.rows.raw(block_id)

    def ancestors(self, block_id: ID, *, count: int, size: int, seconds: float) -> list[bytes]:
        """Return an accepted block and its ancestors, newest first; empty if the block is unknown.

        The genesis block, which every node has, is returned only for a request for that block itself.
        """
        until = time.monotonic() + seconds
        (top,) = self.height_of([block_id])
        if top == 0:
            return [self.rows.genesis.raw]
        found: list[bytes] = []
        while top and len(found) < count and (not found or time.monotonic() < until):
            bottom = max(1, top - min(CHUNK, count - len(found)) + 1)
            pieces = self.rows.raws(top, bottom, size)
            for _, raw in pieces:
                size -= len(raw) + ANCESTOR_OVERHEAD
                if size < 0 and found:
                    return found
                found.append(raw)
            top = pieces[-1][0].height - 1
        return found

    def accepted_since(self, height: int, count: int) -> list[tuple[BlockRef, bytes]]:
        """Return accepted blocks above a height, in order."""
        top = min(self.last_accepted().height, height + count)
        return [] if top <= height else self.rows.raws(height + 1, top, SINCE_BYTES)

    def _flush_up_to(self, height: int) -> None:
        """Flush the database, so that a power loss cannot undo a block that other nodes know."""
        if height > self._on_disk:
            self.rows.db.flush()
            self._on_disk = height

    # blocks of other nodes

    def parse(self, raw: bytes) -> ParsedBlock:
        """Parse a block. Raises BlockRejection."""
        block = self._acceptor.parse(raw)
        return ParsedBlock(
            block.block_id,
            block.parent_id,
            block.height,
            raw,
            needs_option=self._inner.is_proposal(block.inner),
        )

    def accept(self, raws: Sequence[bytes]) -> AcceptResult:
        """Verify, execute and accept blocks in order; see `ports.AcceptedChain.accept`."""
        return self._acceptor.accept(raws)

    # blocks fetched while bootstrapping

    def keep_fetched(self, blocks: Sequence[ParsedBlock]) -> None:
        """Store fetched blocks."""
        with self.rows.db.atomic(durable=True):
            fetched.keep(self.rows.db, self.alias, blocks)

    def fetched(self, above: int, count: int) -> list[bytes]:
        """Return consecutive stored blocks above a height."""
        return fetched.above(self.rows.db, self.alias, above, count)

    def fetched_extent(self) -> tuple[BlockRef, ID] | None:
        """Return the lowest stored block and the ID of its parent."""
        return fetched.lowest(self.rows.db, self.alias)

    def fetched_bytes(self) -> int:
        """Return the total size of the stored blocks in bytes."""
        return fetched.size(self.rows.db, self.alias)

    def forget_fetched(self, up_to: int | None = None) -> None:
        """Delete stored blocks up to a height, or all."""
        with self.rows.db.atomic(durable=True):
            fetched.forget(self.rows.db, self.alias, up_to)

    # transactions

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """The pools besides that of the usual transactions, by the number of their gossip handler."""
        return self._inner.more_transactions

    def state_summary(self) -> bytes | None:
        """Return the summary of a state that a fresh peer may ask for; None: the chain has no summaries."""
        return self._inner.state_summary()

    def waiting(self, limit: int) -> Sequence[ID]:
        """Return IDs of pending transactions, newest last."""
        return self._inner.waiting(limit)

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the bytes of pending transactions."""
        return self._inner.transactions(tx_ids)

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID."""
        return self._inner.transaction_id(raw)

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        """Add transactions to the pool; return each ID or the reason for rejection."""
        return self._inner.issue(raws, now=clock.now())
