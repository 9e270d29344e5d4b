"""Imports blocks of another chain's file: executes them, and writes them in batches, one transaction per batch.

The rules for the blocks are in `foreign`. No other code works on the chain meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cchain_app.blocks.candidate import CandidateBlock, parse_foreign_block
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.config import at_least
from cchain_app.foreign.files import ChainFileError, ChainFileReason
from cchain_app.foreign.headers import MAX_OMMER_DEPTH
from cchain_app.foreign.replay import ForeignReplay
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks, state
from cchain_app.services.acceptance import accept, announce
from cchain_app.services.reading import read_transactions
from cchain_app.store import chain as stored
from cchain_app.store import evm_state
from chaindb.locks import Lock
from chainvm.errors import InvalidBlock
from primitives.evm import Address
from primitives.hexadecimal import encode_data
from primitives.ids import EMPTY_ID, ID

BATCH_GAS: Final = 200_000_000
BATCH_BYTES: Final = 16 * 1024 * 1024
BATCH_BLOCKS: Final = 1_000
"""Blocks are written in batches, one database transaction each. A batch ends with the block that reaches
one of these limits, so it has at least one block."""


class NotMerged(Exception):
    """Block production was requested on a chain before the Merge; this node does not mine."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"no blocks can be made after block {number}: the chain's next one is before the Merge"
        )
        self.number = number


class ImportResult(NamedTuple):
    """The progress of an import."""

    blocks: int = 0
    """Blocks that were executed and written."""
    skipped: int = 0
    """Blocks that the chain had already."""
    transactions: int = 0
    gas: int = 0
    read: int = 0
    """Bytes of all blocks."""


def import_blocks(
    chain: EvmChain, raws: Iterable[bytes], *, on_progress: Callable[[ImportResult], None]
) -> ImportResult:
    """Execute and write the next blocks of the chain, in order; blocks that it has already are skipped.

    Args:
        chain: The chain; its genesis block exists.
        raws: The blocks as RLP.
        on_progress: Called after each batch with the progress.

    Raises:
        InvalidBlock: By a subclass: a block is rejected, its `height` identifies it. The blocks before it are written.
        ChainFileError: The chain has another block at a height. The blocks before it are written.
        HeadMoved: Another process has written to the chain meanwhile.
    """
    done = ImportResult()
    importing = _Import(chain)
    for batch in _batches(raws):
        done = importing.take(batch, done)
        on_progress(done)
    return done


def let_make_blocks(chain: EvmChain, *, makes: bool) -> None:
    """Set whether this node produces blocks on the chain from now on.

    Raises:
        NotMerged: It should, but the next block is a proof-of-work block.
    """
    head = blocks.catch_up(chain)
    if makes and not at_least(blocks.fork_after(chain, head, head.header.timestamp), "paris"):
        raise NotMerged(head.number)
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        stored.set_makes_blocks(chain.db, makes=makes)


