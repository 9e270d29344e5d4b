"""The VM of one EVM chain (`chainvm.port`), with its tree of processing blocks.

Blocks are executed on undecided parents in memory (`processing`); rows, memory and notifications change
only when blocks are accepted (`acceptance`). For one thread at a time.

Other processes may accept blocks of the same chain. `last_accepted` detects that, and so does `verify` if it does not
know a parent; building or accepting any other block that competes with theirs ends in `HeadMoved`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from cchain_app.atomic.effects import exporters_of
from cchain_app.atomic.transactions import AtomicTx, read_payload
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, EvmBlock, evm_block, unparsed_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.chain import EvmChain
from cchain_app.config import ChainConfig
from cchain_app.evm.engine import AccountState, StateChanges
from cchain_app.evm.overrides import BlockOverride, time_of_next
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.trie import TrieError, Tries
from cchain_app.processing import EvmProcessingBlocks, VerifiedBlock
from cchain_app.selectors import blocks, development, state
from cchain_app.selectors.development import effect_of
from cchain_app.services import atomic
from cchain_app.services.acceptance import NOTHING, BlockCheats, accept, announce, head_moved
from cchain_app.services.admissions import take_back
from cchain_app.services.choosing import choose, drop, invalid
from cchain_app.services.reading import read_transactions
from cchain_app.store import atomic as atomic_rows
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext, HeadMoved, Written
from primitives.evm import Address, Hash
from primitives.ids import ID


class EvmVM:
    """A chain as consensus sees it, an implementation of `chainvm.port.ChainVM`. Blocking: for threads.

    Args:
        chain: The chain.
        previews: Whether it only shows the block that could be built, and accepts none. Such a VM may run in parallel
            to the chain's own: it does not use the trie's cache, which follows the accepted blocks and serves one thread.
    """

    def __init__(self, chain: EvmChain, *, previews: bool = False) -> None:
        self._chain = chain
        self._previews = previews
        self._known: EvmProcessingBlocks | None = None
        self._config: ChainConfig | None = None
        """The configuration with which the tree executes blocks; anvil_setChainId changes it while no block is processing."""
        self._makes_blocks: bool | None = None
        self._built: dict[ID, tuple[Hash, ...]] = {}
        """Processing blocks that were built here, each with the transactions that can never be mined and that leave
        the pool when the block is accepted, in addition to the block's own."""
        self._cheats_of: dict[ID, BlockCheats] = {}
        """Those of them that were built on the head, with their manual changes and overrides."""
        self._offer: _DirectBlocks | None = None
        """The only transactions that the next blocks may contain; see `offering`."""

    @contextmanager
    def offering(self, transactions: Sequence[Transaction], parent: Hash) -> Iterator[None]:
        """Let the body build a block from exactly these transactions, which are not in the pool, on this parent.

        The block contains all of them, in this order, or no block is built. When the block is accepted, they are
        announced as pending transactions before the block. Accepting it raises `DirectBlockRefused` if the transactions
        may not bypass the pool.
        """
        with self.offering_blocks([transactions], parent):
            yield

    @contextmanager
    def offering_blocks(
        self, blocks: Sequence[Sequence[Transaction]], parent: Hash
    ) -> Iterator[None]:
        """Let the body build consecutive blocks above a parent as `offering` does, and accept them together.

        Args:
            blocks: The transactions of each block.
            parent: The last accepted block.
        """
        self._offer = _DirectBlocks(blocks, parent)
        try:
            yield
        finally:
            self._offer = None

    def last_accepted(self) -> ID:
        """Return the hash of the last accepted block in the database."""
        return ID(self._caught_up().head.hash)

    def get_block(self, block_id: ID) -> EvmBlock | None:
        """Return a processing or an accepted block, or None."""
        tree = self._blocks()
        processing = tree.get(block_id)
        if processing is not None:
            return evm_block(processing.block)
        if block_id == ID(tree.head.hash):
            return evm_block(tree.head)
        accepted = blocks.by_hash(self._chain, Hash(block_id))
        return None if accepted is None else evm_block(accepted)

    def get_block_id_at_height(self, height: int) -> ID | None:
        """Return the ID of the accepted block at a height; None above the last accepted block."""
        found = blocks.by_number(self._chain, height)
        return None if found is None else ID(found.hash)

    def parse(self, raw: bytes) -> EvmBlock:
        """Parse a block's header. The rest is parsed when the block is verified.

        Raises:
            InvalidBlock: By a subclass: the bytes are not a block.
        """
        return unparsed_block(self._chain.format.parse_header(raw), raw)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> EvmBlock | None:
        """Build a block from the pool on the preferred block, and make it processing.

        Return None if there are no transactions, and on an imported chain, unless its import enabled block
        production. Transactions that the engine rejects for good on the accepted state leave the pool when the
        block is accepted, or immediately if no block was built; on an undecided parent they may still be valid on
        another branch.

        Args:
            context: The block's context, with the node's time.
            allow_empty: Also build a block without transactions; coreth's rules allow none, except in a preview.

        Raises:
            HeadMoved: Another process has accepted a block meanwhile; the processing blocks are forgotten.
        """
        if self._makes_blocks is None:
            self._makes_blocks = blocks.are_made(self._chain)
        if not self._makes_blocks:
            return None
        allow_empty = allow_empty and (self._previews or not self._chain.is_of_coreth)
        tree = self._blocks()
        branch = [made.block for made in tree.branch(tree.preference)]
        parent = branch[-1] if branch else tree.head
        if not self._previews:
            begins = self._chain.rules.builds_from(parent, context.milliseconds)
            if begins is None or begins > context.milliseconds:
                return None
        cheats = self._cheats(tree, parent) if self._chain.is_development else None
        payload = None if self._offer is not None else atomic.payload_choice(self._chain)
        override = None if cheats is None else cheats.override
        time = time_of_next(parent.header.timestamp, context.now, override)
        choose_transactions = partial(
            self._chosen, tree, parent, branch, time, fraction=context.fraction_of(time)
        )
        chosen = () if payload is not None else choose_transactions(StateChanges())
        if not chosen and payload is None and not allow_empty:
            return None
        with self._executing(tree.head):
            built = tree.build(
                # An export comes before the transactions, and changes the nonce and the balance of its account.
                chosen if payload is None else choose_transactions,
                context,
                allow_empty=allow_empty,
                override=override,
                edits=None if cheats is None else cheats.changes,
                choose_payload=payload,
            )
        if payload is not None and not branch and not self._previews:
            atomic.drop(self._chain, payload.refused)
        if self._offer is not None and built.skipped:
            if built.made is not None:
                tree.reject(built.made.block_id)
            return None
        refused = () if branch or self._previews else invalid(built.chosen, built.skipped)
        if built.made is None:
            drop(self._chain, refused)
            return None
        block = evm_block(built.made.block)
        self._built[block.block_id] = refused
        if cheats is not None:
            self._cheats_of[block.block_id] = cheats.counted
        return block

    def executed(self, block_id: ID) -> tuple[VerifiedBlock, PendingState]:
        """Return a processing block with its changes, and the state after it.

        Raises:
            NotProcessing: The block is not processing.
        """
        return self._blocks().executed(block_id)

    def builds_from(self, milliseconds: int) -> int | None:
        """Return the time from which the rules allow a block on the preferred one, in Unix milliseconds; None: never.

        Args:
            milliseconds: The node's time in Unix milliseconds.
        """
        tree = self._blocks()
        made = tree.get(tree.preference)
        parent = tree.head if made is None else made.block
        return self._chain.rules.builds_from(parent, milliseconds)

    def verify(self, block: EvmBlock, context: BlockContext) -> None:
        """Execute a block on its parent; from then on it is processing.

        Raises:
            InvalidBlock: By a subclass: it breaks a rule, or its parent is unknown.
            HeadMoved: Another process has accepted a block meanwhile; the processing blocks are forgotten.
        """
        self.verify_all([block], [context])

    def verify_all(self, blocks: Sequence[EvmBlock], contexts: Sequence[BlockContext]) -> None:
        """Verify consecutive blocks, as `verify` does: all of them or none.

        The senders of all blocks are recovered together, and the accounts in them are read together.

        Raises:
            InvalidBlock: By a subclass; its `height` and `block_id` identify the rejected block.
            HeadMoved: Another process has accepted a block meanwhile; the processing blocks are forgotten.
        """
        if not blocks:
            return
        tree = self._with_parent(blocks[0])
        for parent, block in pairwise(blocks):
            if block.parent_id != parent.block_id:
                refusal = self._chain.rules.unknown_parent(block.header, parent.hash)
                raise refusal.of(block.block_id, block.height)
        new = [
            (block, context)
            for block, context in zip(blocks, contexts, strict=True)
            if not _is_verified(tree, block)
        ]
        parse = self._chain.format.parse_block
        candidates = [block.candidate(parse) for block, _ in new]
        read = read_transactions(
            self._chain, candidates, blobs=self._chain.config.blob_transactions
        )
        named = [other for body in read if not isinstance(body, Exception) for other in body]
        self._prefetch([who for item in named for who in (item.sender, item.to)], tree.head)
        with tree.all_or_none():
            for (_, context), candidate, body in zip(new, candidates, read, strict=True):
                with self._executing(tree.head), _refusing(candidate):
                    tree.verify(candidate, body, context)

    def options(self, block: EvmBlock) -> None:
        """Return None: no block of this chain is a proposal."""
        del block

    def set_preference(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the last accepted block.
        """
        self._blocks().prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Accept consecutive processing blocks after the last accepted one, in one transaction.

        The transactions of other nodes' rejected blocks go to the pool.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it.
            HeadMoved: Another process has accepted a block meanwhile; the processing blocks are forgotten.
            DirectBlockRefused: The block was built in `offering` but may not bypass the pool; the processing blocks are forgotten.
        """
        tree = self._blocks()
        head = tree.head
        unusable = [other for block_id in block_ids for other in self._built.get(block_id, ())]
        try:
            decision = tree.accept(block_ids)
            accept(
                self._chain,
                decision.blocks,
                head,
                unusable=unusable,
                written=written,
                cheats=self._cheats_of.get(block_ids[0], NOTHING),
                bypasses_pool=self._offer is not None,
            )
        except BaseException:
            self._known = None
            raise
        tree.rebase(*self._ground(tree.head))
        self._cheats_of.clear()
        for block_id in block_ids:
            self._built.pop(block_id, None)
        offered = () if self._offer is None else self._offer.blocks
        announce(self._chain, decision.blocks, [item.hash for block in offered for item in block])
        self._give_back(decision.rejected)

    def reject(self, block_id: ID) -> None:
        """Forget a processing block and its descendants; the transactions of other nodes' blocks go to the pool.

        Raises:
            NotProcessing: The block is not processing.
        """
        self._give_back(self._blocks().reject(block_id))

    def reset(self) -> None:
        """Forget everything including the chain's rules, because the chain has become another fork."""
        self._known = None
        self._built.clear()
        self._cheats_of.clear()

    def _blocks(self) -> EvmProcessingBlocks:
        """Return the tree, even if the head in the database has moved."""
        return self._caught_up() if self._known is None else self._known

    def _caught_up(self) -> EvmProcessingBlocks:
        """Return the tree on the head in the database, which another process may have moved."""
        chain = self._chain
        head = blocks.catch_up(chain)
        if self._known is None or self._config is not chain.config:
            self._config = chain.config
            pin = None if chain.fork is None else chain.fork.hash
            uncached = chain.new_trie(cached=False)
            tries = Tries(uncached if self._previews else chain.trie, uncached)
            self._known = EvmProcessingBlocks(
                chain.executor(pin),
                tries,
                head,
                *self._ground(head),
                withdrawals=partial(atomic_rows.withdrawal_count, chain.db),
            )
            self._built.clear()
        elif self._known.head.hash != head.hash:
            self._known.reset_to(head, *self._ground(head))
            self._built.clear()
        return self._known

    def _with_parent(self, block: EvmBlock) -> EvmProcessingBlocks:
        """Return a tree that contains a block's parent.

        Raises:
            UnknownParent: The parent is unknown, also after reading the blocks that other processes have accepted.
        """
        tree = self._blocks()
        if not tree.is_parent(block.parent_id):
            tree = self._caught_up()
        if not tree.is_parent(block.parent_id):
            refusal = self._chain.rules.unknown_parent(block.header, tree.head.hash)
            raise refusal.of(block.block_id, block.height)
        return tree

    def _ground(self, head: AcceptedBlock) -> tuple[state.StateAt, evm_state.NodeRows]:
        """Return the accepted state, and the reader of its trie's nodes."""
        return state.state_at(self._chain, head.number), evm_state.NodeRows(self._chain.db)

    @contextmanager
    def _executing(self, head: AcceptedBlock) -> Iterator[None]:
        """Raise HeadMoved if the nodes read are no longer the head's; otherwise the error means that rows are damaged."""
        try:
            yield
        except TrieError as error:
            if not head_moved(self._chain, head):
                raise
            self._known = None
            raise HeadMoved from error

    def _chosen(
        self,
        tree: EvmProcessingBlocks,
        parent: AcceptedBlock,
        branch: Sequence[AcceptedBlock],
        now: int,
        debits: StateChanges,
        *,
        fraction: int,
    ) -> Sequence[Transaction]:
        """Return the transactions for a block on a parent: those of `offering`, or those of the pool that are not in `branch`.

        Args:
            tree: The processing blocks.
            parent: The parent.
            branch: The undecided blocks up to the parent.
            now: The time of the block in Unix seconds.
            debits: The changes that the block's payload makes before them.
            fraction: Milliseconds of the block's time after `now`.
        """
        chosen: Sequence[Transaction]
        if self._offer is not None:
            chosen = self._offer.after(tree.head.hash, len(branch))
        else:
            included = {transaction.hash for block in branch for transaction in block.transactions}
            exporters = self._exporters(tree, parent, branch)
            exporters |= {address: change.after for address, change in debits.accounts.items()}
            after = tree.state_after(ID(parent.hash))
            base_fee = blocks.base_fee_after(self._chain, parent, now, after, fraction=fraction)
            chosen = choose(self._chain, parent, base_fee or 0, included, exporters)
        # The senders were already read to find executable transactions.
        self._prefetch([item.to for item in chosen], tree.head)
        return chosen

    def _exporters(
        self, tree: EvmProcessingBlocks, parent: AcceptedBlock, branch: Sequence[AcceptedBlock]
    ) -> dict[Address, AccountState | None]:
        """Return the accounts from which undecided blocks up to a parent export, as they are after the parent."""
        payloads = [block.payload for block in branch if block.payload is not None]
        if not payloads:
            return {}
        after = tree.state_after(ID(parent.hash))
        exporters = {who for one in payloads for who in exporters_of(read_payload(one))}
        return {address: after.account(address) for address in exporters}

    def _cheats(self, tree: EvmProcessingBlocks, parent: AcceptedBlock) -> "_Cheats":
        """Return the manual changes and overrides for a block: all for the head's child, only lasting ones for later blocks."""
        found = development.conditions(self._chain)
        on_head = parent.hash == tree.head.hash
        if not on_head:
            found = found.used()
        changes = (
            development_rows.changes_before(self._chain.db, parent.number + 1) if on_head else []
        )
        return _Cheats(
            found.of_next_block(parent.header.timestamp),
            effect_of(self._chain, changes) if changes else None,
            BlockCheats(
                changes,
                found.has_next,
                found.next_timestamp,
                {
                    signature.signature: signature.signer
                    for signature in found.signatures
                    if signature.number == parent.number + 1
                },
                None if self._config is None else self._config.chain_id,
            ),
        )

    def _prefetch(self, addresses: Iterable[Address | None], head: AcceptedBlock) -> None:
        """Read the accounts that are certainly needed, in a few statements."""
        wanted = {address for address in addresses if address is not None}
        wanted.add(self._chain.config.coinbase)
        state.prefetch_accounts(self._chain, list(wanted), head.number)

    def _give_back(self, rejected: Sequence[VerifiedBlock]) -> None:
        """Submit the transactions of rejected blocks to the pool; those of own blocks are still in it."""
        raws: list[bytes] = []
        moved: list[AtomicTx] = []
        for made in rejected:
            if self._built.pop(made.block_id, None) is None:
                raws += [transaction.raw for transaction in made.block.transactions]
                if made.block.payload is not None:
                    moved += read_payload(made.block.payload)
        if raws:
            take_back(self._chain, raws)
        if moved:
            atomic.take_back(self._chain, moved)


class _DirectBlocks(NamedTuple):
    """Transactions for consecutive blocks that bypass the pool."""

    blocks: Sequence[Sequence[Transaction]]
    parent: Hash
    """The only accepted block above which they may be used."""

    def after(self, head: Hash, processing: int) -> Sequence[Transaction]:
        """Return the transactions of the block above some processing blocks on a head; none if there is no such block."""
        if head != self.parent or processing >= len(self.blocks):
            return ()
        return self.blocks[processing]


class _Cheats(NamedTuple):
    """The manual changes and overrides for a block that is built."""

    override: BlockOverride | None
    changes: StateChanges | None
    counted: BlockCheats


@contextmanager
def _refusing(block: CandidateBlock) -> Iterator[None]:
    """Add a block's ID and height to its error."""
    try:
        yield
    except InvalidBlock as refusal:
        refusal.of(ID(block.hash), block.header.number)
        raise


def _is_verified(tree: EvmProcessingBlocks, block: EvmBlock) -> bool:
    """Return whether a block is processing already.

    The ID is the hash of the header alone, so a proposer can put the header with another body into an outer block of its
    own. If that were accepted, nodes that join later could not execute it.

    Raises:
        BlockRefused: The body is not that of the processing block.
    """
    verified = tree.get(block.block_id)
    if verified is not None and verified.block.raw != block.raw:
        raise BlockRefused(BlockReason.OTHER_BODY).of(block.block_id, block.height)
    return verified is not None
