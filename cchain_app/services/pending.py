"""The pending block, to which `pending` refers if this node alone makes the chain's blocks.

The code that builds the chain's blocks (`vm`) builds it, and it is never accepted. One block serves all methods and all
requests until the head, the pool, the conditions of the next block, or the time changes.
"""

import threading
import time
from collections.abc import Hashable
from typing import Final, NamedTuple

from cchain_app.blocks.assembly import PendingBlock
from cchain_app.config import ChainConfig
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.selectors import blocks, development, pool
from cchain_app.services.runtime import EvmRuntime
from cchain_app.services.vm import EvmVM
from chaindb import clock
from chaindb.connections import WouldBlock, on_event_loop
from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext, HeadMoved
from primitives.evm import Hash

QUICK_SECONDS: Final = 0.02
"""A block that took at most this time to build is built again as soon as anything has changed."""

KEPT_SECONDS: Final = 2.0
"""A block that took longer to build is kept for this time while only time passes; outside development chains also
while the pool changes, as in geth."""

_ATTEMPTS: Final = 10


class PendingBlockNotBuilt(Exception):
    """There is no pending block for this request."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"pending block is not available: {reason}")


class _Basis(NamedTuple):
    """All inputs of a pending block. Blocks with equal bases are equal."""

    head: Hash
    resets: int
    """Number of resets of this process's block memory (`BlockMemory.version`): after one, heights may have other blocks."""
    state: int | None
    """Version of the head's state, which state edits change; None while the head moves."""
    config: ChainConfig
    conditions: NextBlockOverrides
    offset: int
    """Seconds by which the chain's clock is ahead of wall time."""
    pool: Hashable
    """Version of the pool."""
    now: int
    """The chain's time, in Unix seconds."""


class _Built(NamedTuple):
    """A block, and the time until which it is kept."""

    block: PendingBlock | None
    """None if the chain makes no blocks."""
    basis: _Basis
    kept_until: float
    """On the monotonic clock, in seconds; 0 for a block that was built quickly."""

    def serves(self, basis: _Basis, *, while_building: bool, beside_pool: bool) -> bool:
        """Return whether this block is the pending block on a basis.

        Args:
            basis: The current one.
            while_building: Another thread is building the next block.
            beside_pool: A block that is kept may also lack transactions of the pool.
        """
        if basis.state is None:
            return False
        own = self.basis
        if while_building or time.monotonic() < self.kept_until:
            own = own._replace(now=basis.now, pool=basis.pool if beside_pool else own.pool)
        return own == basis


class PendingBlocks:
    """Builds the pending block of a chain and keeps it. Any number of threads share it; only one builds.

    Args:
        runtime: The chain.
    """

    def __init__(self, runtime: EvmRuntime) -> None:
        self._runtime = runtime
        self._chain = runtime.chain
        self._lock = threading.Lock()
        """Held by the thread that builds the block."""
        self._built: _Built | None = None

    def current(self) -> PendingBlock | None:
        """Return the pending block; None if `pending` refers to the last accepted block.

        Unspecified: it refers to that block if other nodes decide on blocks or make them, as on coreth, and on imported
        chains, which get no further blocks.

        Raises:
            WouldBlock: This is the event loop.
            PendingBlockNotBuilt: The head moved each time the block was built, or the engine rejects every block.
            UpstreamError: The chain is a fork, and the upstream does not return the state that the block needs.
        """
        consensus, head = self._runtime.consensus, blocks.head(self._chain)
        if not (consensus.decides_alone and consensus.may_produce(head.number + 1, clock.wall())):
            return None
        if on_event_loop():
            raise WouldBlock
        built = self._kept(while_building=self._lock.locked())
        if built is None:
            with self._lock:
                built = self._kept() or self._build()
                self._built = built
        return built.block

    def _kept(self, *, while_building: bool = False) -> _Built | None:
        built = self._built
        if built is None:
            return None
        beside_pool = not self._chain.is_development
        basis = self._basis()
        serves = built.serves(basis, while_building=while_building, beside_pool=beside_pool)
        return built if serves else None

    def _basis(self) -> _Basis:
        """Return the current basis. Read it before a block is built, so that a later change replaces the block."""
        chain = self._chain
        pool_version = pool.version(chain)
        head = blocks.head(chain)
        offset = clock.cchain_offset(chain.db)
        return _Basis(
            head.hash,
            chain.memory.blocks.version,
            chain.memory.state.version_at(head.number),
            chain.config,
            development.conditions(chain).of_blocks(),
            offset,
            pool_version,
            clock.wall() + offset,
        )

    def _build(self) -> _Built:
        """Build the block. The lock of the chain's consensus is not needed: blocks are made and accepted meanwhile."""
        for _ in range(_ATTEMPTS):
            basis, began = self._basis(), time.monotonic()
            try:
                block = self._preview(basis.now)
            except HeadMoved:
                continue
            except InvalidBlock as error:  # edits can break the system contracts
                raise PendingBlockNotBuilt(str(error)) from error
            if self._was_consistent(basis):
                ended = time.monotonic()
                is_quick = ended - began <= QUICK_SECONDS
                return _Built(block, basis, 0.0 if is_quick else ended + KEPT_SECONDS)
        raise PendingBlockNotBuilt("the head moved while it was built")

    def _preview(self, now: int) -> PendingBlock | None:
        """Build the block once, with the code that builds the chain's blocks.

        Raises:
            HeadMoved: It moved meanwhile.
        """
        chain = self._chain
        vm = EvmVM(chain, previews=True)
        with pool.read_ahead(chain):
            built = vm.build(BlockContext(now), allow_empty=True)
        if built is None:
            return None
        made, state = vm.executed(built.block_id)
        block = made.block
        parent = blocks.by_hash(chain, block.header.parent_hash)
        if parent is None:
            raise HeadMoved
        return PendingBlock(
            block.header,
            block.hash,
            block.size,
            block.transactions,
            block.receipts,
            withdrawals=block.withdrawals,
            payload=block.payload,
            parent=parent,
            state=state,
            trie=made.trie,
        )

    def _was_consistent(self, basis: _Basis) -> bool:
        """Return whether the state that a block was built on is the state of one block.

        A head that moved forward leaves the state of its parent readable; a rewind and a state edit do not.
        """
        now = self._basis()
        return now.resets == basis.resets and (now.head != basis.head or now.state == basis.state)
