"""One EVM chain behind the VM port: the owner of its processing blocks.

Blocks are executed on undecided parents in memory (`processing`); rows, memory and notifications move at
acceptance alone (`acceptance`). One thread at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.block import join_block
from cchain_app.blocks.candidate import parse_block, parse_header
from cchain_app.blocks.header import Header, encode_header
from cchain_app.chain import EvmChain
from cchain_app.evm.cached_trie import Tries
from cchain_app.evm.select import select_trie
from cchain_app.processing import BlockRules, ProcessingBlocks
from cchain_app.selectors import blocks, state
from cchain_app.services import transactions
from cchain_app.services.acceptance import accept
from cchain_app.services.chain import choose, drop, invalid
from cchain_app.services.following import read_transactions
from cchain_app.store import evm_state
from cchain_app.txs.transaction import Transaction
from chainvm.port import Written
from primitives.evm import Hash
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class EvmBlock:
    """A block of which the header is read, and nothing that stands behind it."""

    header: Header
    hash: Hash
    raw: bytes
    """The whole block as RLP."""

    @property
    def block_id(self) -> ID:
        """Its hash."""
        return ID(self.hash)

    @property
    def parent_id(self) -> ID:
        """Its parent's hash."""
        return ID(self.header.parent_hash)

    @property
    def height(self) -> int:
        """Its number."""
        return self.header.number


class EvmVM:
    """A chain for consensus; see `chainvm.port.ChainVM`, which this is. Blocking: for threads.

    Args:
        chain: Which chain.
    """

    def __init__(self, chain: EvmChain) -> None:
        self._chain = chain
        self._known: ProcessingBlocks | None = None
        self._unusable: dict[ID, tuple[Hash, ...]] = {}
        """What leaves the pool with a block that was built here: what can never be mined."""

    def last_accepted(self) -> ID:
        """Return the last accepted block's hash."""
        return ID(self._blocks().head.hash)

    def get_block(self, block_id: ID) -> EvmBlock | None:
        """Return a processing or an accepted block; None for one that is neither."""
        processing = self._blocks().get(block_id)
        if processing is not None:
            return _evm_block(processing.block)
        accepted = blocks.by_hash(self._chain, Hash(block_id))
        return None if accepted is None else _evm_block(accepted)

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the accepted block at a height; None above the last accepted one."""
        found = blocks.by_number(self._chain, height)
        return None if found is None else ID(found.hash)

    def parse(self, raw: bytes) -> EvmBlock:
        """Read a block's header. What stands behind it is read when it is verified.

        Raises:
            InvalidBlock: By a subclass: the bytes are no block.
        """
        read = parse_header(raw)
        return EvmBlock(read.header, read.hash, raw)

    def build(self, *, now: int, allow_empty: bool = False) -> EvmBlock | None:
        """Build a block of the pool on the preferred one, and make it processing.

        None when there is nothing to put into it. What the engine refuses for good on the accepted
        state leaves the pool with the block, or at once where there is none; on an undecided parent it
        may yet be valid elsewhere.

        Args:
            now: The node's time in Unix seconds.
            allow_empty: Build a block without transactions too.
        """
        tree = self._blocks()
        line = tree.line(tree.preference)
        parent = line[-1] if line else tree.head
        included = {one.hash for block in line for one in block.transactions}
        chosen = choose(self._chain, parent, included)
        if not chosen and not allow_empty:
            return None
        if not line:
            self._prefetch(chosen, tree.head)
        built = tree.build(chosen, now=now, allow_empty=allow_empty)
        refused = () if line else invalid(chosen, built.skipped)
        if built.made is None:
            drop(self._chain, refused)
            return None
        block = _evm_block(built.made.block)
        self._unusable[block.block_id] = refused
        return block

    def verify(self, block: EvmBlock, *, now: int) -> None:
        """Execute a block on its parent; from then on it is processing.

        Raises:
            InvalidBlock: By a subclass: it breaks a rule, or its parent is unknown here.
        """
        tree = self._blocks()
        if block.block_id in tree:
            return
        candidate = parse_block(block.raw)
        (read,) = read_transactions(self._chain, [candidate])
        if block.header.parent_hash == tree.head.hash and isinstance(read, list):
            self._prefetch(read, tree.head)
        tree.verify(candidate, read, now=now)

    def options(self, block: EvmBlock) -> None:
        """Return that no block of this chain is a proposal."""
        del block

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the last accepted one.
        """
        self._blocks().prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept processing blocks that follow the last accepted one and each other, in one transaction.

        What rejected blocks had goes back to the pool.

        Raises:
            NotProcessing: One is not, or does not follow the one before it.
            HeadMoved: Another process has accepted a block meanwhile; what was processing is forgotten.
        """
        tree = self._blocks()
        head = tree.head
        try:
            decision = tree.accept(block_ids)
            accept(
                self._chain,
                decision.accepted,
                head,
                unusable=[
                    one for block_id in block_ids for one in self._unusable.get(block_id, ())
                ],
                beside=lambda block: written(ID(block.hash)),
            )
        except BaseException:
            self._known = None
            raise
        tree.rebase(*self._ground(tree.head))
        self._forget(decision.rejected)
        for block_id in block_ids:
            self._unusable.pop(block_id, None)

    def reject(self, block_id: ID) -> None:
        """Forget a processing block and all that follow it; what they had goes back to the pool.

        Raises:
            NotProcessing: It is not.
        """
        self._forget(self._blocks().reject(block_id))

    def _blocks(self) -> ProcessingBlocks:
        """Return the tree on the rows' head; another process may have moved that."""
        chain = self._chain
        head = blocks.catch_up(chain)
        if self._known is None:
            rules = BlockRules(chain.config, chain.genesis.gas_limit, chain.engine)
            tries = Tries(chain.trie, select_trie(chain.node.engine, cached=False))
            self._known = ProcessingBlocks(rules, tries, head, *self._ground(head))
            self._unusable.clear()
        elif self._known.head.hash != head.hash:
            self._known.begin_at(head, *self._ground(head))
            self._unusable.clear()
        return self._known

    def _ground(self, head: AcceptedBlock) -> tuple[state.StateAt, evm_state.NodeRows]:
        """Return the accepted state and who reads its trie's nodes."""
        return state.state_at(self._chain, head.number), evm_state.NodeRows(self._chain.db)

    def _prefetch(self, listed: Sequence[Transaction], head: AcceptedBlock) -> None:
        """Read the accounts that are surely needed, in one statement."""
        wanted = {self._chain.config.coinbase}
        for one in listed:
            wanted.add(one.sender)
            if one.to is not None:
                wanted.add(one.to)
        state.prefetch_accounts(self._chain, list(wanted), head.number)

    def _forget(self, rejected: Sequence[AcceptedBlock]) -> None:
        for block in rejected:
            self._unusable.pop(ID(block.hash), None)
        raws = [one.raw for block in rejected for one in block.transactions]
        if raws:
            transactions.submit(self._chain, raws, gossiped=True)


def _evm_block(block: AcceptedBlock) -> EvmBlock:
    envelopes = [one.raw for one in block.transactions]
    withdrawals = block.header.withdrawals_root is not None
    raw = join_block(encode_header(block.header), envelopes, withdrawals=withdrawals)
    return EvmBlock(block.header, block.hash, raw)
