"""Accepts transactions: `eth_sendRawTransaction`, batches of it, gossip by peers; and impersonated ones.

`admissions` turns signed envelopes into transactions with verified signers, without reading accounts. Then they are
mined directly, or `admissions` stores them in the pool, in one database transaction for all transactions of a call.
Calls and batches that arrive together become one call of this module, because the endpoints gather them for one thread
(`jsonrpc.http.answering`).

Mining directly, without the pool, takes one commit instead of two, and the transaction is mined when it is
acknowledged. If a node decides alone and makes a block when a transaction arrives, a row of the pool would live for some
milliseconds: it would be committed, read, and deleted with the block. If the pool is empty and all new
transactions can run immediately, this process executes them right away and commits only their block. In all other
cases (transactions are pending, another thread or process is building a block, a transaction is rejected or cannot
run) they go to the pool as usual.

On a chain with development methods an executable transaction is mined before its hash is returned, even if
it goes through the pool, because clients ask for the receipt immediately.

Unspecified: the design's "one writer for each chain, whoever holds that chain's lock" (docs/protocol/design.md, "Who writes")
can be any process. In the production profile web processes write such blocks, in addition to the producer.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from django.db import DatabaseError

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.queues import Outcome
from cchain_app.selectors import blocks, development
from cchain_app.services.acceptance import DirectBlockRefused
from cchain_app.services.admissions import (
    Admissions,
    add_to_pool,
    read_envelopes,
    read_impersonated,
)
from cchain_app.services.production import produce
from cchain_app.services.runtime import EvmRuntime
from cchain_app.store import pool as pool_rows
from cchain_app.store import queries
from cchain_app.txs.blobs import Sidecar
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from chaindb.locks import QUEUE_SECONDS
from primitives.evm import Hash

_log: Final = logging.getLogger(__name__)

MAX_GAS: Final = 5_000_000
"""Limit of the total gas limit of transactions that bypass the pool."""

BLOCK_SECONDS: Final = 5.0
"""Time limit for waiting for the blocks with the transactions, and for the lock of the chain's consensus, which a call
that makes many blocks holds. Afterwards the transactions stay in the pool, and the producer mines them."""

COMPANY_SECONDS: Final = 1.0
"""If other processes make blocks too, transactions go to the pool for this time after another client has sent some.

