"""Celery tasks of the explorer: each calls a service and returns its result.

A task works on the C-Chain and on a part of the other EVM chains, in turn, because there may be many. A page advances the
indexes of its chain itself.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final

from celery import shared_task

from cchain_app.selectors import blocks
from explorer_app.apps import explorer
from explorer_app.selectors import chains, verified
from explorer_app.services import indexes
from explorer_app.site import VERIFY, Explorer

_log: Final = logging.getLogger(__name__)

TURN: Final = 300.0
"""Seconds after which a worker starts no further verification, so that other tasks can run."""

TURNS: Final = 5
"""Calls of a task after which each of the other EVM chains has had its turn."""


@shared_task(name="explorer_app.index_tokens")
def index_tokens() -> dict[str, int]:
    """Index a batch of token transfers and holders of each chain in turn, if NODE_TOKEN_INDEX is set."""
    site = explorer()
    if not site.indexes_tokens:
        return {"blocks": 0}
    return {"blocks": _advance(site, "tokens", indexes.advance_tokens, indexes.has_current_tokens)}


@shared_task(name="explorer_app.summarise")
def summarise() -> dict[str, int]:
    """Summarise the next blocks of each chain in turn by day and by balance, if NODE_STATISTICS is set."""
    site = explorer()
    if not site.summarises:
        return {"blocks": 0}
    # Imported here like the verification, for a faster start.
    from explorer_app.services import statistics

    def work(one: Explorer, seconds: float) -> int:
        done: list[int] = []
        one.statistics.run(lambda: done.append(statistics.summarise(one.evm, seconds=seconds)))
        return sum(done)

    return {"blocks": _advance(site, "statistics", work, statistics.has_current_summaries)}


@shared_task(name=VERIFY)
def verify(chain: str | None = None) -> dict[str, int]:
    """Process pending verifications of a chain, without a name those of each chain in turn.

    In the embedded profile the worker also makes the blocks, so a separate thread does the work, one at a time.
    """
    site = explorer()
    if chain is None:
        sites = list(_in_turn(site, VERIFY))
        if chains.are_asked_together(site.platform):
            pending = chains.with_verifications(site.platform, (one.evm for one in sites))
            sites = [one for one in sites if not one.evm.is_of_subnet or one.evm.name in pending]
    else:
        named = site.find(chain)
        sites = [] if named is None else [named]
    waiting = [one for one in sites if verified.any_waits(one.evm)]
    if not waiting:
        return {"verifications": 0}
    # Imported here, because the modules that read sources and arguments take a tenth of a node's start.
    from explorer_app.services import verification

    def work(seconds: float) -> int:
        return sum(verification.work(one, seconds=seconds) for one in waiting)

    if site.node.profile == "production":
        return {"verifications": work(TURN)}
    # Process all of them. A submission that arrives as the thread ends is processed at the next tick.
    site.verifying.start(lambda: work(float("inf")))
    return {"verifications": 0}


def _advance(
    site: Explorer,
    index: str,
    work: Callable[[Explorer, float], int],
    is_current: Callable[[Explorer], bool],
) -> int:
    """Write a part of an index of the chains whose turn it is; return the number of blocks.

    The chains besides the C-Chain share one slice of time, and one without new blocks takes none of it. A chain whose work
    fails does not keep the others from theirs; the first error is raised at the end.

    Args:
        site: The explorer of the C-Chain.
        index: Name of the index.
        work: Writes the index of an explorer's chain for some seconds and returns the number of blocks.
        is_current: Returns whether the index of an explorer's chain contains the head.
    """
    done, until = 0, 0.0
    failures: list[Exception] = []
    sites = list(_in_turn(site, index))
    heads = chains.heads(site.platform, (one.evm for one in sites))
    for one in sites:
        try:
            if one.is_of_cchain:
                done += _for(one.evm.indexing.seconds(index), one, work)
                continue
            head = heads.get(one.evm.name) or blocks.catch_up(one.evm).hash
            if one.done.get(index) == head:
                continue
            until = until or time.monotonic() + one.evm.indexing.seconds(index)
            done += _for(until - time.monotonic(), one, work)
            if is_current(one):
                one.done[index] = head
        except Exception as error:  # the other chains get their turn
            failures.append(error)
    if failures:
        raise failures[0]
    return done


def _for(seconds: float, site: Explorer, work: Callable[[Explorer, float], int]) -> int:
    """Do work for some seconds, and return the number of blocks; none if there is no time."""
    return work(site, seconds) if seconds > 0 else 0


def _in_turn(site: Explorer, task: str) -> Iterator[Explorer]:
    """Yield the explorers of the C-Chain and of a part of the other EVM chains: in the next call of a task, of the next part."""
    if site.has_evm:
        yield site
    if site.node.profile == "production":
        try:
            site.look_for_chains()  # a worker serves no requests, and so does not look for chains itself
        except Exception:
            _log.exception("cannot look for new chains; continuing with the known chains")
    others = [chain for chain in site.evms if chain is not site.evm]
    if not others:
        return
    share = -(-len(others) // TURNS)
    first = site.turns[task] % len(others)
    site.turns[task] = first + share
    for chain in (others[first:] + others[:first])[:share]:
        yield site.of(chain)
