"""Filters that clients poll: eth_newFilter and related methods.

A filter's state is in Django's cache `filters`, which all web processes share in production, so
that each of them returns the same results; changes are read from the chain when a filter is polled. A filter
that is not polled expires, and if there are too many, some are evicted (`filter_index`). The format of
responses is defined in `api`.

Unspecified: geth has no limit of filters. Here no new filter is rejected: a client that creates too many loses those
that it polled longest ago, which are then not found, as after their lifetime.
"""

import pickle
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from django.core.cache import BaseCache, caches

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.filter_index import FILTERS
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, development, logs, pool
from cchain_app.selectors.logs import FoundLog
from cchain_app.store import development as development_rows
from primitives.evm import Hash

ID_BITS = 128

BLOCKS_A_POLL = 1000
"""Limit of the blocks that one poll searches."""

UNIT = 4096
"""Bytes that count as one filter; a larger filter counts as several (NODE_FILTERS)."""

REMEMBERED = 8
"""Bytes of a transaction's hash by which a filter remembers reported ones: a pool has thousands of transactions."""


class FilterNotFound(Exception):
    """The filter does not exist, has expired, or is of another kind."""

    def __init__(self) -> None:
        super().__init__("filter not found")


class FilterKind(Enum):
    """The kind of changes that a filter reports."""

    LOGS = auto()
    BLOCKS = auto()
    PENDING = auto()


@dataclass(frozen=True, slots=True)
class PollFilter:
    """A filter, and the changes that it has reported."""

    kind: FilterKind
    client: str
    """The client that created it."""
    next_number: int
    """Height of the first block that was not reported yet."""
    log_filter: LogFilter | None = None
    first: int | str | None = None
    """The requested range, for queries of the whole range: heights, tags, or None for the head."""
    last: int | str | None = None
    full: bool = False
    """Whether pending transactions are reported in full."""
    rewinds: int = 0
    """Number of the chain's rewinds at the last poll."""
    reported: bytes = b""
    """Transactions of the pool that were reported: the first bytes of their hashes."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes since the last poll, in one of the two lists, depending on the filter's kind."""

    kind: FilterKind
    full: bool
    hashes: Sequence[Hash] = ()
    """Hashes of blocks or of transactions."""
    logs: Sequence[FoundLog] = ()


def new_log_filter(
    chain: EvmChain,
    client: str,
    log_filter: LogFilter,
    first: int | str | None,
    last: int | str | None,
) -> int:
    """Create a filter that reports logs of blocks from now on, and return its ID."""
    rewinds, following = _begin(chain)
    poll_filter = PollFilter(
        FilterKind.LOGS,
        client,
        following,
        log_filter=log_filter,
        first=first,
        last=last,
        rewinds=rewinds,
    )
    return _add(chain, poll_filter)


def new_block_filter(chain: EvmChain, client: str) -> int:
    """Create a filter that reports the hashes of blocks from now on, and return its ID."""
    rewinds, following = _begin(chain)
    return _add(chain, PollFilter(FilterKind.BLOCKS, client, following, rewinds=rewinds))


def new_pending_filter(chain: EvmChain, client: str, *, full: bool) -> int:
    """Create a filter that reports transactions that become pending, and return its ID."""
    rewinds, following = _begin(chain)
    waiting = _remembered(pool.pending_hashes(chain))
    poll_filter = PollFilter(
        FilterKind.PENDING, client, following, rewinds=rewinds, full=full, reported=waiting
    )
    return _add(chain, poll_filter)


def _begin(chain: EvmChain) -> tuple[int, int]:
    """Return the chain's number of rewinds, and the height of the next block.

    They are read in this order: if the chain is rewound in between, the first poll detects that and starts lower.
    """
    rewinds = development.conditions(chain).rewinds
    return rewinds, blocks.head(chain).number + 1


def changes(chain: EvmChain, filter_id: int) -> Changes:
    """Return a filter's changes since the last poll, and extend its lifetime.

    Raises:
        FilterNotFound: There is no such filter.
    """
    poll_filter = _followed_back(chain, get(chain, filter_id))
    if poll_filter.kind is FilterKind.LOGS:
        advanced, result = _log_changes(chain, poll_filter)
    elif poll_filter.kind is FilterKind.BLOCKS:
        advanced, result = _block_changes(chain, poll_filter)
    else:
        advanced, result = _pending_changes(chain, poll_filter)
    if _cache().touch(
        _key(chain, filter_id), chain.settings.filter_lifetime
    ):  # unless it was uninstalled meanwhile
        _store(chain, filter_id, advanced)
    return result


def _followed_back(chain: EvmChain, poll_filter: PollFilter) -> PollFilter:
    """Return a filter that continues at the block to which the chain was rewound since the last poll (devnet.md 5)."""
    rewinds = development.conditions(chain).rewinds
    if rewinds == poll_filter.rewinds:
        return poll_filter
    lowest = development_rows.lowest_since(chain.db, poll_filter.rewinds)
    following = (
        poll_filter.next_number if lowest is None else min(poll_filter.next_number, lowest + 1)
    )
    return replace(poll_filter, next_number=following, rewinds=rewinds)


