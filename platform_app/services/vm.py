"""The P-Chain behind the VM port: the owner of its processing blocks.

Blocks are verified on undecided parents in memory (`tree`, `blocks.processing`); rows, memory and
notifications move at acceptance alone (`acceptance`). One thread at a time.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from django.db import DatabaseError

from chainvm.port import Written
from platform_app.blocks import block as block_codec
from platform_app.blocks.block import Block, ProposalBlock
from platform_app.blocks.builder import Built
from platform_app.blocks.errors import UnreadableBlock
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from platform_app.services import acceptance, builder, clearing, mempool, uptime
from platform_app.services.acceptance import Origin
from platform_app.services.tree import Tree
from platform_app.txs.base import Tx
from primitives.codec_errors import CodecError
from primitives.ids import ID

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


def parse_block(raw: bytes) -> Block:
    """Read a block that came from elsewhere.

    Raises:
        UnreadableBlock: The bytes are none, more than one, or more than a block may have.
    """
    try:
        return block_codec.parse_block(raw)
    except CodecError as reason:
        raise UnreadableBlock(reason) from reason


class PlatformVM:
    """A P-Chain for consensus; see `chainvm.port.ChainVM`, which this is. Blocking: for threads.

    Args:
        chain: Which chain.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._tree = Tree(chain)
        self._last: Block | None = None
        """The last accepted block, once it was asked for: consensus does so before each block."""

    def last_accepted(self) -> ID:
        """Return the last accepted block's ID; what another process has accepted counts.

        Raises:
            NoGenesis: The database holds no chain.
        """
        self._tree.look()
        return self._tree.blocks.last_accepted

    def get_block(self, block_id: ID) -> Block | None:
        """Return a processing or an accepted block; None for one that is neither."""
        found = self._tree.blocks.get(block_id)
        if found is not None:
            return found
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
        """Return the accepted block at a height; None above the last accepted one."""
        blocks = self._tree.blocks
        unwritten = blocks.get(blocks.last_accepted)
        if unwritten is not None and unwritten.height == height:
            return unwritten.block_id
        stored = accepted.block_at(self._chain, height)
        return None if stored is None else stored.block_id

    def parse(self, raw: bytes) -> Block:
        """Read a block; see `parse_block`."""
        return parse_block(raw)

    def build(self, *, now: int, allow_empty: bool = False) -> Block | None:
        """Build a block on the preferred one and make it processing.

        None when there is nothing to put into it. On a proposal nothing is built: its options follow.

        What the rules refuse for good on the accepted state leaves the mempool with the block, or at once
        where there is none; on an undecided parent it may yet be valid elsewhere. What makes the rules
        fail instead of refusing leaves it at once, else it would hold up the chain for ever.

        Args:
            now: The node's time in Unix seconds. The block's is earlier where a staker changes before.
            allow_empty: Nothing: by the chain's rules no block is without a change.
        """
        del allow_empty
        build = partial(self._build, now)
        try:
            return self._again_if_moved(build)
        except DatabaseError:
            raise
        except Exception:
            if not self._expel(now):
                raise
            return build()

    def verify(self, block: Block, *, now: int) -> None:
        """Verify a block on its parent; from then on it is processing.

        Raises:
            InvalidBlock: By a subclass: it breaks a rule. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        self._again_if_moved(partial(self._verify, block, now))

    def verify_all(self, line: Sequence[Block], *, now: int) -> None:
        """Verify blocks that follow each other, as `verify` does: all of them become processing, or none.

        What they spend is read together.

        Raises:
            InvalidBlock: By a subclass: one of them breaks a rule, or follows another block.
        """
        self._again_if_moved(partial(self._verify_all, line, now))

    def options(self, block: Block) -> tuple[Block, Block] | None:
        """Return commit and abort of a proposal, the preferred one first; None of any other block.

        Unspecified: where it is not known (any more) on what it was verified, commit comes first.
        """
        blocks = self._tree.blocks
        found = blocks.options(block)
        state = blocks.state_after(block.parent_id)
        if found is None or state is None or uptime.deserves_reward(self._chain, block, state):
            return found
        commit, abort = found
        return abort, commit

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the last accepted one.
        """
        self._tree.blocks.prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept processing blocks that follow the last accepted one and each other, in one transaction.

        A proposal is written with its option, so alone it waits for that in memory. What others' rejected
        blocks had goes to the mempool. Where anything fails all that is processing is forgotten.

        Raises:
            NotProcessing: One is not, or does not follow the one before it.
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
        self._give_back(decision.rejected)

    def reject(self, block_id: ID) -> None:
        """Forget a processing block and all that follow it; what others' had goes to the mempool.

        Raises:
            NotProcessing: It is not.
        """
        self._give_back(self._tree.blocks.reject(block_id))

    def _again_if_moved(self, work: Callable[[], T]) -> T:
        """Do something; once more where it fails, if the rows have moved meanwhile."""
        try:
            return work()
        except DatabaseError:
            raise
        except Exception:
            if not self._tree.look():
                raise
            return work()

    def _build(self, now: int) -> Block | None:
        tree = self._tree
        preferred = tree.blocks.preference
        if isinstance(tree.blocks.get(preferred), ProposalBlock):
            return None
        on_accepted = preferred == tree.stored
        built = self._build_own(now) if on_accepted else None
        if built is None:
            waiting = builder.waiting(self._chain, tree.state)
            built = tree.blocks.build(waiting, tree.env(now))
        refused = _reasons(built) if on_accepted else ()
        if built.block is None:
            clearing.drop_unless_moved(self._chain, refused, tree.state.place, now)
            return None
        before = tree.origins.get(built.block.block_id)
        built_here = before is None or before.built_here
        tree.origins[built.block.block_id] = Origin(now, built_here, refused)
        return built.block

    def _build_own(self, now: int) -> Built | None:
        """Build a block of a transaction of the node's own; None where there is none, or it is refused.

        It stands at chain time, however late it is built: a stay that is renewed begins at the moment at
        which the last one ended. What else waits is not measured by that earlier clock.
        """
        tree, moment = self._tree, self._tree.state.timestamp()
        tx = None if self._chain.own is None else self._chain.own.propose(now=moment)
        if tx is None:
            return None
        built = tree.blocks.build([tx], tree.env(moment))
        if built.block is None:
            clearing.drop_unless_moved(self._chain, _reasons(built), tree.state.place, now)
            return None
        return built

    def _undo_own(self) -> None:
        if self._chain.own is not None:
            self._chain.own.undo()

    def _expel(self, now: int) -> bool:
        """Drop what makes the rules fail instead of refusing; say whether there was anything."""
        tree = self._tree
        state = tree.blocks.state_after(tree.blocks.preference)
        assert state is not None, "nothing is built on a proposal"
        failing = list(builder.failing(self._chain, tree.state, state, now))
        clearing.drop_unless_moved(self._chain, failing, tree.state.place, now)
        return bool(failing)

    def _verify(self, block: Block, now: int) -> None:
        tree = self._tree
        if block.block_id in tree.blocks:
            return
        tree.state.prefetch(block.txs)
        tree.blocks.verify(block, tree.env(now))
        tree.origins[block.block_id] = Origin(now)

    def _verify_all(self, line: Sequence[Block], now: int) -> None:
        tree = self._tree
        tree.state.prefetch(tx for block in line for tx in block.txs)
        tree.blocks.verify_line(line, tree.env(now))
        for block in line:
            tree.origins.setdefault(block.block_id, Origin(now))

    def _give_back(self, rejected: Iterable[Block]) -> None:
        """Offer the transactions of rejected blocks to the mempool; those of own blocks wait there still.

        What was decided stands, whether or not that succeeds: clients issue again what is committed nowhere.
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
            _log.exception("%d transactions of rejected blocks are not in the mempool", len(txs))


def _reasons(built: Built) -> tuple[tuple[ID, str], ...]:
    """Return what a builder was refused, with the reasons."""
    return tuple((tx.tx_id, str(reason)) for tx, reason in built.dropped)
