"""Mines a transaction directly, without the pool: one commit instead of two, and it is mined when it is acknowledged.

If a node decides alone and makes a block when a transaction arrives, a row of the pool would live for some
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
from cchain_app.chain import EvmChain
from cchain_app.pool.admission import Outcome
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.ordering import select
from cchain_app.selectors import blocks, development
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.services.acceptance import DirectBlockRefused
from cchain_app.services.admissions import Admissions, add_to_pool
from cchain_app.services.production import produce
from cchain_app.services.vm import EvmVM
from cchain_app.store import pool as rows
from cchain_app.store import questions
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from chaindb.group_commit import GroupCommit
from primitives.evm import Hash

_log: Final = logging.getLogger(__name__)

MAX_GAS: Final = 5_000_000
"""Limit of the total gas limit of transactions that bypass the pool."""

BLOCK_SECONDS: Final = 5.0
"""Time limit for waiting for the blocks with the transactions, and for the lock of the chain's consensus, which a call
that makes many blocks holds. Afterwards the transactions stay in the pool, and the producer mines them."""

COMPANY_SECONDS: Final = 1.0
"""If other processes make blocks too, transactions go to the pool for this time after another client has sent some."""


class Automine:
    """Admits transactions, and mines them directly if possible.

    For one thread of a process at a time, which the chain's `admissions` ensure. If other processes make blocks too,
    only single transactions are mined directly. For several, the producer makes fewer and larger blocks.

    Args:
        chain: The chain.
        vm: The chain's VM.
    """

    def __init__(self, chain: EvmChain, vm: EvmVM) -> None:
        self._chain = chain
        self._vm = vm
        self._alone_from = 0.0
        """Time on the monotonic clock, in seconds, from which on transactions may bypass the pool again."""

    def begin(self) -> None:
        """Let transactions bypass the pool from now on: the process serves requests and may make blocks."""
        self._chain.admissions = GroupCommit(self.admit)

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Outcome]:
        """Return the outcomes of transactions: those that were accepted are stored in a block or in the pool.

        Raises:
            UpstreamError: As `admissions.admit`.
        """
        outcomes = self._mined(newcomers) if self._is_soon_done(newcomers) else None
        if outcomes is not None:
            return outcomes
        admitted = add_to_pool(self._chain, newcomers)
        if admitted.pending and self._mines_before_answer():
            self._mine_pool(admitted.pending)
        return admitted.outcomes

    def _is_soon_done(self, newcomers: Sequence[Newcomer]) -> bool:
        """Return whether this process may make their block immediately and it will not take long.

        On a fork the state may have to be fetched first; only the code of the pool can do that.
        """
        return (
            self._chain.fork is None
            and self._may_mine()
            and sum(newcomer.transaction.gas for newcomer in newcomers) <= MAX_GAS
            and self._come_alone(newcomers)
        )

    def _may_mine(self) -> bool:
        """Return whether blocks are made when transactions arrive, and by this node alone."""
        chain = self._chain
        return (
            chain.consensus.decides_alone
            and development.mining(chain) == "auto"
            and chain.consensus.may_produce(blocks.head(chain).number + 1, clock.wall())
        )

    def _mines_before_answer(self) -> bool:
        """Return whether clients may rely on the receipt as soon as they have the hash."""
        chain = self._chain
        return chain.has_development_methods and self._may_mine()

    def _mine_pool(self, pending: Sequence[Hash]) -> None:
        """Make blocks until they contain these transactions, or until no block can be made.

        The producer may have mined them already. Errors are only logged, because the transactions are stored and the
        producer tries again.
        """
        chain, left = self._chain, set(pending)
        deadline = monotonic() + BLOCK_SECONDS
        if not chain.vm_lock.acquire(timeout=BLOCK_SECONDS):
            return
        try:
            while left and monotonic() < deadline and produce(chain, "auto"):
                left.difference_update(
                    transaction.hash for transaction in blocks.head(chain).transactions
                )
        except Exception as error:
            is_unexpected = not isinstance(error, DatabaseError)
            _log.warning("no block is made on arrival: %s", error, exc_info=is_unexpected)
        finally:
            chain.vm_lock.release()

    def _come_alone(self, newcomers: Sequence[Newcomer]) -> bool:
        """Return whether, as far as this process knows, no other process has transactions for the same block.

        If two processes make a block at the same time, one of them has executed its block in vain. Followers have a
        cost per block, so many small blocks cost them more than the producer's larger ones.
        """
        if self._chain.node.profile == "embedded":
            return True
        if len(newcomers) > 1:
            self._note_company()
        return monotonic() >= self._alone_from

    def _note_company(self) -> None:
        self._alone_from = monotonic() + COMPANY_SECONDS

    def _mined(self, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
        """Return the outcomes if all accepted transactions are in a block; None if nothing was changed."""
        if not self._chain.vm_lock.acquire(blocking=False):
            return None
        try:
            return self._mine(newcomers)
        finally:
            self._chain.vm_lock.release()

    def _mine(self, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
        """Mine with the lock held. Pauses and manual changes by this process take the lock too."""
        chain, head = self._chain, blocks.head(self._chain)
        asked = questions.of_automine(head.number, is_development=chain.is_development)
        with chain.db.read_ahead([*asked, *clock.questions(chain.db)]):
            development.refresh_mining_settings(chain)
            if development.mining(chain) != "auto":
                return None
            return self._mine_on(head, newcomers)

    def _mine_on(self, head: AcceptedBlock, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
        chain = self._chain
        extent = rows.extent(chain.db)
        if extent.slots:
            self._note_company()
            return None
        admissions = Admissions(chain, head, newcomers, extent)
        outcomes = [admissions.admit(newcomer) for newcomer in newcomers]
        # A rejection requires a current head, because another process may have moved it.
        is_refused = any(isinstance(outcome, Exception) for outcome in outcomes)
        ordered = None if is_refused else self._ordered(admissions, head)
        return outcomes if ordered is not None and self._make(ordered, head) else None

    def _make(self, ordered: Sequence[Transaction], head: AcceptedBlock) -> bool:
        """Make the block on this head; return whether it was accepted, and not that of a faster process."""
        block = None
        with suppress(DirectBlockRefused), self._vm.offering(ordered, head.hash):
            block = self._chain.consensus.produce(now=clock.cchain_now(self._chain.db))
        if block is None:
            self._note_company()
        return block is not None

    def _ordered(self, admissions: Admissions, head: AcceptedBlock) -> list[Transaction] | None:
        """Return all accepted transactions in the order in which they should run; None if some of them have to wait."""
        chosen = select(
            admissions.pending_parts(),
            base_fee_after(self._chain, head) or 0,
            MAX_GAS,
            self._chain.pool_limits.minimum_tip,
        )
        if len(chosen) < len(admissions.added):
            return None
        return [admissions.added[item.hash].transaction for item in chosen]
