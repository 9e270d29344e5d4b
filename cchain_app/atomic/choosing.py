"""Choosing atomic transactions for a block: by effective price, as many as fit (atomic.md 8, 12.1 rule 10)."""

from collections.abc import Iterable
from typing import NamedTuple

from cchain_app.atomic.effects import debits
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.fees import MAX_BLOCK_BYTES, MAX_BLOCK_GAS, effective_price, gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import Exported, verify, verify_no_conflicts, verify_syntax
from cchain_app.atomic.transactions import AtomicTx, join_payload, split_payload
from cchain_app.blocks.effects import PayloadPlace
from cchain_app.config import at_least
from cchain_app.evm.pending_state import PendingState
from primitives.ids import ID
from utxo.errors import InvalidTx

_OVERHEAD = 6
"""Bytes of a payload besides its transactions: codec version and number of transactions."""


class ChosenTransactions(NamedTuple):
    """The transactions for a block, and those that cannot be in it."""

    txs: tuple[AtomicTx, ...]
    refused: tuple[tuple[AtomicTx, InvalidTx], ...]

    @property
    def payload(self) -> bytes | None:
        """The payload; None: there are no transactions."""
        return join_payload(self.txs) if self.txs else None


def choose(
    waiting: Iterable[AtomicTx],
    place: PayloadPlace,
    parameters: AtomicParameters,
    exported: Exported,
) -> ChosenTransactions:
    """Choose transactions for a block.

    The first one that does not fit ends the block. An export whose nonce follows that of another export of the account
    comes after it. A transaction that spends the same as an undecided ancestor stays in the pool.

    Args:
        waiting: The pending transactions.
        place: The place of the payload.
        parameters: The network's values.
        exported: Reads shared memory.
    """
    if not at_least(place.env.fork, "shanghai"):
        return ChosenTransactions((), ())
    ancestors = {
        key
        for payload in place.ancestors
        for tx in split_payload(payload)
        for key in tx.conflict_keys
    }
    candidates = sorted(
        (tx for tx in waiting if ancestors.isdisjoint(tx.conflict_keys)),
        key=lambda tx: (-effective_price(tx, parameters), tx.tx_id),
    )
    state = PendingState(place.state)
    chosen: list[AtomicTx] = []
    refused: dict[ID, tuple[AtomicTx, InvalidTx]] = {}
    gas, size = 0, _OVERHEAD
    position = 0
    while position < len(candidates):
        tx = candidates[position]
        if gas + gas_used(tx) > MAX_BLOCK_GAS or size + len(tx.raw) > MAX_BLOCK_BYTES:
            break
        try:
            verify_no_conflicts([*chosen, tx])
            verify_syntax(tx.unsigned, parameters)
            verify(
                tx,
                parameters,
                base_fee=place.env.base_fee or 0,
                now=place.env.timestamp,
                exported=exported,
            )
            state.put(debits([tx], state, parameters))
        except InvalidTx as reason:
            refused[tx.tx_id] = (tx, reason)
            position += 1
            continue
        del candidates[position]
        refused.pop(tx.tx_id, None)
        chosen.append(tx)
        gas += gas_used(tx)
        size += len(tx.raw)
        # An export that was refused for its nonce may follow this one.
        waiting_for_nonce = any(
            reason.reason is AtomicReason.INVALID_NONCE for _, reason in refused.values()
        )
        position = 0 if waiting_for_nonce else position
    return ChosenTransactions(tuple(chosen), tuple(refused.values()))
