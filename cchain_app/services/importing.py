"""Blocks of a chain that others made: executed anew, and written in batches, many to a transaction.

What they must be is known in `foreign`. Nothing else works on the chain meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cchain_app.blocks.candidate import CandidateBlock, parse_foreign_block
from cchain_app.blocks.errors import InvalidBlock, TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.config import at_least
from cchain_app.foreign.errors import BlockDiffers
from cchain_app.foreign.ommers import GENERATIONS
from cchain_app.foreign.replay import Replay
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks, state
from cchain_app.services.acceptance import accept, tell
from cchain_app.services.reading import read_transactions
from cchain_app.store import chain as stored
from cchain_app.store import evm_state
from chaindb.locks import Lock
from primitives.evm import ZERO_HASH, Address
from primitives.ids import ID

BATCH_GAS: Final = 200_000_000
BATCH_BYTES: Final = 16 * 1024 * 1024
BATCH_BLOCKS: Final = 1_000
"""Blocks are written in batches, one database transaction each. A batch ends with the block that reaches
one of these limits, so it has at least one block."""


class NotMerged(Exception):
    """Blocks were asked for on a chain that has not come to the Merge: nobody mines here."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"no blocks can be made after block {number}: the chain's next one is before the Merge"
        )
        self.number = number


class Imported(NamedTuple):
    """How far an import is."""

    blocks: int = 0
    """Executed and written."""
    skipped: int = 0
    """Those that the chain had already."""
    transactions: int = 0
    gas: int = 0
    read: int = 0
    """Bytes of all of them."""


def import_blocks(
    chain: EvmChain, raws: Iterable[bytes], *, told: Callable[[Imported], None]
) -> Imported:
    """Execute and write blocks that follow the chain, in order; those that it has are passed over.

    Args:
        chain: Which chain; its genesis is there.
        raws: The blocks as RLP.
        told: Called after each batch with what was done so far.

    Raises:
        InvalidBlock: By a subclass: one is refused, its `number` says which. Those before it are written.
        BlockDiffers: The chain has another block at one's height. Those before it are written.
        HeadMoved: Another process has written to the chain meanwhile.
    """
    done = Imported()
    importing = _Import(chain)
    for batch in _batches(raws):
        done = importing.take(batch, done)
        told(done)
    return done


def let_make_blocks(chain: EvmChain, *, makes: bool) -> None:
    """Say whether this node makes blocks on the chain from now on.

    Raises:
        NotMerged: It should, but the next block is one of proof of work.
    """
    head = blocks.catch_up(chain)
    if makes and not at_least(blocks.fork_after(chain, head, head.header.timestamp), "paris"):
        raise NotMerged(head.number)
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        stored.set_makes_blocks(chain.db, makes=makes)


