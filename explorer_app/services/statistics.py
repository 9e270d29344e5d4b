"""Summarises an EVM chain after its blocks: sums by day, and copies of the balances to list accounts by balance.

A page that added up blocks or sorted accounts would scan tables with millions of rows. The task does it once for each
block, in short slices, and pages read the summaries.
"""

import time
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors import calls as call_index
from cchain_app.services import calls
from cchain_app.store import history
from explorer_app.selectors import statistics
from explorer_app.selectors.statistics import SummaryState
from explorer_app.site import Explorer
from explorer_app.store import statistics as statistics_rows
from explorer_app.store.statistics import SummaryMoved

BLOCKS_AT_ONCE: Final = 500
TRANSACTIONS_AT_ONCE: Final = 5_000
"""Limits of the blocks that are counted together, and of their transactions."""

ACCOUNTS_AT_ONCE: Final = 500
"""Limit of the accounts that are copied in one database transaction: writers of blocks wait no longer than it takes."""

_SHARE_OF_DAYS: Final = 0.5
"""Share of the time for the sums by day; the rest is for the accounts."""


def forget_above(chain: EvmChain, number: int) -> None:
    """Undo the summaries of blocks above a height, together with the blocks of a chain that is reverted."""
    statistics_rows.forget_above(chain.db, number)


def summarise(chain: EvmChain, *, seconds: float) -> int:
    """Summarise the next blocks for about `seconds`; return the number of blocks counted by day.

    The time is checked after each database transaction. If two processes summarise at the same time, one of them gives up.
    """
    began = time.monotonic()
    head = blocks.catch_up(chain).number
    statistics_rows.begin(chain.db, chain.first_number + 1)
    counted = _count_days(chain, head, began + seconds * _SHARE_OF_DAYS)
    first_state = history.first_state(chain.db)
    while statistics_rows.copy_accounts(
        chain.db, head, first_state, ACCOUNTS_AT_ONCE, can_revert=chain.is_development
    ):
        if time.monotonic() >= began + seconds:
            break
    return counted


def _count_days(chain: EvmChain, head: int, until: float) -> int:
    last, counted = min(head, _last_with_calls(chain)), 0
    while (
        progress := statistics_rows.progress(chain.db)
    ) is not None and progress.next_block <= last:
        days = statistics.count_blocks(
            chain,
            progress.next_block,
            last,
            max_blocks=BLOCKS_AT_ONCE,
            max_transactions=TRANSACTIONS_AT_ONCE,
            has_calls=calls.is_enabled(chain),
        )
        if not days:
            break
        try:
            statistics_rows.write_days(chain.db, days, progress)
        except SummaryMoved:
            break
        counted += sum(day.blocks for day in days)
        if time.monotonic() >= until:
            break
    return counted


def _last_with_calls(chain: EvmChain) -> int:
    """Return the height up to which the creations of contracts are known."""
    height, head = call_index.state_of_index(chain)
    return height if calls.is_enabled(chain) else head


def has_current_summaries(site: Explorer) -> bool:
    """Return whether the summaries contain the head and all accounts."""
    state = statistics.state_of_summaries(site.evm)
    return state.has_all_accounts and min(state.counted, state.copied) >= state.head


def wait_for_summaries(site: Explorer) -> SummaryState:
    """Summarise up to the head, for a limited time, and return the state, which may still be behind."""
    evm = site.evm
    if calls.is_enabled(evm):
        calls.wait_for_calls(evm)
    needed = statistics.state_of_summaries(evm).head

    def is_current() -> bool:
        state = statistics.state_of_summaries(evm)
        least = min(needed, state.head)  # the chain may have been reverted meanwhile
        return state.has_all_accounts and state.counted >= least and state.copied >= least

    site.statistics.wait(
        is_current,
        lambda seconds: site.statistics.run(lambda: summarise(evm, seconds=seconds)),
    )
    return statistics.state_of_summaries(evm)
