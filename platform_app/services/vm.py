"""The P-Chain as a `ChainVM`: the owner of its processing blocks.

Blocks are verified on undecided parents in memory (`acceptance.PlatformTree`, `blocks.processing`). Rows, caches and
notifications change on acceptance only (`acceptance`). Not thread-safe.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

from django.db import DatabaseError

from chainvm.port import BlockContext, Written
from platform_app.blocks import block as block_codec
from platform_app.blocks.block import Block, ProposalBlock
from platform_app.blocks.builder import BuiltBlock, build_on_preferred
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from platform_app.services import acceptance, clearing, mempool, uptime
from platform_app.services.acceptance import PlatformTree, ProcessingOrigin
from platform_app.store import mempool as mempool_rows
from platform_app.txs.base import Tx
from primitives.codec_errors import CodecError
from primitives.counting import counted
from primitives.ids import ID

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


def parse_block(raw: bytes) -> Block:
    """Parse a block from another node.

    Raises:
        InvalidBlock: The bytes are not a block, have trailing data, or are too long.
    """
    try:
        return block_codec.parse_block(raw)
    except CodecError as reason:
        raise InvalidPlatformBlock(PlatformBlockReason.UNREADABLE_BLOCK, cause=reason) from reason


class OwnTxs(Protocol):
    """Issues the node's own transactions, each in its own block before all pending transactions."""

    def propose(self, *, now: int) -> Tx | None:
        """Return a transaction for the next block at a chain time in Unix seconds, or None.

        Nothing is written: the transaction does not enter the mempool, and is lost if its block fails.
        """

    def undo(self) -> None:
        """Record that the block of the last transaction failed."""


