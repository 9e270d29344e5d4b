"""Building of the next block on the preferred block (xchain.md 13).

Unspecified: the reference compares a transaction with the imports of earlier transactions only, and so builds blocks that
its own verification refuses (xchain.md 19). Here the imports of the transaction itself are compared with those of the block
and of its undecided ancestors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID
from utxo.errors import InvalidTx
from xchain_app.blocks.block import AvmBlock, build_block
from xchain_app.blocks.errors import AvmBlockReason
from xchain_app.blocks.executor import AvmOutcome
from xchain_app.blocks.processing import AvmProcessingBlocks
from xchain_app.config import AvmEnv
from xchain_app.executor.effects import effects_of, execute, merge_requests
from xchain_app.executor.semantic import verify_semantics
from xchain_app.state.chain import AvmDiff
from xchain_app.txs.base import AvmTx

TXS_SIZE_LIMIT: Final = 128 * 1024
"""Maximum bytes of transactions in a block that is built here."""
MAX_REFUSED: Final = 1024
"""Maximum number of invalid transactions that building one block skips; the next block continues with the rest."""


@dataclass(frozen=True, slots=True)
class BuiltAvmBlock:
    """The result of building: the block, and the transactions that were dropped."""

    block: AvmBlock | None
    """None if there is nothing to include."""
    dropped: Sequence[tuple[AvmTx, InvalidTx]]
    """Transactions that cannot be executed on the preferred block, with the reasons."""


def build_on_preferred(
    blocks: AvmProcessingBlocks, pool: Iterable[AvmTx], env: AvmEnv, now: int
) -> BuiltAvmBlock:
    """Build a block on the preferred block and make it processing, if there is anything to include.

    Transactions are taken in the order given until the next one does not fit; those of undecided ancestors are left out.

    Args:
        blocks: The processing blocks.
        pool: The pending transactions, the oldest first.
        env: The chain and its network.
        now: The node's clock in Unix seconds.
    """
    parent, parent_id = blocks.preferred_block, blocks.preference
    state = blocks.effect(parent_id).state
    time = max(now, state.timestamp())
    diff = AvmDiff(state)
    diff.set_timestamp(time)
    included = {tx.tx_id for block in blocks.branch(parent_id) for tx in block.txs}
    chosen = _Chosen(diff, env, time, blocks.imports_of(parent_id))
    for tx in pool:
        if tx.tx_id not in included and not chosen.add(tx):
            break
    if not chosen.txs:
        return BuiltAvmBlock(None, chosen.dropped)
    block = build_block(parent_id=parent_id, height=parent.height + 1, time=time, txs=chosen.txs)
    # Building is deterministic: an undecided block that was built before is built again.
    if block.block_id not in blocks:
        imports = frozenset(chosen.imports)
        blocks.add(block, AvmOutcome(diff, imports, merge_requests(chosen.requests)))
    return BuiltAvmBlock(block, chosen.dropped)


class _Chosen:
    """The transactions chosen for a block, executed one after the other."""

    def __init__(self, diff: AvmDiff, env: AvmEnv, time: int, imported_before: set[ID]) -> None:
        self.txs: list[AvmTx] = []
        self.dropped: list[tuple[AvmTx, InvalidTx]] = []
        self.imports: set[ID] = set()
        self.requests: list[AtomicRequests] = []
        self._diff = diff
        self._env = env
        self._time = time
        self._imported_before = imported_before
        self._room = TXS_SIZE_LIMIT

    def add(self, tx: AvmTx) -> bool:
        """Execute a transaction if it fits; return whether another one may be added."""
        if len(tx.raw) > self._room or len(self.dropped) == MAX_REFUSED:
            return False
        try:
            verify_semantics(tx, self._diff, self._env, self._time)
            self._verify_imports(tx)
        except InvalidTx as reason:
            self.dropped.append((tx, reason))
            return True
        effects = execute(tx, self._diff)
        self.imports.update(effects.imported)
        if effects.requests is not None:
            self.requests.append(effects.requests)
        self.txs.append(tx)
        self._room -= len(tx.raw)
        return True

    def _verify_imports(self, tx: AvmTx) -> None:
        imported = effects_of(tx).imported
        if not self.imports.isdisjoint(imported) or not self._imported_before.isdisjoint(imported):
            raise InvalidTx(AvmBlockReason.CONFLICTING_TXS)
