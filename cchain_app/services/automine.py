"""A transaction that goes straight into a block: one commit instead of two, and its acknowledgement comes with it.

Where a node decides alone and makes a block on a transaction's arrival, a row of the pool would live for some
milliseconds: it would be committed, read, and deleted with the block. So what arrives while nothing waits, and
can all run at once, is executed where it arrives, and its block is what is committed. Whatever is in the way
(something waits, somebody else is at a block, a part of it is refused or cannot run) leaves it to the pool, as everywhere else.

On a development chain of the embedded profile an executable transaction is mined before its hash is returned, also by
way of the pool, because clients ask for the receipt immediately.

Unspecified: the design's "one writer for each chain, whoever holds that chain's lock" (docs/protocol/design.md, "Who writes")
is any process. In the production profile web processes write such blocks, beside the producer.
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
from cchain_app.services.acceptance import GoesToPool, SetOtherwise
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

MOST_GAS: Final = 5_000_000
"""Sum of the gas limits of transactions that bypass the pool."""

BLOCK_SECONDS: Final = 5.0
"""How long an answer waits for the blocks with its transactions, and for the lock of the chain's consensus, which a call
that makes many blocks holds. Afterwards the transactions stay in the pool, and the producer mines them."""

COMPANY_SECONDS: Final = 1.0
"""For so long all goes to the pool where other processes make blocks as well and somebody else has sent something."""


class Automine:
    """Takes transactions in, and makes their block at once where that can be done.

    One thread of a process at a time: a chain's `admissions` see to it. Where other processes make blocks, too, only
    what comes alone goes straight into one; of what comes together the producer makes fewer and larger ones.

    Args:
        chain: Which chain.
        vm: Its own.
    """

    def __init__(self, chain: EvmChain, vm: EvmVM) -> None:
        self._chain = chain
        self._vm = vm
        self._alone_from = 0.0
        """From when on what comes is taken for all that comes, on the monotonic clock in seconds."""

    def begin(self) -> None:
        """Let transactions go straight into blocks from now on: the process serves, and may make blocks."""
        self._chain.admissions = GroupCommit(self.admit)

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Outcome]:
        """Return what became of transactions: those that were taken are in a block or in the pool, on the disk.

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
        """Say whether this process may decide on their block at once, and it will not take long.

        Of a fork the state may have to be fetched first, and the pool knows how.
        """
        return (
            self._chain.fork is None
            and self._may_mine()
            and sum(one.transaction.gas for one in newcomers) <= MOST_GAS
            and self._come_alone(newcomers)
        )

    def _may_mine(self) -> bool:
        """Return whether blocks are made on arrival, and this node alone makes them."""
        chain = self._chain
        return (
            chain.consensus.decides_alone
            and development.mining(chain) == "auto"
            and chain.consensus.may_produce(blocks.head(chain).number + 1, clock.wall())
        )

    def _mines_before_answer(self) -> bool:
        """Return whether clients may rely on the receipt as soon as they have the hash."""
        chain = self._chain
        return chain.is_development and chain.node.profile == "embedded" and self._may_mine()

    def _mine_pool(self, pending: Sequence[Hash]) -> None:
        """Make blocks until they contain these transactions, or until no block can be made.

        The producer may have mined them already. Errors are logged only: the transactions are stored, and the producer
        tries again.
        """
        chain, left = self._chain, set(pending)
        deadline = monotonic() + BLOCK_SECONDS
        if not chain.consensus.lock.acquire(timeout=BLOCK_SECONDS):
            return
        try:
            while left and monotonic() < deadline and produce(chain, "auto"):
                left.difference_update(one.hash for one in blocks.head(chain).transactions)
        except Exception as error:
            is_unexpected = not isinstance(error, DatabaseError)
            _log.warning("no block is made on arrival: %s", error, exc_info=is_unexpected)
        finally:
            chain.consensus.lock.release()

    def _come_alone(self, newcomers: Sequence[Newcomer]) -> bool:
        """Say whether no other process has anything for the same block, as far as this one knows.

        Of two processes that make a block at once one has executed in vain; and whoever follows them, and
        each block costs them something, has more to do than with the producer's blocks, which have it all.
        """
        if self._chain.node.profile == "embedded":
            return True
        if len(newcomers) > 1:
            self._note_company()
        return monotonic() >= self._alone_from

    def _note_company(self) -> None:
        self._alone_from = monotonic() + COMPANY_SECONDS

    def _mined(self, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
        """Return the outcomes where all that is taken is in a block; None where nothing has happened."""
        consensus = self._chain.consensus
        if not consensus.lock.acquire(blocking=False):
            return None
        try:
            return self._mine(newcomers)
        finally:
            consensus.lock.release()

    def _mine(self, newcomers: Sequence[Newcomer]) -> list[Outcome] | None:
        """Do so; who pauses production, or changes anything by hand, waits for the lock, or has had it, or is seen later."""
        chain, head = self._chain, blocks.head(self._chain)
        asked = questions.of_automine(head.number, is_development=chain.is_development)
        with chain.db.read_ahead([*asked, *clock.questions(chain.db)]):
            development.see_conditions(chain)
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
        outcomes = [admissions.admit(one) for one in newcomers]
        # Whoever refuses one looks at the rows first: another process may have moved the head.
        is_refused = any(isinstance(one, Exception) for one in outcomes)
        ordered = None if is_refused else self._ordered(admissions, head)
        return outcomes if ordered is not None and self._make(ordered, head) else None

    def _make(self, ordered: Sequence[Transaction], head: AcceptedBlock) -> bool:
        """Make the block on this head; say whether it is accepted: not where another process was quicker."""
        block = None
        with suppress(GoesToPool, SetOtherwise), self._vm.offering(ordered, head.hash):
            block = self._chain.consensus.produce(now=clock.cchain_now(self._chain.db))
        if block is None:
            self._note_company()
        return block is not None

    def _ordered(self, admissions: Admissions, head: AcceptedBlock) -> list[Transaction] | None:
        """Return all that was taken in the order in which it should run; None where a part has to wait."""
        chosen = select(
            admissions.pending_parts(),
            base_fee_after(self._chain, head) or 0,
            MOST_GAS,
            self._chain.pool_limits.minimum_tip,
        )
        if len(chosen) < len(admissions.added):
            return None
        return [admissions.added[one.hash].transaction for one in chosen]
