"""Atomic transactions in coreth's blocks: the body's extra data (coreth.md 9).

They are verified and take effect after the block's EVM transactions, so an export's nonce is the one after those.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cchain_app.atomic.effects import credits_and_debits
from cchain_app.atomic.fees import gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import Exported, verify, verify_no_conflicts, verify_syntax
from cchain_app.atomic.transactions import AtomicTx, UnsignedImportTx, split_payload
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import BlockRefused
from cchain_app.evm.engine import StateChanges, StateReader
from cchain_app.rules.coreth.errors import CorethReason
from chainvm.errors import NotYetValid
from chainvm.port import BlockContext
from utxo.errors import InvalidTx


class UtxosNotYetExported(BlockRefused, NotYetValid):
    """A block that imports an output whose export this node has not accepted: it may be valid a moment later."""


@dataclass(frozen=True)
class CorethExtension:
    """Blocks whose extra data may have atomic transactions; a `rules.port.BlockExtension`.

    Args:
        parameters: Returns the network's values; called when a block has extra data.
        exported: Reads the memory that this chain shares with another one.
    """

    parameters: Callable[[], AtomicParameters]
    exported: Exported

    acts_after: ClassVar[bool] = True

    def extra_data(self, payload: bytes | None) -> bytes:
        """Return no bytes: the header's extra data does not depend on the body's."""
        del payload
        return b""

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        """Check that the outputs that a block imports are in shared memory; a decided block's may be missing.

        Raises:
            UtxosNotYetExported: One is not.
        """
        if candidate.payload is None or context.decided:
            return
        for tx in split_payload(candidate.payload):
            if isinstance(tx.unsigned, UnsignedImportTx):
                wanted = [spent.utxo_id for spent in tx.unsigned.imported_inputs]
                if len(self.exported(tx.unsigned.source_chain, wanted)) < len(wanted):
                    raise UtxosNotYetExported(CorethReason.NO_UTXOS)

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        """Return the changes that the transactions make after the block's EVM transactions."""
        txs = split_payload(payload)

        def after(state: StateReader, gas: int) -> StateChanges:
            return self._after(txs, place, state, gas)

        return BlockEffects(StateChanges(), (), after)

    def _after(
        self, txs: Sequence[AtomicTx], place: PayloadPlace, state: StateReader, gas: int
    ) -> StateChanges:
        """Verify the transactions and return the changes that they make.

        Raises:
            BlockRefused: One is invalid, or they have too much gas together.
        """
        parameters, env = self.parameters(), place.env
        ancestors = [tx for one in place.ancestors for tx in split_payload(one)]
        for position, tx in enumerate(txs):
            try:
                verify_syntax(tx.unsigned, parameters)
                verify(
                    tx,
                    parameters,
                    base_fee=env.base_fee or 0,
                    now=env.timestamp,
                    exported=self.exported,
                    decided=place.decided,
                )
            except InvalidTx as error:
                raise BlockRefused(
                    CorethReason.ATOMIC_INVALID, problem=error, height=env.number
                ) from error
            self._verify_conflicts([*ancestors, *txs[: position + 1]])
        total, limit = sum(map(gas_used, txs)), (env.capacity or 0) - gas
        if total > limit:
            raise BlockRefused(
                CorethReason.ATOMIC_GAS, have=total, limit=limit, hash=place.block_hash.hex()
            )
        try:
            return credits_and_debits(txs, state, parameters)
        except InvalidTx as error:
            raise BlockRefused(CorethReason.ATOMIC_REFUSED, problem=error) from error

    def _verify_conflicts(self, txs: Sequence[AtomicTx]) -> None:
        try:
            verify_no_conflicts(txs)
        except InvalidTx as error:
            raise BlockRefused(CorethReason.ATOMIC_REFUSED, problem=error) from error
