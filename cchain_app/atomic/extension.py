"""The C-Chain's blocks with atomic transactions: a `rules.port.BlockExtension` (atomic.md 12.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cchain_app.atomic.effects import debits, withdrawals
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.fees import MAX_BLOCK_BYTES, MAX_BLOCK_GAS, gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import (
    Exported,
    MissingAtomicUtxo,
    verify,
    verify_no_conflicts,
    verify_syntax,
)
from cchain_app.atomic.transactions import AtomicTx, split_payload
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.verification import MAXIMUM_EXTRA_DATA_SIZE
from cchain_app.config import at_least
from chainvm.errors import NotYetValid
from chainvm.port import BlockContext
from primitives.codec_errors import CodecError
from primitives.hashing import keccak256
from utxo.errors import InvalidTx


class ImportedTooEarly(BlockRefused, NotYetValid):
    """A block that imports an output whose export this node has not accepted: it may be valid a moment later."""


@dataclass(frozen=True)
class AtomicExtension:
    """Blocks that may carry atomic transactions.

    Args:
        parameters: Returns the network's values; called when a block has a payload.
        exported: Reads the memory that this chain shares with another one.
    """

    parameters: Callable[[], AtomicParameters]
    exported: Exported

    acts_after: ClassVar[bool] = False

    def has_fixed_gas(self, timestamp: int) -> bool:
        """Return True: atomic transactions pay a fixed amount of gas in blocks of all times."""
        del timestamp
        return True

    def extra_data(self, payload: bytes | None) -> bytes:
        """Return the payload's hash; no bytes for a block without payload."""
        return b"" if payload is None else keccak256(payload)

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        """Check that the extra data commits to the payload, and its size.

        32 bytes of extra data are always a commitment, so a block stripped of its payload is refused.

        Raises:
            BlockRefused: They do not belong together, or the payload is too large.
        """
        del context
        payload, extra_data = candidate.payload, candidate.header.extra_data
        if payload is None:
            if len(extra_data) >= MAXIMUM_EXTRA_DATA_SIZE:
                raise BlockRefused(
                    BlockReason.EXTRA_DATA_TOO_LONG,
                    size=len(extra_data),
                    most=MAXIMUM_EXTRA_DATA_SIZE - 1,
                )
            return
        if len(payload) > MAX_BLOCK_BYTES:
            raise BlockRefused(
                BlockReason.PAYLOAD_TOO_LARGE, size=len(payload), most=MAX_BLOCK_BYTES
            )
        if extra_data != keccak256(payload):
            raise BlockRefused(BlockReason.OTHER_PAYLOAD)

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        """Verify a payload and return its effects on the state.

        Raises:
            ImportedTooEarly: It imports an output that is not in shared memory.
            BlockRefused: A transaction in it is invalid, or there are too many of them.
        """
        try:
            return self._effects(split_payload(payload), place)
        except MissingAtomicUtxo as reason:
            raise ImportedTooEarly(BlockReason.PAYLOAD_REFUSED, problem=reason) from reason
        except (CodecError, InvalidTx) as reason:
            raise BlockRefused(BlockReason.PAYLOAD_REFUSED, problem=reason) from reason

    def _effects(self, txs: Sequence[AtomicTx], place: PayloadPlace) -> BlockEffects:
        parameters, env = self.parameters(), place.env
        if not at_least(env.fork, "shanghai"):
            raise InvalidTx(AtomicReason.NOT_ENABLED)
        gas = sum(map(gas_used, txs))
        if gas > MAX_BLOCK_GAS:
            raise BlockRefused(BlockReason.PAYLOAD_GAS, gas=gas, most=MAX_BLOCK_GAS)
        verify_no_conflicts([*txs, *(tx for one in place.ancestors for tx in split_payload(one))])
        for tx in txs:
            verify_syntax(tx.unsigned, parameters)
            verify(
                tx,
                parameters,
                base_fee=env.base_fee or 0,
                now=env.timestamp,
                exported=self.exported,
                decided=place.decided,
            )
        return BlockEffects(
            debits(txs, place.state, parameters),
            withdrawals(txs, place.first_withdrawal, parameters),
        )
