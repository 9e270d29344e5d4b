"""Filters that clients poll: eth_newFilter and its family.

A filter's state lives in Django's cache `filters`, which all web processes share in production, so
that each of them answers alike; what changed is read from the chain when it is polled. A filter
that nobody polls expires, and when there are too many some give way (`filter_index`). How answers
look is said in `api`.

Unspecified: geth has no limit of filters. Here nobody is refused: who makes too many loses those that
it has polled longest ago, which are then not found, as after their lifetime.
"""

import pickle
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from django.core.cache import BaseCache, caches

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import FILTERS, EvmChain
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, development, logs, pool
from cchain_app.selectors.logs import FoundLog
from cchain_app.store import development as rows
from primitives.evm import Hash

ID_BITS = 128

BLOCKS_A_POLL = 1000
"""Blocks that one poll looks through."""

UNIT = 4096
"""Bytes that count as one filter; a larger one counts as several (NODE_FILTERS)."""

REMEMBERED = 8
"""Bytes of a transaction's hash by which a filter knows what it reported: a pool has thousands."""


class FilterNotFound(Exception):
    """There is no such filter, not any more, or not of the kind that was asked for."""

    def __init__(self) -> None:
        super().__init__("filter not found")


class Kind(Enum):
    """What a filter reports."""

    LOGS = auto()
    BLOCKS = auto()
    PENDING = auto()


@dataclass(frozen=True, slots=True)
class PollFilter:
    """A filter, and how far its owner has been told."""

    kind: Kind
    client: str
    """Whose it is."""
    next_number: int
    """Height of the first block that was not reported."""
    log_filter: LogFilter | None = None
    first: int | str | None = None
    """Range as it was given, for the logs of the whole range: heights, tags, or None for the head."""
    last: int | str | None = None
    full: bool = False
    """Whether pending transactions are reported whole."""
    rewinds: int = 0
    """How often the chain had gone back when it was polled last."""
    reported: bytes = b""
    """Transactions of the pool that were reported: the beginnings of their hashes."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened since the last poll; one of the two lists, by the filter's kind."""

    kind: Kind
    full: bool
    hashes: Sequence[Hash] = ()
    """Of blocks or of transactions."""
    logs: Sequence[FoundLog] = ()


def new_log_filter(
    chain: EvmChain,
    client: str,
    log_filter: LogFilter,
    first: int | str | None,
    last: int | str | None,
) -> int:
    """Make a filter that reports logs of blocks from now on, and return its ID."""
    rewinds, following = _begin(chain)
    made = PollFilter(
        Kind.LOGS,
        client,
        following,
        log_filter=log_filter,
        first=first,
        last=last,
        rewinds=rewinds,
    )
    return _add(chain, made)


def new_block_filter(chain: EvmChain, client: str) -> int:
    """Make a filter that reports the hashes of blocks from now on, and return its ID."""
    rewinds, following = _begin(chain)
    return _add(chain, PollFilter(Kind.BLOCKS, client, following, rewinds=rewinds))


def new_pending_filter(chain: EvmChain, client: str, *, full: bool) -> int:
    """Make a filter that reports transactions that become pending, and return its ID."""
    rewinds, following = _begin(chain)
    waiting = _remembered(pool.pending_hashes(chain))
    made = PollFilter(Kind.PENDING, client, following, rewinds=rewinds, full=full, reported=waiting)
    return _add(chain, made)


def _begin(chain: EvmChain) -> tuple[int, int]:
    """Return how often the chain has gone back, and the height of the block that comes next.

    In this order: if it goes back in between, the first poll finds that it did, and begins lower.
    """
    rewinds = development.conditions(chain).rewinds
    return rewinds, blocks.head(chain).number + 1


def changes(chain: EvmChain, filter_id: int) -> Changes:
    """Return what a filter has to report since the last poll, which keeps it alive.

    Raises:
        FilterNotFound: There is no such filter.
    """
    found = _followed_back(chain, get(chain, filter_id))
    if found.kind is Kind.LOGS:
        advanced, result = _log_changes(chain, found)
    elif found.kind is Kind.BLOCKS:
        advanced, result = _block_changes(chain, found)
    else:
        advanced, result = _pending_changes(chain, found)
    if _cache().touch(
        _key(chain, filter_id), chain.node.filter_lifetime
    ):  # unless uninstalled since
        _store(chain, filter_id, advanced)
    return result


def _followed_back(chain: EvmChain, found: PollFilter) -> PollFilter:
    """Return a filter that goes on where the chain went back to since it was polled (devnet.md 5)."""
    rewinds = development.conditions(chain).rewinds
    if rewinds == found.rewinds:
        return found
    lowest = rows.lowest_since(chain.db, found.rewinds)
    following = found.next_number if lowest is None else min(found.next_number, lowest + 1)
    return replace(found, next_number=following, rewinds=rewinds)