Only single transactions are mined directly then. For several, the producer makes fewer and larger blocks."""


def submit(runtime: EvmRuntime, raws: Sequence[bytes], *, gossiped: bool = False) -> list[Outcome]:
    """Submit signed envelopes, in order, and return the outcome of each.

    A hash is returned after the transaction was committed, so it survives a crash. `gossiped` envelopes are exempt
    from checks that apply only to RPC.

    Raises:
        UpstreamError: As `admissions.add_to_pool`.
    """
    outcomes = read_envelopes(runtime.chain, raws, gossiped=gossiped)
    newcomers = [outcome for outcome in outcomes if isinstance(outcome, Newcomer)]
    admitted = iter(_admit_in_turn(runtime, newcomers) if newcomers else ())
    return [next(admitted) if isinstance(item, Newcomer) else item for item in outcomes]


def submit_impersonated(
    runtime: EvmRuntime, transaction: Transaction, sidecar: Sidecar | None = None
) -> Outcome:
    """Submit an unsigned transaction, and return its outcome.

    The caller has checked that its sender may send without a key. All other checks are those of `submit`.
    """
    newcomer = read_impersonated(runtime.chain, transaction, sidecar)
    if not isinstance(newcomer, Newcomer):
        return newcomer
    (outcome,) = _admit_in_turn(runtime, [newcomer])
    return outcome


def _admit_in_turn(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> list[Outcome]:
    """Admit transactions after those of the threads that came before.

    Raises:
        WaitedTooLong: The other threads took `QUEUE_SECONDS`; nothing was admitted.
    """
    with runtime.arrivals.lock.held(QUEUE_SECONDS):
        return admit(runtime, newcomers)


def admit(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> list[Outcome]:
    """Return the outcomes of transactions: those that were accepted are stored in a block or in the pool.

    For one thread of a process at a time, which the lock of `runtime.arrivals` ensures.

    Raises:
        UpstreamError: As `admissions.add_to_pool`.
    """
    if not runtime.arrivals.mines:
        return add_to_pool(runtime.chain, newcomers).outcomes
    outcomes = _mined(runtime, newcomers) if _is_soon_done(runtime, newcomers) else None
    if outcomes is not None:
        return outcomes
    admitted = add_to_pool(runtime.chain, newcomers)
    if admitted.pending and _mines_before_answer(runtime):
        _mine_pool(runtime, admitted.pending)
    return admitted.outcomes


def _is_soon_done(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> bool:
    """Return whether this process may make their block immediately and it will not take long.

    On a fork the state may have to be fetched first; only the code of the pool can do that. It also stores blobs.
    """
    return (
        runtime.chain.fork is None
        and _may_mine(runtime)
        and sum(newcomer.transaction.gas for newcomer in newcomers) <= MAX_GAS
        and not any(newcomer.sidecar for newcomer in newcomers)
        and _come_alone(runtime, newcomers)
    )


def _may_mine(runtime: EvmRuntime) -> bool:
    """Return whether blocks are made when transactions arrive, and by this node alone."""
    chain = runtime.chain
    return (
        runtime.consensus.decides_alone
        and development.mines_on_arrival(chain)
        and runtime.consensus.may_produce(blocks.head(chain).number + 1, clock.wall())
    )


def _mines_before_answer(runtime: EvmRuntime) -> bool:
    """Return whether clients may rely on the receipt as soon as they have the hash."""
    chain = runtime.chain
    return chain.has_development_methods and _may_mine(runtime)


def _mine_pool(runtime: EvmRuntime, pending: Sequence[Hash]) -> None:
    """Make blocks until they contain these transactions, or until no block can be made.

    The producer may have mined them already. Errors are only logged, because the transactions are stored and the
    producer tries again.
    """
    chain, left = runtime.chain, set(pending)
    deadline = monotonic() + BLOCK_SECONDS
    if not chain.vm_lock.acquire(timeout=BLOCK_SECONDS):
        return
    try:
        while left and monotonic() < deadline and produce(runtime):
            left.difference_update(
                transaction.hash for transaction in blocks.head(chain).transactions
            )
    except Exception as error:
        is_unexpected = not isinstance(error, DatabaseError)
        _log.warning("no block is made on arrival: %s", error, exc_info=is_unexpected)
    finally:
        chain.vm_lock.release()


def _come_alone(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> bool:
    """Return whether, as far as this process knows, no other process has transactions for the same block.

    If two processes make a block at the same time, one of them has executed its block in vain. Followers have a
    cost per block, so many small blocks cost them more than the producer's larger ones.
    """
    if runtime.chain.node.profile == "embedded":
        return True
    if len(newcomers) > 1:
        _note_company(runtime)
    return monotonic() >= runtime.arrivals.alone_from


def _note_company(runtime: EvmRuntime) -> None:
    runtime.arrivals.alone_from = monotonic() + COMPANY_SECONDS


def _mined(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
    """Return the outcomes if all accepted transactions are in a block; None if nothing was changed."""
    if not runtime.chain.vm_lock.acquire(blocking=False):
        return None
    try:
        return _mine(runtime, newcomers)
    finally:
        runtime.chain.vm_lock.release()


def _mine(runtime: EvmRuntime, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
    """Mine with the lock held. Pauses and manual changes by this process take the lock too."""
    chain, head = runtime.chain, blocks.head(runtime.chain)
    asked = queries.of_automine(head.number, is_development=chain.is_development)
    with chain.db.read_ahead([*asked, *clock.queries(chain.db)]):
        development.refresh_mining_settings(chain)
        if not development.mines_on_arrival(chain):
            return None
        return _mine_on(runtime, head, newcomers)


def _mine_on(
    runtime: EvmRuntime, head: AcceptedBlock, newcomers: Sequence[Newcomer]
) -> list[Outcome] | None:
    chain = runtime.chain
    extent = pool_rows.extent(chain.db)
    if extent.slots:
        _note_company(runtime)
        return None
    admissions = Admissions(chain, head, newcomers, extent)
    outcomes = [admissions.admit(newcomer) for newcomer in newcomers]
    # A rejection requires a current head, because another process may have moved it.
    is_refused = any(isinstance(outcome, Exception) for outcome in outcomes)
    ordered = None if is_refused else admissions.in_order(MAX_GAS)
    return outcomes if ordered is not None and _make(runtime, ordered, head) else None


def _make(runtime: EvmRuntime, ordered: Sequence[Transaction], head: AcceptedBlock) -> bool:
    """Make the block on this head; return whether it was accepted, and not that of a faster process."""
    block = None
    with suppress(DirectBlockRefused), runtime.vm.offering(ordered, head.hash):
        block = runtime.consensus.produce(now=clock.cchain_now(runtime.chain.db))
    if block is None:
        _note_company(runtime)
    return block is not None
