"""The C-Chain's processing blocks: each is executed on its parent's state, and the parent may be undecided too.

Execution uses overlays over the accepted state and its trie, so nothing is written (snowman.md
14.6). Accepting a block returns values, which the store writes. Pure: the caller chooses which transactions a
block may have, and knows their senders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from typing_extensions import override

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import BlockEffects, EffectsAfter, PayloadPlace, credits_of
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused
from cchain_app.blocks.receipt import EncodeLogs
from cchain_app.blocks.verification import verify_body
from cchain_app.evm.credits import pay
from cchain_app.evm.engine import (
    BlockEnv,
    Engine,
    ExecutedBlock,
    ExecutionInvalid,
    SkippedTransaction,
    StateChanges,
    StateReader,
)
from cchain_app.evm.overrides import BlockOverride, time_of_next
from cchain_app.evm.pending_state import PendingState, leaves_of, merged, state_after, with_owners
from cchain_app.evm.trie import NodeReader, OverlayReader, Tries, TrieUpdate, overlay
from cchain_app.filling import FilledBlock, fill_up
from cchain_app.rules.port import ChainRules
from cchain_app.rules.precompiles import NO_HEIGHT, without_height
from cchain_app.txs.transaction import Transaction
from chainvm.errors import NotProcessing
from chainvm.port import BlockContext
from chainvm.processing import AcceptDecision, ProcessingTree
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT
from primitives.ids import ID

NO_ROOM: Final = "the block has no room for the result of a warp message that does not hold"
"""Why a transaction is left out of a block."""

ChoosePayload = Callable[[PayloadPlace], bytes | None]
"""Returns a valid payload for a block's place; None: the block has none."""
ChooseTransactions = Callable[[StateChanges], Sequence[Transaction]]
"""Returns transactions for a block, given the changes that its payload makes before them."""


class VerifiedBlock(NamedTuple):
    """An executed block with its changes: everything that is stored of it."""

    block: AcceptedBlock
    executed: ExecutedBlock
    trie: TrieUpdate
    leaves: tuple[bytes, ...] = ()
    """For a fork: the accounts, and slots behind their address, that its state root includes from here on."""

    @property
    def block_id(self) -> ID:
        """The block's hash."""
        return ID(self.block.hash)

    @property
    def parent_id(self) -> ID:
        """Its parent's hash."""
        return ID(self.block.header.parent_hash)


class AssembledBlock(NamedTuple):
    """The result of building a block from a list of transactions."""

    made: VerifiedBlock | None
    """None if no transaction could be included and an empty block was not allowed."""
    chosen: Sequence[Transaction]
    """The transactions from which it was built."""
    skipped: tuple[SkippedTransaction, ...]
    """Those of them that are not in it."""


@dataclass(frozen=True, slots=True)
class BlockExecutor:
    """Executes blocks by a chain's rules."""

    rules: ChainRules
    engine: Engine
    encode_logs: EncodeLogs
    """Encodes the logs of receipts."""
    pin: Hash | None = None
    """The fork block, for a fork: the state up to it is remote, and its trie counts as empty."""

    def root_after(self, block: AcceptedBlock) -> Hash:
        """Return the root of the local trie after a block."""
        return EMPTY_ROOT if block.hash == self.pin else block.header.state_root

    def execute(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        *,
        skip_invalid: bool,
        effects: BlockEffects | None = None,
        begun: StateChanges | None = None,
    ) -> ExecutedBlock:
        """Execute transactions on a state as `Engine.execute_block` does, between the effects of a payload.

        Args:
            env: The block's environment.
            transactions: The transactions.
            state: The state after the parent.
            skip_invalid: Whether transactions that cannot run are left out.
            effects: Those of the payload; None: the block has none.
            begun: Changes before all else (`ChainRules.changes_before`); None: there are none.

        Raises:
            BlockRefused: A transaction cannot run at its place, or a system call fails.
        """
        before, first = state, begun
        if effects is not None:
            first = effects.debits if begun is None else merged(begun, effects.debits)
        if first is not None:
            state = PendingState(before)
            state.put(first)
        try:
            executed = self.engine.execute_block(
                env, transactions, state, skip_invalid=skip_invalid
            )
        except ExecutionInvalid as refusal:
            raise BlockRefused(BlockReason.EXECUTION_REFUSED, failure=str(refusal)) from refusal
        if first is not None:
            executed = replace(executed, changes=merged(first, executed.changes))
        if self.rules.pays_base_fee and executed.gas_used:
            fees = {env.coinbase: (env.base_fee or 0) * executed.gas_used}
            paid = pay(fees, executed.changes, before, env.fork)
            executed = replace(executed, changes=merged(executed.changes, paid))
        if effects is None:
            return executed
        if effects.after is not None:
            return after_transactions(effects.after, executed, before)
        paid = pay(credits_of(effects.withdrawals), executed.changes, before, env.fork)
        return replace(executed, changes=merged(executed.changes, paid))

    def begun(
        self, parent: AcceptedBlock, env: BlockEnv, state: StateReader
    ) -> StateChanges | None:
        """Return the changes of a block before all else (`ChainRules.changes_before`); None: there are none."""
        if not self.rules.config.stateful:
            return None
        changes = self.rules.changes_before(parent, env, state)
        return changes if changes.accounts or changes.storage else None


