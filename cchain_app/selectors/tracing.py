"""Re-execution of blocks of the chain, with a recording of their effects (tracing.md 1, 11 and 18).

It starts from the parent's state at any height, and executes only the block up to the requested
transaction. The results are compared with the stored receipts.
"""

from collections.abc import Iterator, Sequence

from cchain_app.atomic.effects import debits
from cchain_app.atomic.transactions import split_payload
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import StateChanges, StateReader
from cchain_app.evm.pending_state import PendingState, merged
from cchain_app.evm.tracing import BlockTrace, Recording, TransactionTrace
from cchain_app.selectors import blocks
from cchain_app.selectors.development import env_of_block
from cchain_app.selectors.state import state_at, state_before_block
from cchain_app.tracing.output import Deadline
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock
from primitives.evm import Hash

Traces = tuple[TransactionTrace, ...]


class GenesisNotTraceable(Exception):
    """The genesis block was not executed."""

    def __init__(self) -> None:
        super().__init__("genesis is not traceable")


class TransactionIndexOutOfRange(Exception):
    """A block has no transaction at this index."""

    def __init__(self, index: int, block_hash: Hash) -> None:
        super().__init__(f"transaction index {index} out of range for block 0x{block_hash.hex()}")


class TraceDiffers(Exception):
    """A re-execution whose result differs from the stored receipt: a fault of this node."""

    def __init__(self, executed: Hash, difference: str) -> None:
        """Take the hash of a transaction or block, and a description of the difference."""
        super().__init__(f"re-execution of 0x{executed.hex()} differs: {difference}")


def trace_block(
    chain: EvmChain, block: AcceptedBlock, recording: Recording, *, time_limit: float
) -> Traces:
    """Return the traces of all transactions of a block, from one execution. Raises as `trace_transaction`."""
    return _trace(chain, block, range(len(block.transactions)), recording, time_limit)


def trace_transaction(
    chain: EvmChain, block: AcceptedBlock, index: int, recording: Recording, *, time_limit: float
) -> TransactionTrace:
    """Return the trace of one transaction of an accepted block; the transactions before it are executed too.

    Args:
        chain: The chain.
        block: The block.
        index: The transaction's index in the block.
        recording: What to record.
        time_limit: Seconds for each transaction.

    Raises:
        GenesisNotTraceable: The block is block 0.
        TraceDiffers: The result differs from that in the accepted block.
        TraceTooLarge: The trace exceeds the recording's limit.
        TraceTimedOut: A transaction took too long.
    """
    (traced,) = _trace(chain, block, range(index, index + 1), recording, time_limit)
    return traced


class BlockReplay:
    """Executes an accepted block again, part by part, each on the state that the previous parts left.

    A caller that does not need the whole block can check the time between parts, drop recordings that it has used,
    and skip transactions that cannot be recorded; still each transaction is executed only once.

    Args:
        chain: The chain.
        block: The block, which is not block 0.
        state: The state before the transaction at `position`, from another replay that has reached it.
        position: The index of the first transaction to execute.
    """

    def __init__(
        self,
        chain: EvmChain,
        block: AcceptedBlock,
        state: PendingState | None = None,
        position: int = 0,
    ) -> None:
        self._chain = chain
        self.block = block
        self.state = state or PendingState(
            debited(chain, block, state_before_block(chain, block.number))
        )
        """The state before the next transaction."""
        self.position = position
        """The index of the next transaction."""

    @property
    def ended(self) -> bool:
        """Whether all transactions were executed."""
        return self.position == len(self.block.transactions)

    def trace(self, count: int, recording: Recording, *, time_limit: float) -> Traces:
        """Return the traces of the next transactions. If it raises, none of them counts as executed.

        Raises as `trace_transaction`.
        """
        length = len(self.block.transactions)
        part = range(self.position, min(self.position + count, length))
        # The state after the last transaction is not needed.
        recording = recording._replace(changes=part.stop < length)
        traced = self._execute(part, recording, time_limit)
        for index, item in zip(part, traced.transactions, strict=True):
            _compare(self.block, index, item)
        self._go_on(traced)
        return traced.transactions

    def each(
        self, recording: Recording, *, time_limit: float, deadline: Deadline
    ) -> Iterator[TransactionTrace]:
        """Yield the traces of the remaining transactions, one by one.

        Raises as `trace`; TraceTimedOut also at the deadline.
        """
        while not self.ended:
            yield from self.trace(1, recording, time_limit=min(time_limit, deadline.left()))

    def pass_over(self, count: int = 1, *, time_limit: float | None = None) -> None:
        """Execute the next transactions without recording them.

        Raises:
            TraceDiffers: They can no longer be executed.
            TraceTimedOut: A transaction took longer than the time limit, in seconds.
        """
        part = range(self.position, min(self.position + count, len(self.block.transactions)))
        self._go_on(self._execute(part, Recording(changes=True), time_limit))

    def give_up(self) -> None:
        """Skip all remaining transactions without executing them."""
        self.position = len(self.block.transactions)

    def _execute(self, part: range, recording: Recording, time_limit: float | None) -> BlockTrace:
        # Each part repeats the system calls before the first transaction, which set the same slots again.
        transactions = self.block.transactions[part.start : part.stop]
        return _run(self._chain, self.block, transactions, self.state, recording, 0, time_limit)

    def _go_on(self, traced: BlockTrace) -> None:
        for changes in (traced.before, *_changes(traced)):
            self.state.put(changes)
        self.position += len(traced.transactions)


