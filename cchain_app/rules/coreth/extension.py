"""Atomic transactions in coreth's blocks: the body's extra data (coreth.md 9).

They are verified and take effect after the block's EVM transactions, so an export's nonce is the one after those.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from cchain_app.atomic.effects import credits_and_debits
from cchain_app.atomic.eras import AtomicEra
from cchain_app.atomic.fees import MAX_BLOCK_GAS, burned, fee_of, gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import Exported, verify, verify_no_conflicts, verify_syntax
from cchain_app.atomic.transactions import AtomicTx, UnsignedImportTx, read_payload
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import BlockRefused
from cchain_app.evm.engine import BlockEnv, StateChanges, StateReader
from cchain_app.rules.coreth.block import atomic_transactions
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from chainvm.errors import NotYetValid
from chainvm.port import BlockContext
from primitives.upgrades import UpgradeTimes
from utxo.errors import InvalidTx

_MILLI_AVAX: Final = 1_000_000
"""The fee of an atomic transaction before Apricot phase 3, in units."""


def era_of(phase: CorethPhase) -> AtomicEra:
    """Return the rules of atomic transactions in a phase."""
    return AtomicEra(
        other_assets=phase < CorethPhase.BANFF,
        platform_chain=phase >= CorethPhase.APRICOT_5,
        fixed_gas=phase >= CorethPhase.APRICOT_5,
        dynamic_fee=phase >= CorethPhase.APRICOT_3,
        import_fee=_MILLI_AVAX if phase >= CorethPhase.APRICOT_2 else 0,
        export_fee=_MILLI_AVAX,
        needs_outputs=phase >= CorethPhase.APRICOT_3,
        sorted_outputs=phase >= CorethPhase.APRICOT_1,
        unique_outputs=phase >= CorethPhase.APRICOT_2,
        sorted_inputs=phase >= CorethPhase.APRICOT_1,
    )


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
    upgrades: Callable[[], UpgradeTimes]

    acts_after: ClassVar[bool] = True

    def has_fixed_gas(self, timestamp: int) -> bool:
        """Return whether atomic transactions pay a fixed amount of gas in a block of this time in Unix seconds."""
        return era_of(phase_at(self.upgrades(), timestamp)).fixed_gas

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
        for tx in self._transactions(candidate.payload, candidate.header.timestamp):
            if isinstance(tx.unsigned, UnsignedImportTx):
                wanted = [spent.utxo_id for spent in tx.unsigned.imported_inputs]
                if len(self.exported(tx.unsigned.source_chain, wanted)) < len(wanted):
                    raise UtxosNotYetExported(CorethReason.NO_UTXOS)

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        """Return the changes that the transactions make after the block's EVM transactions."""
        txs = self._transactions(payload, place.env.timestamp)

        def after(state: StateReader, gas: int) -> StateChanges:
            return self._after(txs, place, state, gas)

        return BlockEffects(StateChanges(), (), after)

    def contribution(self, payload: bytes | None, env: BlockEnv) -> int:
        """Return the wei that a block's atomic transactions burn above their fees, which count as tips.

        Raises:
            InvalidTx: A fee is too high.
        """
        if not payload:
            return 0
        parameters, total = self.parameters(), 0
        has_fixed_gas = self.has_fixed_gas(env.timestamp)
        for tx in self._transactions(payload, env.timestamp):
            gas = gas_used(tx, has_fixed_gas=has_fixed_gas)
            fee = fee_of(gas, env.base_fee or 0, parameters.wei_per_unit)
            total += max(0, burned(tx, parameters.asset_id) - fee) * parameters.wei_per_unit
        return total

    def _transactions(self, payload: bytes, timestamp: int) -> tuple[AtomicTx, ...]:
        return atomic_transactions(payload, phase_at(self.upgrades(), timestamp))

    def _after(
        self, txs: Sequence[AtomicTx], place: PayloadPlace, state: StateReader, gas: int
    ) -> StateChanges:
        """Verify the transactions and return the changes that they make.

        Raises:
            BlockRefused: One is invalid, or they have too much gas together.
        """
        parameters, env = self.parameters(), place.env
        phase = phase_at(self.upgrades(), env.timestamp)
        era = era_of(phase)
        ancestors = [tx for one in place.ancestors for tx in read_payload(one)]
        for position, tx in enumerate(txs):
            try:
                verify_syntax(tx.unsigned, parameters, era)
                verify(
                    tx,
                    parameters,
                    base_fee=env.base_fee or 0,
                    now=env.timestamp,
                    exported=self.exported,
                    decided=place.decided,
                    era=era,
                )
            except InvalidTx as error:
                raise BlockRefused(
                    CorethReason.ATOMIC_INVALID, problem=error, height=env.number
                ) from error
            self._verify_conflicts([*ancestors, *txs[: position + 1]])
        if phase >= CorethPhase.APRICOT_5:
            limit = MAX_BLOCK_GAS if phase < CorethPhase.FORTUNA else (env.capacity or 0) - gas
            total = sum(map(gas_used, txs))
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