def get(chain: EvmChain, filter_id: int) -> PollFilter:
    """Return a filter as it is.

    Raises:
        FilterNotFound: There is no such filter.
    """
    found = _cache().get(_key(chain, filter_id))
    if not isinstance(found, PollFilter):
        raise FilterNotFound
    return found


def keep(chain: EvmChain, filter_id: int, found: PollFilter) -> None:
    """Begin a filter's lifetime anew."""
    if _cache().touch(_key(chain, filter_id), chain.node.filter_lifetime):
        _enter(chain, filter_id, found)


def remove(chain: EvmChain, filter_id: int) -> bool:
    """Forget a filter, and return whether it was there."""
    found = _cache().get(_key(chain, filter_id))
    if isinstance(found, PollFilter):
        chain.filter_index.remove(found.client, filter_id)
    return bool(_cache().delete(_key(chain, filter_id)))


def _log_changes(chain: EvmChain, found: PollFilter) -> tuple[PollFilter, Changes]:
    assert found.log_filter is not None
    head = blocks.head(chain).number
    first = found.next_number
    if isinstance(found.first, int):
        first = max(first, found.first)
    last = min(head, found.last) if isinstance(found.last, int) else head
    matching: list[FoundLog] = []
    following = head + 1
    if first <= last:
        matching, searched = _find_some(chain, found.log_filter, first, last)
        if searched < last:
            following = searched + 1
    advanced = replace(found, next_number=max(found.next_number, following))
    return advanced, Changes(Kind.LOGS, full=False, logs=matching)


def _find_some(
    chain: EvmChain, log_filter: LogFilter, first: int, last: int
) -> tuple[list[FoundLog], int]:
    """Return matching logs and the last block that was searched.

    A range with more logs than one answer may hold is cut: the next poll goes on after it.
    """
    while True:
        limit = chain.node.logs_results if last > first else 0
        try:
            return logs.find_logs(chain, log_filter, first, last, limit), last
        except logs.TooManyLogs:
            last = (first + last) // 2


def _block_changes(chain: EvmChain, found: PollFilter) -> tuple[PollFilter, Changes]:
    accepted = _unreported(chain, found)
    advanced = replace(found, next_number=_after(found, accepted))
    hashes = [block.hash for block in accepted]
    return advanced, Changes(Kind.BLOCKS, full=False, hashes=hashes)


def _pending_changes(chain: EvmChain, found: PollFilter) -> tuple[PollFilter, Changes]:
    """Report what became pending; also what was and is in a block already."""
    waiting = pool.pending_hashes(chain)
    accepted = _unreported(chain, found)
    mined = [transaction.hash for block in accepted for transaction in block.transactions]
    known = found.reported
    reported = {known[place : place + REMEMBERED] for place in range(0, len(known), REMEMBERED)}
    # A transaction can be in both lists when its block was accepted in between.
    hashes = [one for one in dict.fromkeys([*mined, *waiting]) if one[:REMEMBERED] not in reported]
    following = _after(found, accepted)
    advanced = replace(found, next_number=following, reported=_remembered(waiting))
    return advanced, Changes(Kind.PENDING, full=found.full, hashes=hashes)


def _unreported(chain: EvmChain, found: PollFilter) -> list[AcceptedBlock]:
    """Return the blocks since the last poll; of very many the first, and the next poll goes on."""
    last = min(blocks.head(chain).number, found.next_number + BLOCKS_A_POLL - 1)
    numbers = range(found.next_number, last + 1)
    return [block for number in numbers if (block := blocks.by_number(chain, number)) is not None]


def _after(found: PollFilter, accepted: Sequence[AcceptedBlock]) -> int:
    return accepted[-1].number + 1 if accepted else found.next_number


def _remembered(hashes: Sequence[Hash]) -> bytes:
    return b"".join(one[:REMEMBERED] for one in hashes)


def _add(chain: EvmChain, made: PollFilter) -> int:
    filter_id = secrets.randbits(ID_BITS)
    _store(chain, filter_id, made)
    return filter_id


def _store(chain: EvmChain, filter_id: int, value: PollFilter) -> None:
    _cache().set(_key(chain, filter_id), value, chain.node.filter_lifetime)
    _enter(chain, filter_id, value)


def _enter(chain: EvmChain, filter_id: int, value: PollFilter) -> None:
    """Enter a filter as polled just now, and drop those that give way."""
    weight = 1 + len(pickle.dumps(value)) // UNIT
    evicted = chain.filter_index.put(value.client, filter_id, weight)
    if evicted:
        _cache().delete_many([_key(chain, one) for one in evicted])


def _cache() -> BaseCache:
    return caches[FILTERS]


def _key(chain: EvmChain, filter_id: int) -> str:
    return f"filter-{chain.aliases[0]}-{filter_id:032x}"
