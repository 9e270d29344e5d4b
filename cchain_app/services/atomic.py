"""The pool of atomic transactions: admission, selection for a block, and removal (atomic.md 8).

The pool is rows, so an acknowledged transaction survives the end of the process.
"""

import logging
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from cchain_app import notifications
from cchain_app.atomic.choosing import choose
from cchain_app.atomic.effects import debits
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.fees import MAX_BLOCK_BYTES, MAX_BLOCK_GAS, effective_price, gas_used
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import verify, verify_syntax
from cchain_app.atomic.transactions import AtomicTx, UnsignedExportTx, parse
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.effects import PayloadPlace
from cchain_app.chain import EvmChain
from cchain_app.config import at_least
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks, development
from cchain_app.selectors.state import state_at
from cchain_app.store import atomic as atomic_rows
from cchain_app.store import pool as pool_rows
from chaindb import clock
from chaindb.chains import X_CHAIN, is_left_out
from chaindb.locks import Lock
from primitives.codec_errors import CodecError
from primitives.ids import ID, P_CHAIN_ID
from primitives.reasons import ErrorWithReason
from utxo.errors import InvalidTx

MAX_WAITING: Final = 4096
"""Maximum number of pending transactions."""

_log: Final = logging.getLogger(__name__)


class AtomicPoolReason(StrEnum):
    """Why the pool does not take a valid transaction, with the reference's messages."""

    TOO_LARGE = "tx size ({size}) exceeds total atomic txs size target ({most})"
    TOO_MUCH_GAS = "tx gas usage ({gas}) exceeds maximum allowed mempool gas usage ({most})"
    POOL_FULL = "mempool full"
    NOT_SYNCED = "chain not synced"
    INSUFFICIENT_FEE = "insufficient fee currentMin={least} provided={price}"
    CONFLICT = (
        "conflict present: issued tx ({tx_id}) gas price {price} <= conflict tx ({rival}) gas price {rival_price} "
        "({count} total conflicts in mempool)"
    )
    # No chain of this node could import the coins, so they would be lost.
    NOTHING_IMPORTS = "this node runs no X-Chain (NODE_CHAINS), so the coins that {tx_id} exports could not be imported"


class AtomicTxRefused(ErrorWithReason):
    """A transaction that the pool does not take at the moment."""


def issue(chain: EvmChain, tx: AtomicTx, *, gossiped: bool = False) -> None:
    """Admit a transaction to the pool; a pending or accepted one is acknowledged again.

    It is verified on the head with the base fee of the next block, as the reference does.

    Unspecified: until the chain is bootstrapped, the reference serves none of its methods. Here only the transactions of
    users are refused then, with the P-Chain's words.

    Unspecified: if this node runs no X-Chain (NODE_CHAINS), users cannot export to it here, because their coins would be
    lost. This is not a rule of blocks, so transactions from peers are not refused for it.

    Args:
        chain: The chain.
        tx: The transaction.
        gossiped: Whether it comes from a peer, not from a user of this node.

    Raises:
        AtomicTxRefused: The pool does not take it now.
        InvalidTx: It cannot be accepted.
    """
    if not gossiped and not chain.is_synced():
        raise AtomicTxRefused(AtomicPoolReason.NOT_SYNCED)
    if _is_known(chain, tx):
        return
    extension = chain.atomic
    if extension is None:
        raise InvalidTx(AtomicReason.NOT_ENABLED)
    parameters = extension.parameters()
    _verify_size(tx)
    head = blocks.head(chain)
    _verify_on(chain, head, tx, parameters)
    unsigned = tx.unsigned
    to_x_chain = isinstance(unsigned, UnsignedExportTx) and unsigned.destination_chain != P_CHAIN_ID
    if to_x_chain and not gossiped and is_left_out(X_CHAIN):
        raise AtomicTxRefused(AtomicPoolReason.NOTHING_IMPORTS, tx_id=tx.tx_id)
    price = effective_price(tx, parameters)
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        if _is_known(chain, tx):
            return
        now = clock.wall()
        atomic_rows.drop(chain.db, _displaced(chain, tx, price), now)
        atomic_rows.add(chain.db, tx, price, now)
        if development.mines_on_arrival(chain):
            chain.producer.request()
    chain.events.send(chain.name, notifications.pending_atomic_transactions([tx.tx_id]))


def take_back(chain: EvmChain, txs: Sequence[AtomicTx]) -> None:
    """Offer the transactions of other nodes' rejected blocks to the pool again."""
    for tx in txs:
        try:
            issue(chain, tx, gossiped=True)
        except (InvalidTx, AtomicTxRefused) as reason:
            _log.debug("atomic transaction %s of a rejected block: %s", tx.tx_id, reason)
        except Exception:
            _log.exception("atomic transaction %s of a rejected block is not in the pool", tx.tx_id)


class PayloadChoice:
    """Chooses the payload of a block from the pool, and remembers which transactions cannot be in any block.

    Args:
        chain: The chain.
        waiting: The pending transactions that pay most.
    """

    def __init__(self, chain: EvmChain, waiting: Sequence[AtomicTx]) -> None:
        self._chain = chain
        self._waiting = waiting
        self.refused: list[tuple[ID, str]] = []
        """Transactions that are invalid in the block for which the payload was chosen, with the reasons."""

    def __call__(self, place: PayloadPlace) -> bytes | None:
        """Return the payload of the block at a place; None: it has none."""
        extension = self._chain.atomic
        assert extension is not None
        chosen = choose(self._waiting, place, extension.parameters(), extension.exported)
        self.refused = [(tx.tx_id, str(reason)) for tx, reason in chosen.refused]
        return chosen.payload