class _Import:
    """An import on its way."""

    def __init__(self, chain: EvmChain) -> None:
        self._chain = chain
        head = blocks.catch_up(chain)
        first = max(0, head.number - GENERATIONS + 1)
        ancestors = stored.load_blocks(chain.db, first, head.number - 1)
        self._replay = Replay(
            chain.rules(), chain.trie, [*ancestors, head], *self._ground(head.number)
        )

    def take(self, batch: Sequence[CandidateBlock | InvalidBlock], done: Imported) -> Imported:
        """Execute and write a batch; raises as `import_blocks`, when what comes before is written."""
        new, trouble = self._new(batch)
        verified, refusal = self._execute(new)
        self._write(verified)
        trouble = refusal or trouble
        if trouble is not None:
            raise trouble
        return Imported(
            done.blocks + len(verified),
            done.skipped + len(batch) - len(verified),
            done.transactions + sum(len(one.block.transactions) for one in verified),
            done.gas + sum(one.block.header.gas_used for one in verified),
            done.read + sum(map(_size, batch)),
        )

    def _new(
        self, batch: Sequence[CandidateBlock | InvalidBlock]
    ) -> tuple[list[CandidateBlock], InvalidBlock | BlockDiffers | None]:
        """Return the blocks that the chain has not, and why what follows them cannot be taken, if it cannot."""
        new: list[CandidateBlock] = []
        try:
            for one in batch:
                if isinstance(one, InvalidBlock):
                    # Without a header that can be read nothing but its place says which one it is.
                    number = self._replay.head.number + len(new) + 1
                    return new, one if one.number is not None else one.of(number, ZERO_HASH)
                if not self._is_known(one):
                    new.append(one)
        except BlockDiffers as difference:
            return new, difference
        return new, None

    def _is_known(self, candidate: CandidateBlock) -> bool:
        """Say whether the chain has the block.

        Raises:
            BlockDiffers: It has another one at its height.
        """
        number = candidate.header.number
        if number > blocks.head(self._chain).number:
            return False
        want = evm_state.block_hash(self._chain.db, number)
        if candidate.hash != want:
            raise BlockDiffers(number, candidate.hash, want)
        return True

    def _execute(
        self, candidates: Sequence[CandidateBlock]
    ) -> tuple[list[VerifiedBlock], InvalidBlock | None]:
        """Return blocks that were executed, and why the one behind them is refused, if one is."""
        verified: list[VerifiedBlock] = []
        bodies = read_transactions(self._chain, candidates, blobs=True)
        self._prefetch(
            who
            for body in bodies
            if not isinstance(body, TransactionRefused)
            for one in body
            for who in (one.sender, one.to)
        )
        for candidate, body in zip(candidates, bodies, strict=True):
            try:
                if isinstance(body, TransactionRefused):
                    raise body
                verified.append(self._replay.add(candidate, body))
            except InvalidBlock as refusal:
                return verified, refusal.of(candidate.header.number, candidate.hash)
        return verified, None

    def _write(self, verified: Sequence[VerifiedBlock]) -> None:
        if not verified:
            return
        head = blocks.head(self._chain)
        accept(self._chain, verified, head, unusable=(), written=_nothing)
        self._replay.rebase(*self._ground(verified[-1].block.number))
        tell(self._chain, verified)

    def _ground(self, number: int) -> tuple[state.StateAt, evm_state.NodeRows]:
        return state.state_at(self._chain, number), evm_state.NodeRows(self._chain.db)

    def _prefetch(self, addresses: Iterable[Address | None]) -> None:
        """Read the accounts that are surely needed, in a few statements."""
        wanted = {one for one in addresses if one is not None}
        state.prefetch_accounts(self._chain, list(wanted), blocks.head(self._chain).number)


def _nothing(_: ID) -> None:
    """Write nothing beside a block."""


def _size(candidate: CandidateBlock | InvalidBlock) -> int:
    return 0 if isinstance(candidate, InvalidBlock) else len(candidate.raw)


def _parse_all(raws: Iterable[bytes]) -> Iterator[CandidateBlock | InvalidBlock]:
    """Read blocks up to the first that cannot be read; the last is why it cannot."""
    for raw in raws:
        try:
            yield parse_foreign_block(raw)
        except InvalidBlock as refusal:
            yield refusal
            return


def _batches(raws: Iterable[bytes]) -> Iterator[list[CandidateBlock | InvalidBlock]]:
    """Read blocks and cut them into what is written together."""
    batch: list[CandidateBlock | InvalidBlock] = []
    size = gas = 0
    try:
        for one in _parse_all(raws):
            batch.append(one)
            size += _size(one)
            gas += 0 if isinstance(one, InvalidBlock) else one.header.gas_used
            if size >= BATCH_BYTES or gas >= BATCH_GAS or len(batch) >= BATCH_BLOCKS:
                yield batch
                batch, size, gas = [], 0, 0
    except Exception:
        if batch:
            yield batch  # what was read before the file broke is whole
        raise
    if batch:
        yield batch
