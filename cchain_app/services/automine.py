"""A transaction that goes straight into a block: one commit instead of two, and its acknowledgement comes with it.

Where a node decides alone and makes a block on a transaction's arrival, a row of the pool would live for some
milliseconds: it would be committed, read, and deleted with the block. So what arrives while nothing waits, and
can all run at once, is executed where it arrives, and its block is what is committed. Whatever is in the way
(something waits, somebody else is at a block, a part of it is refused or cannot run) leaves it to the pool, as everywhere else.
"""

from collections.abc import Sequence
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.pool.admission import Outcome
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.ordering import select
from cchain_app.selectors import blocks, development
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.services.admissions import Admissions, admit
from cchain_app.services.vm import EvmVM
from cchain_app.store import pool as rows
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from chaindb.group_commit import GroupCommit

MOST_GAS: Final = 5_000_000
"""Of the gas limits of what goes straight into a block. Who brings more is answered before it is executed."""


class Automine:
    """Takes transactions in, and makes their block at once where that can be done.

    One thread at a time: a chain's `admissions` see to it.

    Args:
        chain: Which chain; this process is the one that makes its blocks.
        vm: Its own.
    """

    def __init__(self, chain: EvmChain, vm: EvmVM) -> None:
        self._chain = chain
        self._vm = vm

    def begin(self) -> None:
        """Let transactions go straight into blocks from now on: the process serves, and makes the blocks."""
        self._chain.admissions = GroupCommit(self.admit)

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Outcome]:
        """Return what became of transactions: those that were taken are in a block or in the pool, on the disk.

        Raises:
            UpstreamError: As `admissions.admit`.
        """
        outcomes = self._mined(newcomers) if self._is_soon_done(newcomers) else None
        return admit(self._chain, newcomers) if outcomes is None else outcomes

    def _is_soon_done(self, newcomers: Sequence[Newcomer]) -> bool:
        """Say whether this node alone decides on their block, and it will not take long.

        Of a fork the state may have to be fetched first, and the pool knows how.
        """
        chain = self._chain
        return (
            chain.consensus.decides_alone
            and chain.fork is None
            and sum(one.transaction.gas for one in newcomers) <= MOST_GAS
        )

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
        """Do so; whoever pauses production, or changes anything by hand, waits for the lock or has had it."""
        chain = self._chain
        extent = rows.extent(chain.db)
        if extent.slots or development.mining(chain) != "auto":
            return None
        admissions = Admissions(chain, blocks.head(chain), newcomers, extent)
        outcomes = [admissions.admit(one) for one in newcomers]
        # Whoever refuses one looks at the rows first: another process may have moved the head.
        is_refused = any(isinstance(one, Exception) for one in outcomes)
        ordered = None if is_refused else self._ordered(admissions)
        if ordered is None:
            return None
        with self._vm.offering(ordered):
            block = chain.consensus.produce(now=clock.now())
        return None if block is None else outcomes

    def _ordered(self, admissions: Admissions) -> list[Transaction] | None:
        """Return all that was taken in the order in which it should run; None where a part has to wait."""
        head = blocks.head(self._chain)
        chosen = select(
            admissions.pending_parts(),
            base_fee_after(self._chain, head) or 0,
            MOST_GAS,
            self._chain.pool_limits.minimum_tip,
        )
        if len(chosen) < len(admissions.added):
            return None
        return [admissions.added[one.hash].transaction for one in chosen]