class _Import:
    """A running import."""

    def __init__(self, chain: EvmChain) -> None:
        self._chain = chain
        head = blocks.catch_up(chain)
        first = max(0, head.number - MAX_OMMER_DEPTH + 1)
        ancestors = stored.load_blocks(chain.db, first, head.number - 1, chain.format)
        self._replay = ForeignReplay(
            chain.executor(), chain.trie, [*ancestors, head], *self._ground(head.number)
        )

    def take(
        self, batch: Sequence[CandidateBlock | InvalidBlock], done: ImportResult
    ) -> ImportResult:
        """Execute and write a batch; raises as `import_blocks`, after the blocks before the error were written."""
        new, trouble = self._new(batch)
        verified, refusal = self._execute(new)
        self._write(verified)
        trouble = refusal or trouble
        if trouble is not None:
            raise trouble
        return ImportResult(
            done.blocks + len(verified),
            done.skipped + len(batch) - len(verified),
            done.transactions + sum(len(other.block.transactions) for other in verified),
            done.gas + sum(item.block.header.gas_used for item in verified),
            done.read + sum(map(_size, batch)),
        )

    def _new(
        self, batch: Sequence[CandidateBlock | InvalidBlock]
    ) -> tuple[list[CandidateBlock], InvalidBlock | ChainFileError | None]:
        """Return the blocks that the chain does not have, and the error of the block after them, if there is one."""
        new: list[CandidateBlock] = []
        try:
            for item in batch:
                if isinstance(item, InvalidBlock):
                    # Without a readable header only its position identifies the block.
                    number = self._replay.head.number + len(new) + 1
                    return new, item if item.height is not None else item.of(EMPTY_ID, number)
                if not self._is_known(item):
                    new.append(item)
        except ChainFileError as difference:
            return new, difference
        return new, None

    def _is_known(self, candidate: CandidateBlock) -> bool:
        """Return whether the chain has the block.

        Raises:
            ChainFileError: It has another one at its height.
        """
        number = candidate.header.number
        if number > blocks.head(self._chain).number:
            return False
        want = evm_state.block_hash(self._chain.db, number)
        if candidate.hash != want:
            raise ChainFileError(
                ChainFileReason.BLOCK_DIFFERS,
                number=number,
                have=encode_data(candidate.hash),
                want=encode_data(want),
            )
        return True

    def _execute(
        self, candidates: Sequence[CandidateBlock]
    ) -> tuple[list[VerifiedBlock], InvalidBlock | None]:
        """Return the executed blocks, and the error of the block after them, if it was rejected."""
        verified: list[VerifiedBlock] = []
        bodies = read_transactions(self._chain, candidates, blobs=True)
        self._prefetch(
            who
            for body in bodies
            if not isinstance(body, TransactionRefused)
            for item in body
            for who in (item.sender, item.to)
        )
        for candidate, body in zip(candidates, bodies, strict=True):
            try:
                if isinstance(body, TransactionRefused):
                    raise body
                verified.append(self._replay.add(candidate, body))
            except InvalidBlock as refusal:
                return verified, refusal.of(ID(candidate.hash), candidate.header.number)
        return verified, None

    def _write(self, verified: Sequence[VerifiedBlock]) -> None:
        if not verified:
            return
        head = blocks.head(self._chain)
        accept(self._chain, verified, head, unusable=(), written=_nothing)
        self._replay.rebase(*self._ground(verified[-1].block.number))
        announce(self._chain, verified)

    def _ground(self, number: int) -> tuple[state.StateAt, evm_state.NodeRows]:
        return state.state_at(self._chain, number), evm_state.NodeRows(self._chain.db)

    def _prefetch(self, addresses: Iterable[Address | None]) -> None:
        """Read the accounts that are certainly needed, in a few statements."""
        wanted = {address for address in addresses if address is not None}
        state.prefetch_accounts(self._chain, list(wanted), blocks.head(self._chain).number)


def _nothing(_: ID) -> None:
    """Write no additional rows with a block."""


def _size(candidate: CandidateBlock | InvalidBlock) -> int:
    return 0 if isinstance(candidate, InvalidBlock) else len(candidate.raw)


def _parse_all(raws: Iterable[bytes]) -> Iterator[CandidateBlock | InvalidBlock]:
    """Yield parsed blocks; if one cannot be parsed, its error is the last item."""
    for raw in raws:
        try:
            yield parse_foreign_block(raw)
        except InvalidBlock as refusal:
            yield refusal
            return


def _batches(raws: Iterable[bytes]) -> Iterator[list[CandidateBlock | InvalidBlock]]:
    """Yield batches of parsed blocks that are written together."""
    batch: list[CandidateBlock | InvalidBlock] = []
    size = gas = 0
    try:
        for item in _parse_all(raws):
            batch.append(item)
            size += _size(item)
            gas += 0 if isinstance(item, InvalidBlock) else item.header.gas_used
            if size >= BATCH_BYTES or gas >= BATCH_GAS or len(batch) >= BATCH_BLOCKS:
                yield batch
                batch, size, gas = [], 0, 0
    except Exception:
        if batch:
            yield batch  # the blocks that were read before the error are complete
        raise
    if batch:
        yield batch