def get(chain: EvmChain, filter_id: int) -> PollFilter:
    """Return a filter without changing it.

    Raises:
        FilterNotFound: There is no such filter.
    """
    poll_filter = _cache().get(_key(chain, filter_id))
    if not isinstance(poll_filter, PollFilter):
        raise FilterNotFound
    return poll_filter


def keep(chain: EvmChain, filter_id: int, poll_filter: PollFilter) -> None:
    """Restart a filter's lifetime."""
    if _cache().touch(_key(chain, filter_id), chain.settings.filter_lifetime):
        _enter(chain, filter_id, poll_filter)


def remove(chain: EvmChain, filter_id: int) -> bool:
    """Delete a filter, and return whether it existed."""
    poll_filter = _cache().get(_key(chain, filter_id))
    if isinstance(poll_filter, PollFilter):
        chain.filter_index.remove(poll_filter.client, filter_id)
    return bool(_cache().delete(_key(chain, filter_id)))


def _log_changes(chain: EvmChain, poll_filter: PollFilter) -> tuple[PollFilter, Changes]:
    assert poll_filter.log_filter is not None
    head = blocks.head(chain).number
    first = poll_filter.next_number
    if isinstance(poll_filter.first, int):
        first = max(first, poll_filter.first)
    last = min(head, poll_filter.last) if isinstance(poll_filter.last, int) else head
    matching: list[FoundLog] = []
    following = head + 1
    if first <= last:
        matching, searched = _find_some(chain, poll_filter.log_filter, first, last)
        if searched < last:
            following = searched + 1
    advanced = replace(poll_filter, next_number=max(poll_filter.next_number, following))
    return advanced, Changes(FilterKind.LOGS, full=False, logs=matching)


def _find_some(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int
) -> tuple[list[FoundLog], int]:
    """Return matching logs, and the last block that was searched.

    If a range has more logs than a response may contain, it is cut: the next poll continues after it.
    """
    while True:
        limit = chain.settings.logs_results if last > first else 0
        try:
            return logs.find_logs(chain, log_filter, first, last, limit), last
        except logs.TooManyLogs:
            last = (first + last) // 2


def _block_changes(chain: EvmChain, poll_filter: PollFilter) -> tuple[PollFilter, Changes]:
    accepted = _unreported(chain, poll_filter)
    advanced = replace(poll_filter, next_number=_after(poll_filter, accepted))
    hashes = [block.hash for block in accepted]
    return advanced, Changes(FilterKind.BLOCKS, full=False, hashes=hashes)


def _pending_changes(chain: EvmChain, poll_filter: PollFilter) -> tuple[PollFilter, Changes]:
    """Report transactions that became pending, including those that were mined in the meantime."""
    waiting = pool.pending_hashes(chain)
    accepted = _unreported(chain, poll_filter)
    mined = [transaction.hash for block in accepted for transaction in block.transactions]
    known = poll_filter.reported
    reported = {known[place : place + REMEMBERED] for place in range(0, len(known), REMEMBERED)}
    # A transaction can be in both lists when its block was accepted in between.
    hashes = [
        fromkey
        for fromkey in dict.fromkeys([*mined, *waiting])
        if fromkey[:REMEMBERED] not in reported
    ]
    following = _after(poll_filter, accepted)
    advanced = replace(poll_filter, next_number=following, reported=_remembered(waiting))
    return advanced, Changes(FilterKind.PENDING, full=poll_filter.full, hashes=hashes)


def _unreported(chain: EvmChain, poll_filter: PollFilter) -> list[AcceptedBlock]:
    """Return the blocks since the last poll; if there are too many, the first ones, and the next poll continues."""
    last = min(blocks.head(chain).number, poll_filter.next_number + BLOCKS_A_POLL - 1)
    numbers = range(poll_filter.next_number, last + 1)
    return [block for number in numbers if (block := blocks.by_number(chain, number)) is not None]


def _after(poll_filter: PollFilter, accepted: Sequence[AcceptedBlock]) -> int:
    return accepted[-1].number + 1 if accepted else poll_filter.next_number


def _remembered(hashes: Sequence[Hash]) -> bytes:
    return b"".join(block_hash[:REMEMBERED] for block_hash in hashes)


def _add(chain: EvmChain, poll_filter: PollFilter) -> int:
    filter_id = secrets.randbits(ID_BITS)
    _store(chain, filter_id, poll_filter)
    return filter_id


def _store(chain: EvmChain, filter_id: int, value: PollFilter) -> None:
    _cache().set(_key(chain, filter_id), value, chain.settings.filter_lifetime)
    _enter(chain, filter_id, value)


def _enter(chain: EvmChain, filter_id: int, value: PollFilter) -> None:
    """Register a filter as polled just now, and delete the evicted filters."""
    weight = 1 + len(pickle.dumps(value)) // UNIT
    evicted = chain.filter_index.put(value.client, filter_id, weight)
    if evicted:
        _cache().delete_many([_key(chain, item) for item in evicted])


def _cache() -> BaseCache:
    return caches[FILTERS]


def _key(chain: EvmChain, filter_id: int) -> str:
    return f"filter-{chain.name}-{filter_id:032x}"