def exports_of(chain: EvmChain, block: AcceptedBlock, state: StateReader) -> StateChanges:
    """Return the changes that the exports of an accepted block make to the state before it."""
    if block.payload is None or chain.atomic is None or chain.is_of_coreth:
        return StateChanges()  # coreth's take effect after the transactions
    return debits(split_payload(block.payload), state, chain.atomic.parameters())


def changes_before(
    chain: EvmChain, block: AcceptedBlock, state: StateReader
) -> StateChanges | None:
    """Return the changes of an accepted block before its transactions; None: there are none.

    Precompiles begin or end, then exports are debited.
    """
    begun, schedule = None, chain.config.stateful
    if any(schedule.between(chain.genesis.timestamp, block.header.timestamp)):
        parent = blocks.by_number(chain, block.number - 1)
        assert parent is not None, "its block has been accepted"
        begun = chain.executor().begun(parent, chain.rules.env_of(block), state)
    if block.payload is None:
        return begun
    if begun is None:
        return exports_of(chain, block, state)
    after = PendingState(state)
    after.put(begun)
    return merged(begun, exports_of(chain, block, after))


def debited(chain: EvmChain, block: AcceptedBlock, state: StateReader) -> StateReader:
    """Return the state on which an accepted block's transactions run: with all that the block does before them."""
    first = changes_before(chain, block, state)
    if first is None:
        return state
    after = PendingState(state)
    after.put(first)
    return after


def _changes(traced: BlockTrace) -> Iterator[StateChanges]:
    return (
        transaction.state.changes
        for transaction in traced.transactions
        if transaction.state is not None
    )


def _trace(
    chain: EvmChain, block: AcceptedBlock, recorded: range, recording: Recording, time_limit: float
) -> Traces:
    """Execute a block up to the last transaction to be recorded."""
    if not block.number:
        raise GenesisNotTraceable
    if not block.transactions:
        return ()
    state = debited(chain, block, state_before_block(chain, block.number))
    transactions = block.transactions[: recorded.stop]
    first = recorded.start
    traced = _run(chain, block, transactions, state, recording, first, time_limit).transactions
    for index, trace in zip(recorded, traced, strict=True):
        _compare(block, index, trace)
    return traced


def _run(  # noqa: PLR0917  # arguments come by position
    chain: EvmChain,
    block: AcceptedBlock,
    transactions: Sequence[Transaction],
    state: StateReader,
    recording: Recording,
    first: int,
    time_limit: float | None,
) -> BlockTrace:
    """Execute transactions of a block on a state, and record those from `first` on."""
    try:
        return chain.engine.trace_block(
            env_of_block(chain, block),
            transactions,
            state,
            recording,
            first=first,
            time_limit=time_limit,
        )
    except InvalidBlock as refusal:
        raise TraceDiffers(block.hash, str(refusal)) from refusal


def _compare(block: AcceptedBlock, index: int, traced: TransactionTrace) -> None:
    """Compare a re-execution with the receipt."""
    receipt = block.receipts[index]
    before = block.receipts[index - 1].cumulative_gas_used if index else 0
    for what, found, stored in (
        ("gas used", traced.gas_used, receipt.cumulative_gas_used - before),
        ("status", int(traced.succeeded), int(receipt.succeeded)),
        ("number of logs", len(traced.logs), len(receipt.logs)),
    ):
        if found != stored:
            differs = f"{what} is {found}, its receipt says {stored}"
            raise TraceDiffers(block.transactions[index].hash, differs)
    if traced.logs != receipt.logs:
        raise TraceDiffers(block.transactions[index].hash, "logs are not those of its receipt")


def changes_in(
    chain: EvmChain, block: AcceptedBlock, count: int, *, time_limit: float
) -> list[StateChanges]:
    """Return the state changes before a block's transactions, then those of each of its first transactions.

    The first ones are those of the initial system calls, and of the accounts that exports debit.

    Args:
        chain: The chain.
        block: The block, which is not block 0.
        count: The number of transactions.
        time_limit: Seconds for each transaction.

    Raises:
        TraceDiffers: The block can no longer be executed.
        TraceTimedOut: A transaction took too long.
    """
    before, recording = state_before_block(chain, block.number), Recording(changes=True)
    transactions = block.transactions[:count]
    first = changes_before(chain, block, before)
    if first is None:
        traced = _run(chain, block, transactions, before, recording, 0, time_limit)
        return [traced.before, *_changes(traced)]
    state = PendingState(before)
    state.put(first)
    traced = _run(chain, block, transactions, state, recording, 0, time_limit)
    return [merged(first, traced.before), *_changes(traced)]


def state_before(
    chain: EvmChain, block: AcceptedBlock, index: int, *, time_limit: float
) -> PendingState:
    """Return the state before a transaction of an accepted block.

    The system calls at the block's beginning and the transactions before it are executed. Index 0 is
    valid in a block without transactions too.

    Raises:
        GenesisNotTraceable: The block is block 0.
        TransactionIndexOutOfRange: The block has no such transaction.
        TraceDiffers: The block can no longer be executed.
        TraceTimedOut: A transaction took too long.
    """
    if not block.number:
        raise GenesisNotTraceable
    if index >= max(len(block.transactions), 1):
        raise TransactionIndexOutOfRange(index, block.hash)
    state = PendingState(state_at(chain, block.number - 1))
    for changes in changes_in(chain, block, index, time_limit=time_limit):
        state.apply(block.number - 1, block.header.parent_hash, changes)
    return state