def payload_choice(chain: EvmChain) -> PayloadChoice | None:
    """Return the choice of the next block's payload; None: no atomic transaction is pending."""
    if chain.atomic is None:
        return None
    waiting: list[AtomicTx] = []
    for raw in atomic_rows.best(chain.db):
        try:
            waiting.append(parse(raw))
        except CodecError:  # only if the row was edited
            _log.exception("a pending atomic transaction cannot be read")
    return PayloadChoice(chain, waiting) if waiting else None


def drop(chain: EvmChain, refused: Sequence[tuple[ID, str]]) -> None:
    """Remove transactions that can no longer be accepted from the pool, with the reasons."""
    if not refused:
        return
    for tx_id, reason in refused:
        _log.info("dropped atomic transaction %s: %s", tx_id, reason)
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        atomic_rows.drop(chain.db, refused, clock.wall())


def withdraw(chain: EvmChain, tx_id: ID, reason: str) -> bool:
    """Drop a transaction from this node's pool, for the operator; return whether it was pending."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        waited = bool(atomic_rows.raws_of(chain.db, [tx_id]))
        atomic_rows.drop(chain.db, [(tx_id, reason)], clock.wall())
    return waited


def write(chain: EvmChain, verified: Sequence[VerifiedBlock]) -> list[AtomicTx]:
    """Write the transactions of accepted payloads; the caller holds the chain's lock and the transaction."""
    with_payload = [made.block for made in verified if made.block.payload is not None]
    if not with_payload:
        return []
    assert chain.atomic is not None, "the chain's rules refuse payloads"
    return atomic_rows.commit(
        chain.db,
        with_payload,
        chain.blockchain_id,
        chain.atomic.parameters().asset_id,
        chain.shared_memory,
        has_fixed_gas=chain.atomic.has_fixed_gas,
    )


def leave_pool(chain: EvmChain, txs: Sequence[AtomicTx]) -> None:
    """Remove accepted transactions from the pool, and EVM transactions whose nonces exports have used.

    The caller holds the pool's lock and the transaction.
    """
    if not txs:
        return
    atomic_rows.remove(chain.db, [tx.tx_id for tx in txs])
    pool_rows.remove_used_nonces(
        chain.db,
        [
            (spent.address, spent.nonce)
            for tx in txs
            if isinstance(tx.unsigned, UnsignedExportTx)
            for spent in tx.unsigned.inputs
        ],
    )


def _is_known(chain: EvmChain, tx: AtomicTx) -> bool:
    """Return whether a transaction is pending or accepted already."""
    found = atomic_rows.find(chain.db, tx.tx_id)
    return found is not None and found.reason is None


def _verify_size(tx: AtomicTx) -> None:
    if len(tx.raw) > MAX_BLOCK_BYTES:
        raise AtomicTxRefused(AtomicPoolReason.TOO_LARGE, size=len(tx.raw), most=MAX_BLOCK_BYTES)
    gas = gas_used(tx)
    if gas > MAX_BLOCK_GAS:
        raise AtomicTxRefused(AtomicPoolReason.TOO_MUCH_GAS, gas=gas, most=MAX_BLOCK_GAS)


def _verify_on(
    chain: EvmChain, head: AcceptedBlock, tx: AtomicTx, parameters: AtomicParameters
) -> None:
    """Verify a transaction as if it were in the block after the head."""
    assert chain.atomic is not None
    now = max(clock.cchain_now(chain.db), head.header.timestamp)
    if not at_least(chain.config.fork_at(head.number + 1, now), "shanghai"):
        raise InvalidTx(AtomicReason.NOT_ENABLED)
    verify_syntax(tx.unsigned, parameters)
    base_fee = chain.rules.base_fee_after(head, now) or 0
    verify(tx, parameters, base_fee=base_fee, now=now, exported=chain.atomic.exported)
    debits([tx], state_at(chain, head.number), parameters)


def _displaced(chain: EvmChain, tx: AtomicTx, price: int) -> list[tuple[ID, str]]:
    """Return the transactions that a new one displaces: those that it conflicts with, or the cheapest of a full pool.

    Raises:
        AtomicTxRefused: It does not pay more than those.
    """
    rivals = atomic_rows.rivals(chain.db, tx.conflict_keys)
    if rivals:
        strongest = max(rivals, key=lambda rival: rival.price)
        if price <= strongest.price:
            raise AtomicTxRefused(
                AtomicPoolReason.CONFLICT,
                tx_id=tx.tx_id,
                price=price,
                rival=strongest.tx_id,
                rival_price=strongest.price,
                count=len(rivals),
            )
        return [(rival.tx_id, f"replaced by {tx.tx_id}") for rival in rivals]
    if atomic_rows.count(chain.db) < MAX_WAITING:
        return []
    cheapest = atomic_rows.cheapest(chain.db)
    if cheapest is None:
        raise AtomicTxRefused(AtomicPoolReason.POOL_FULL)
    if price <= cheapest.price:
        raise AtomicTxRefused(AtomicPoolReason.INSUFFICIENT_FEE, least=cheapest.price, price=price)
    return [(cheapest.tx_id, "mempool full")]