class PlatformVM:
    """A P-Chain for consensus; implements `chainvm.port.ChainVM`. Its methods block: call them in threads.

    Args:
        chain: The chain.
        own: Issues the node's own transactions; None: it has none.
    """

    def __init__(self, chain: PlatformChain, own: OwnTxs | None = None) -> None:
        self._chain = chain
        self.own = own
        """Issues the node's own transactions."""
        self._tree = PlatformTree(chain)
        self._last: Block | None = None
        """The last accepted block, cached because consensus reads it before each block."""

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID, including blocks accepted by another process.

        Raises:
            NoGenesis: The database holds no chain.
        """
        self._tree.refresh()
        return self._tree.blocks.last_accepted

    def get_block(self, block_id: ID) -> Block | None:
        """Return a processing or an accepted block; None for any other ID."""
        processing = self._tree.blocks.get(block_id)
        if processing is not None:
            return processing
        is_last = block_id == self._tree.stored
        if is_last and self._last is not None and self._last.block_id == block_id:
            return self._last
        stored = accepted.block(self._chain, block_id)
        if stored is None:
            return None
        block = block_codec.parse_block(stored.raw)
        if is_last:
            self._last = block
        return block

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted block."""
        blocks = self._tree.blocks
        unwritten = blocks.get(blocks.last_accepted)
        if unwritten is not None and unwritten.height == height:
            return unwritten.block_id
        stored = accepted.block_at(self._chain, height)
        return None if stored is None else stored.block_id

    def parse(self, raw: bytes) -> Block:
        """Parse a block; see `parse_block`."""
        return parse_block(raw)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> Block | None:
        """Build a block on the preferred block and make it processing.

        None if there is nothing to include, or if the preferred block is a proposal, which its options follow.

        Transactions that are permanently invalid on the accepted state leave the mempool with the block, or
        immediately if there is no block; on an undecided parent they may still be valid elsewhere.
        Transactions that crash the rules leave it immediately, because they would block the chain forever.

        Args:
            context: The context with the node's time. The block's time is earlier if a staker changes before.
            allow_empty: No effect: the chain's rules allow no block without a change.
        """
        del allow_empty
        build = partial(self._build, context)
        try:
            return self._retry_if_moved(build)
        except DatabaseError:
            raise
        except Exception:
            if not self._drop_crashing(context.now):
                raise
            return build()

    def verify(self, block: Block, context: BlockContext) -> None:
        """Verify a block on its parent; if valid, it becomes processing.

        Raises:
            InvalidBlock: It breaks a rule; the reason says which. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        self._retry_if_moved(partial(self._verify, block, context))

    def verify_all(self, line: Sequence[Block], contexts: Sequence[BlockContext]) -> None:
        """Verify consecutive blocks as `verify` does: either all of them become processing, or none.

        The outputs that they spend are read together.

        Raises:
            InvalidBlock: A block breaks a rule or does not follow the block before; the reason says which.
        """
        self._retry_if_moved(partial(self._verify_all, line, contexts))

    def options(self, block: Block) -> tuple[Block, Block] | None:
        """Return the commit and abort blocks of a proposal, the preferred one first; None for any other block.

        Unspecified: if the state it was verified on is not known (any longer), commit comes first.
        """
        blocks = self._tree.blocks
        options = blocks.options(block)
        state = blocks.state_after(block.parent_id)
        if options is None or state is None or uptime.deserves_reward(self._chain, block, state):
            return options
        commit, abort = options
        return abort, commit

    def builds_from(self, milliseconds: int) -> int:
        """Return the time itself: the chain's rules have no least time between blocks."""
        return milliseconds

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the last accepted block.
        """
        self._tree.blocks.prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept consecutive processing blocks that follow the last accepted one, in one transaction.

        A proposal is written with its option, so it stays in memory until then. The transactions of other
        nodes' rejected blocks go to the mempool. If anything fails, all processing blocks are dropped.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it.
            HeadMoved: Another process has accepted a block meanwhile.
        """
        tree = self._tree
        try:
            decision = tree.blocks.accept(block_ids)
            if decision.steps:
                place = acceptance.accept(
                    self._chain, decision.steps, tree.origins, tree.stored, written=written
                )
                tree.move(decision.steps, place)
                self._last = decision.steps[-1].blocks[-1]
        except BaseException:
            tree.forget()
            self._undo_own()
            raise
        self._reissue(decision.rejected)

    def reject(self, block_id: ID) -> None:
        """Reject a processing block and its descendants; transactions of other nodes' blocks go to the mempool.

        Raises:
            NotProcessing: The block is not processing.
        """
        self._reissue(self._tree.blocks.reject(block_id))

    def _retry_if_moved(self, work: Callable[[], T]) -> T:
        """Call a function; if it fails and the rows have changed meanwhile, call it once more."""
        try:
            return work()
        except DatabaseError:
            raise
        except Exception:
            if not self._tree.refresh():
                raise
            return work()

    def _build(self, context: BlockContext) -> Block | None:
        tree, now = self._tree, context.now
        preferred = tree.blocks.preference
        if isinstance(tree.blocks.get(preferred), ProposalBlock):
            return None
        on_accepted = preferred == tree.stored
        built = self._build_own(context) if on_accepted else None
        if built is None:
            by_price = self._chain.config.gas_fees_only
            pending = mempool_rows.prefetched(self._chain.db, tree.state, by_price=by_price)
            built = build_on_preferred(tree.blocks, pending, tree.env(context))
        refused = _reasons(built) if on_accepted else ()
        if built.block is None:
            clearing.drop_unless_moved(self._chain, refused, tree.state.place, now)
            return None
        before = tree.origins.get(built.block.block_id)
        built_here = before is None or before.built_here
        tree.origins[built.block.block_id] = ProcessingOrigin(now, built_here, refused)
        return built.block

    def _build_own(self, context: BlockContext) -> BuiltBlock | None:
        """Build a block of a transaction of the node's own; None without such a transaction, or if it is rejected.

        It has chain time, however late it is built: a renewed staking period starts at the moment when the
        last one ended. Other pending transactions are not verified at that earlier time.
        """
        tree, moment = self._tree, self._tree.state.clock.timestamp()
        tx = None if self.own is None else self.own.propose(now=moment)
        if tx is None:
            return None
        built = build_on_preferred(tree.blocks, [tx], tree.env(context._replace(now=moment)))
        if built.block is None:
            clearing.drop_unless_moved(self._chain, _reasons(built), tree.state.place, context.now)
            return None
        return built

    def _undo_own(self) -> None:
        if self.own is not None:
            self.own.undo()

    def _drop_crashing(self, now: int) -> bool:
        """Drop transactions that crash the rules; return whether there were any."""
        tree = self._tree
        state = tree.blocks.state_after(tree.blocks.preference)
        assert state is not None, "nothing is built on a proposal"
        crashing = list(clearing.crashing(self._chain, tree.state, state, now))
        clearing.drop_unless_moved(self._chain, crashing, tree.state.place, now)
        return bool(crashing)

    def _verify(self, block: Block, context: BlockContext) -> None:
        tree = self._tree
        if block.block_id in tree.blocks:
            return
        tree.state.prefetch(block.txs)
        tree.blocks.verify(block, tree.env(context))
        tree.origins[block.block_id] = ProcessingOrigin(context.now)

    def _verify_all(self, line: Sequence[Block], contexts: Sequence[BlockContext]) -> None:
        tree = self._tree
        tree.state.prefetch(tx for block in line for tx in block.txs)
        tree.blocks.verify_line(line, [tree.env(context) for context in contexts])
        for block, context in zip(line, contexts, strict=True):
            tree.origins.setdefault(block.block_id, ProcessingOrigin(context.now))

    def _reissue(self, rejected: Iterable[Block]) -> None:
        """Submit the transactions of rejected blocks to the mempool; those of own blocks are still in it.

        The decision remains even if that fails: clients reissue transactions that were not committed.
        """
        txs: list[Tx] = []
        now = 0
        for block in rejected:
            origin = self._tree.origins.pop(block.block_id)
            if origin.built_here:
                self._undo_own()
            else:
                txs += block.txs
                now = max(now, origin.now)
        if not txs:
            return
        try:
            mempool.issue(self._chain, txs, now=now, gossiped=True)
        except Exception:
            lost = counted(len(txs), "transaction")
            _log.exception("not in the mempool: %s of rejected blocks", lost)


def _reasons(built: BuiltBlock) -> tuple[tuple[ID, str], ...]:
    """Return the transactions that a builder rejected, with the reasons."""
    return tuple((tx.tx_id, str(reason)) for tx, reason in built.dropped)
