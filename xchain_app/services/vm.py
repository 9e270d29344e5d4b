"""The X-Chain as a `ChainVM`: the owner of its processing blocks.

Blocks are verified on undecided parents in memory (`acceptance.XTree`, `blocks.processing`). Rows and notifications change
on acceptance only (`acceptance`). Not thread-safe.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from django.db import DatabaseError

from chaindb.locks import Lock
from chainvm.port import BlockContext, Written
from primitives.codec_errors import CodecError
from primitives.ids import ID
from utxo.errors import InvalidTx
from xchain_app.blocks import block as block_codec
from xchain_app.blocks.block import AvmBlock
from xchain_app.blocks.builder import build_on_preferred
from xchain_app.blocks.errors import AvmBlockReason, InvalidAvmBlock
from xchain_app.chain import AvmChain
from xchain_app.config import AvmEnv
from xchain_app.selectors import accepted
from xchain_app.services import acceptance, mempool
from xchain_app.services.acceptance import XTree
from xchain_app.store import blocks
from xchain_app.store import mempool as mempool_rows
from xchain_app.store.blocks import AcceptedAvmBlock
from xchain_app.txs.base import AvmTx

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


def parse_block(raw: bytes) -> AvmBlock:
    """Parse a block from another node.

    Raises:
        InvalidBlock: The bytes are not a block, have trailing data, or are too long.
    """
    try:
        return block_codec.parse_block(raw)
    except CodecError as reason:
        raise InvalidAvmBlock(AvmBlockReason.UNREADABLE_BLOCK, cause=reason) from reason


class AvmVM:
    """An X-Chain for consensus; implements `chainvm.port.ChainVM`. Its methods block: call them in threads.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: AvmChain) -> None:
        self._chain = chain
        self._tree = XTree(chain)

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID, including blocks accepted by another process.

        Raises:
            NoXChain: The database holds no chain.
        """
        self._tree.refresh()
        return self._tree.blocks.last_accepted

    def get_block(self, block_id: ID) -> AvmBlock | None:
        """Return a processing or an accepted block; None for any other ID."""
        processing = self._tree.blocks.get(block_id)
        if processing is not None:
            return processing
        stored = accepted.block(self._chain, block_id)
        return None if stored is None else block_codec.parse_block(stored.raw)

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted block."""
        stored = accepted.block_at(self._chain, height)
        return None if stored is None else stored.block_id

    def parse(self, raw: bytes) -> AvmBlock:
        """Parse a block; see `parse_block`."""
        return parse_block(raw)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> AvmBlock | None:
        """Build a block on the preferred block and make it processing; None without transactions for it.

        Transactions that are invalid on the accepted state leave the mempool; on an undecided parent they may still be
        valid elsewhere. Transactions that crash the rules leave it too, because they would block the chain forever.

        Args:
            context: The context with the node's time.
            allow_empty: No effect: the chain's rules allow no block without transactions.
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

    def verify(self, block: AvmBlock, context: BlockContext) -> None:
        """Verify a block on its parent; if valid, it becomes processing.

        Raises:
            InvalidBlock: It breaks a rule; see its reason. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        self._retry_if_moved(partial(self._verify_all, [block], [context]))

    def verify_all(self, line: Sequence[AvmBlock], contexts: Sequence[BlockContext]) -> None:
        """Verify consecutive blocks as `verify` does: either all of them become processing, or none.

        The objects that they use are read together.

        Raises:
            InvalidBlock: A block breaks a rule or does not follow the block before; see its reason.
        """
        self._retry_if_moved(partial(self._verify_all, line, contexts))

    def options(self, block: AvmBlock) -> tuple[AvmBlock, AvmBlock] | None:
        """Return None: this chain has no proposals."""
        del block
        return None

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

        The transactions of other nodes' rejected blocks go to the mempool. If anything fails, all processing blocks are
        dropped.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it.
            HeadMoved: Another process has accepted a block meanwhile.
        """
        tree = self._tree
        parent = tree.state.tip.block_id
        try:
            decision = tree.blocks.accept_blocks(block_ids)
            done = [
                AcceptedAvmBlock(verified.block, verified.effect.requests)
                for verified in decision.accepted
            ]
            place = acceptance.accept(self._chain, done, parent, written=written)
            tree.read_from(place)
        except BaseException:
            tree.forget()
            raise
        tree.own.difference_update(block_ids)
        self._reissue(decision.rejected)

    def reject(self, block_id: ID) -> None:
        """Reject a processing block and its descendants; transactions of other nodes' blocks go to the mempool.

        Raises:
            NotProcessing: The block is not processing.
        """
        self._reissue(self._tree.blocks.reject(block_id))

    def processing(self) -> tuple[int, int]:
        """Return the numbers of processing blocks and of transactions in them."""
        tree = self._tree.blocks
        return len(tree), sum(len(effect.state.txs) for effect in tree.effects())

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

    def _env(self, context: BlockContext) -> AvmEnv:
        return self._chain.env(self._tree.state.chain, bootstrapped=not context.decided)

    def _build(self, context: BlockContext) -> AvmBlock | None:
        tree = self._tree
        on_accepted = tree.blocks.preference == tree.state.tip.block_id
        pending = mempool_rows.prefetched(self._chain.db, tree.state)
        built = build_on_preferred(tree.blocks, pending, self._env(context), context.now)
        if on_accepted:
            self._drop([(tx.tx_id, str(reason)) for tx, reason in built.dropped], context.now)
        if built.block is not None:
            tree.own.add(built.block.block_id)
        return built.block

    def _drop_crashing(self, now: int) -> bool:
        """Drop transactions that crash the rules; return whether there were any."""
        tree = self._tree
        crashing = []
        for tx in mempool_rows.prefetched(self._chain.db, tree.state):
            try:
                mempool.verify(self._chain, tx, tree.state, now)
            except InvalidTx:
                continue  # the builder drops it too
            except Exception:
                _log.exception(
                    "transaction %s crashes the rules instead of being rejected", tx.tx_id
                )
                crashing.append((tx.tx_id, "internal error"))
        self._drop(crashing, now)
        return bool(crashing)

    def _drop(self, refused: Sequence[tuple[ID, str]], now: int) -> None:
        """Drop transactions, unless a block was accepted since they were refused."""
        if not refused:
            return
        chain = self._chain
        with chain.db.atomic(durable=True):
            chain.db.acquire(Lock.XCHAIN_MEMPOOL)
            if blocks.read(chain.db) != self._tree.state.place:
                return
            for tx_id, reason in refused:
                _log.info("dropped %s: %s", tx_id, reason)
            mempool_rows.drop(chain.db, refused, now)

    def _verify_all(self, line: Sequence[AvmBlock], contexts: Sequence[BlockContext]) -> None:
        tree = self._tree
        new = [block for block in line if block.block_id not in tree.blocks]
        if not new:
            return
        tree.state.prefetch(tx for block in new for tx in block.txs)
        tree.blocks.verify_line(
            line,
            [self._env(context) for context in contexts],
            [context.now for context in contexts],
        )

    def _reissue(self, rejected: Iterable[AvmBlock]) -> None:
        """Submit the transactions of rejected blocks to the mempool; those of own blocks are still in it.

        The decision remains even if that fails: clients reissue transactions that were not accepted.
        """
        txs: list[AvmTx] = []
        now = 0
        for block in rejected:
            if block.block_id in self._tree.own:
                self._tree.own.discard(block.block_id)
            else:
                txs += block.txs
                now = max(now, block.time)
        if not txs:
            return
        try:
            mempool.issue(self._chain, txs, now=now, gossiped=True)
        except Exception:
            _log.exception("%d transactions of rejected blocks are not in the mempool", len(txs))