def after_transactions(
    effects: EffectsAfter, executed: ExecutedBlock, before: StateReader
) -> ExecutedBlock:
    """Return an executed block with the changes that a payload makes after the transactions.

    Raises:
        InvalidBlock: By a subclass: the payload is invalid.
    """
    state = PendingState(before)
    state.put(executed.changes)
    changes = merged(executed.changes, effects(state, executed.gas_used))
    return replace(executed, changes=changes)


class StateAfter(NamedTuple):
    """The state after a block, and its trie's nodes."""

    state: StateReader
    nodes: NodeReader


class EvmProcessingBlocks(ProcessingTree[VerifiedBlock, StateAfter]):
    """Verifies blocks and builds on any block that is not rejected. Use it from one thread at a time.

    Args:
        executor: Executes blocks by the chain's rules.
        tries: The state trie, with and without a cache.
        head: The last accepted block.
        state: The state after it.
        nodes: Reads the nodes of that state's trie.
        withdrawals: Returns the number of withdrawals in the chain up to the last accepted block.
    """

    def __init__(
        self,
        executor: BlockExecutor,
        tries: Tries,
        head: AcceptedBlock,
        state: StateReader,
        nodes: NodeReader,
        *,
        withdrawals: Callable[[], int] = int,
    ) -> None:
        super().__init__(ID(head.hash), StateAfter(state, nodes))
        self._executor = executor
        self._rules = executor.rules
        self._tries = tries
        self._withdrawals = withdrawals
        self.head = head
        """The last accepted block."""
        self._superseded: list[StateAfter] = []
        """The accepted states, and the stored one before them, which `rebase` replaces."""

    def executed(self, block_id: ID) -> tuple[VerifiedBlock, PendingState]:
        """Return a processing block with its changes, and the state after it.

        Raises:
            NotProcessing: It is not processing.
        """
        made = self.get(block_id)
        if made is None:
            raise NotProcessing(block_id)
        state = self.state_after(block_id)
        assert isinstance(state, PendingState)
        return made, state

    def state_after(self, block_id: ID) -> StateReader:
        """Return the state after a processing block or the head.

        Raises:
            NotProcessing: It is neither.
        """
        return self.effect(block_id).state

    def verify(
        self,
        candidate: CandidateBlock,
        transactions: Sequence[Transaction] | TransactionRefused,
        context: BlockContext,
    ) -> None:
        """Execute a block on its parent and add it to the processing blocks. Repeating this changes nothing.

        The header is not trusted: every field is recomputed and compared.

        Args:
            candidate: The block.
            transactions: The block's transactions with their senders; or the error for a transaction that cannot
                be read, which is raised after all checks that come before it have passed.
            context: The block's context; the block may be ten seconds ahead of its time.

        Raises:
            UnknownParent: Its parent is neither processing nor the head.
            InvalidBlock: It breaks a rule; the subclass says which.
            TrieError: The nodes that are read are not those of the parent's state.
        """
        block_id = ID(candidate.hash)
        if block_id in self:
            return
        header = candidate.header
        parent_id = ID(header.parent_hash)
        parent = self._block(parent_id)
        if parent is None:
            raise self._rules.unknown_parent(header, self.head.hash)
        state = self.state_after(parent_id)
        env = self._rules.on(state).verify_header(candidate, parent, context)
        verify_body(header, self._tries.cached.ordered_root(candidate.transactions))
        if isinstance(transactions, TransactionRefused):
            raise self._rules.unreadable(candidate, transactions)
        env = self._rules.verify_messages(env, transactions, context, candidate)
        begun, effects = self._executor.begun(parent, env, state), None
        if candidate.payload is not None:
            place = self.payload_place(parent_id, env, decided=context.decided, begun=begun)
            place = place._replace(block_hash=candidate.hash)
            effects = self._rules.extension.effects(candidate.payload, place)
            if candidate.withdrawals != effects.withdrawals:
                raise BlockRefused(BlockReason.OTHER_WITHDRAWALS)
        executed = self._executor.execute(
            env, transactions, state, skip_invalid=False, effects=effects, begun=begun
        )
        made = self._finish(
            parent,
            env,
            transactions,
            executed,
            extra_data=header.extra_data,
            payload=candidate.payload,
            withdrawals=() if effects is None else effects.withdrawals,
            claimed=candidate,
        )
        self._rules.verify_outcome(candidate, made.block)
        self._add(parent_id, made)

    def build(
        self,
        transactions: Sequence[Transaction] | ChooseTransactions,
        context: BlockContext,
        *,
        allow_empty: bool = False,
        override: BlockOverride | None = None,
        edits: StateChanges | None = None,
        choose_payload: ChoosePayload | None = None,
    ) -> AssembledBlock:
        """Build a block from the transactions that fit, on the preferred block, and make it processing.

        Args:
            transactions: In the order in which they should run, without those of an undecided ancestor; or what chooses
                them once the payload is known.
            context: The block's context. The block gets its time as timestamp, unless its parent's is later or a cheat
                has set another one.
            allow_empty: Build the block even if it contains no transaction.
            override: Fields of its environment that a cheat has set (devnet.md 2 and 7).
            edits: Changes that cheats made to the head since its block; the state includes them, the trie does not (devnet.md 10).
            choose_payload: Chooses the payload for the block's place; None: the block has none.

        Raises:
            BlockRefused: By the rules no block can follow the preferred one now, because of its fees.
            TrieError: The nodes that are read are not those of the parent's state.
        """
        parent_id = self.preference
        parent = self._block(parent_id)
        assert parent is not None
        state = self.state_after(parent_id)
        time = time_of_next(parent.header.timestamp, context.now, override)
        env = self._rules.on(state).env_after(parent, time, context.fraction_of(time))
        if override is not None:
            env = override.apply(env)
        begun, payload, effects = self._executor.begun(parent, env, state), None, None
        acts_after = self._rules.extension.acts_after
        if choose_payload is not None and not acts_after:
            place = self.payload_place(parent_id, env, decided=False, begun=begun)
            payload = choose_payload(place)
            effects = None if payload is None else self._rules.extension.effects(payload, place)
        debits = StateChanges() if effects is None else effects.debits
        chosen = transactions(debits) if callable(transactions) else transactions
        env = self._rules.verify_messages(env, chosen, context)
        later = without_height(env, chosen, context)
        has_payload = payload is not None or (acts_after and choose_payload is not None)
        left_out = partial(self._rules.without_room, env, chosen, has_payload=has_payload)
        run = partial(self._executor.execute, env, skip_invalid=True, effects=effects, begun=begun)

        def execute(indexes: Sequence[int]) -> ExecutedBlock:
            return run([chosen[index] for index in indexes], state)

        candidates = [index for index in range(len(chosen)) if index not in later]
        out = left_out({})
        offered: Sequence[int] = [index for index in candidates if index not in out]
        executed = execute(offered)
        if out:
            filled = FilledBlock(executed, offered, out)
            executed, offered, out = fill_up(filled, execute, left_out, candidates)
        if choose_payload is not None and acts_after:
            place = self.payload_place(parent_id, env, decided=False, begun=executed.changes)
            payload = choose_payload(place)
            if payload is not None:
                effects = self._rules.extension.effects(payload, place)
                assert effects.after is not None
                executed = after_transactions(effects.after, executed, state)
        skipped = (
            *(replace(item, index=offered[item.index]) for item in executed.skipped),
            *(
                SkippedTransaction(index, NO_HEIGHT if index in later else NO_ROOM, retry=True)
                for index in sorted(later | out)
            ),
        )
        included = [chosen[offered[index]] for index in executed.included]
        if not included and payload is None and not allow_empty:
            return AssembledBlock(None, chosen, skipped)
        made = self._finish(
            parent,
            env,
            included,
            executed,
            extra_data=self._rules.extension.extra_data(payload)
            + self._rules.message_results(env, included),
            payload=payload,
            withdrawals=() if effects is None else effects.withdrawals,
            edits=edits,
        )
        # Building is deterministic, so an undecided block that was built before is built a second time.
        if made.block_id not in self:
            self._add(parent_id, made)
        return AssembledBlock(made, chosen, skipped)

    @override
    def accept(self, block_ids: Sequence[ID]) -> AcceptDecision[VerifiedBlock, StateAfter]:
        """Accept processing blocks as `ProcessingTree.accept` does.

        After they are written, `rebase` moves the other blocks onto the new state. Until then reads go through
        the accepted blocks, with the same result.
        """
        before = self.last_effect
        decision = super().accept(block_ids)
        self._superseded += [before, *(verified.effect for verified in decision.accepted)]
        if decision.accepted:
            self.head = decision.accepted[-1].block.block
        return decision

    def rebase(self, state: StateReader, nodes: NodeReader) -> None:
        """Move the processing blocks onto the accepted state as it is stored now.

        Overlays are flattened, so any of the processing blocks may lie directly on the accepted state.
        """
        self._tries.accepted(self._executor.root_after(self.head))
        replaced = [*self._superseded, self.last_effect]
        states = {id(effect.state) for effect in replaced}
        readers = {id(effect.nodes) for effect in replaced}
        for after in self.effects():
            if isinstance(after.state, PendingState) and id(after.state.below) in states:
                after.state.below = state
            if isinstance(after.nodes, OverlayReader) and id(after.nodes.below) in readers:
                after.nodes.below = nodes
        self.last_effect = StateAfter(state, nodes)
        self._superseded.clear()

    def reset_to(self, head: AcceptedBlock, state: StateReader, nodes: NodeReader) -> None:
        """Forget everything and start from this head, after a restart or a failed commit."""
        self.reset(ID(head.hash), StateAfter(state, nodes))
        self.head = head
        self._superseded.clear()

    def payload_place(
        self,
        parent_id: ID,
        env: BlockEnv,
        *,
        decided: bool,
        begun: StateChanges | None = None,
    ) -> PayloadPlace:
        """Return the place of a payload in the block after a processing block or the head.

        Args:
            parent_id: The parent.
            env: The block's environment.
            decided: Whether the network has accepted the block already.
            begun: The changes of the block before all else.
        """
        state = self.state_after(parent_id)
        if begun is not None:
            after = PendingState(state)
            after.put(begun)
            state = after
        branch = [made.block for made in self.branch(parent_id)]
        last = next(
            (block.withdrawals[-1] for block in reversed(branch) if block.withdrawals), None
        )
        return PayloadPlace(
            env,
            state,
            [block.payload for block in branch if block.payload is not None],
            self._withdrawals() if last is None else last.index + 1,
            decided,
        )

    def _block(self, block_id: ID) -> AcceptedBlock | None:
        if block_id == self.last_accepted:
            return self.head
        made = self.get(block_id)
        return None if made is None else made.block

    def _finish(
        self,
        parent: AcceptedBlock,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        executed: ExecutedBlock,
        *,
        extra_data: bytes,
        payload: bytes | None,
        withdrawals: Sequence[Withdrawal],
        edits: StateChanges | None = None,
        claimed: CandidateBlock | None = None,
    ) -> VerifiedBlock:
        """Compute the roots of an executed block and put it together."""
        parent_id = ID(parent.hash)
        changes = executed.changes if edits is None else merged(edits, executed.changes)
        # Each undecided ancestor has a height of its own, so the heights give their number.
        alone = len(self) == parent.number - self.head.number
        leaves: tuple[bytes, ...] = ()
        if self._executor.pin is not None:
            changes = with_owners(changes, self.state_after(parent_id).account)
            leaves = leaves_of(changes)
        update = self._tries.update(
            self._executor.root_after(parent), changes, self.effect(parent_id).nodes, alone=alone
        )
        block = self._rules.assemble(
            env,
            transactions,
            executed,
            state_root=update.root,
            ordered_root=self._tries.cached.ordered_root,
            encode_logs=self._executor.encode_logs,
            extra_data=extra_data,
            payload=payload,
            withdrawals=withdrawals,
            parent=parent,
            claimed=claimed,
        )
        return VerifiedBlock(block, executed, update, leaves)

    def _add(self, parent_id: ID, made: VerifiedBlock) -> None:
        block, parent = made.block, self.effect(parent_id)
        state = state_after(parent.state, block.number, block.hash, made.executed.changes)
        self.add(made, StateAfter(state, overlay(parent.nodes, made.trie)))
