"""The schedule of proposers: slots of five seconds whose owners are drawn by stake (p2p.md 11.3)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from network_app.proposervm.sampler import (
    MT19937_64,
    WeightedHeap,
    draw,
    draw_without_replacement,
    words,
    words_of_64,
)
from primitives.ids import EMPTY_NODE_ID, ID, NodeID

WINDOW_DURATION = 5
"""Length of a slot, and of a window before Durango, in seconds."""
MAX_LOOK_AHEAD_SLOTS = 720
"""Number of slots that are searched for a node's next slot: one hour."""
MAX_BUILD_WINDOWS = 6
"""Number of windows before Durango; after them any node may propose, unsigned."""

_REMEMBERED_SETS = 64
_REMEMBERED_DRAWS = 4096


class _Lottery(NamedTuple):
    """The validators in the order used for drawing."""

    node_ids: tuple[NodeID, ...]
    heap: WeightedHeap


def slot_of(time: int, parent_time: int) -> int:
    """Return the slot of a time (Unix seconds); times before the parent's count as the parent's."""
    return max(time - parent_time, 0) // WINDOW_DURATION


def proposer_at(
    chain_id: ID, height: int, slot: int, validators: Mapping[NodeID, int]
) -> NodeID | None:
    """Return the owner of a slot, the only node that may propose in it; None: any node, unsigned.

    Args:
        chain_id: ID of the chain.
        height: Height of the new block.
        slot: `slot_of` its time.
        validators: Weights at the *parent's* P-Chain height.

    Raises:
        Overflow: The weights' sum has more than 64 bits.
    """
    return _owner(_lottery(frozenset(validators.items())), _source(chain_id) ^ height, slot)


def next_slot(
    chain_id: ID, height: int, node_id: NodeID, validators: Mapping[NodeID, int], *, first: int
) -> int | None:
    """Return the first slot, from `first` on, in which a node may propose a block.

    None: it owns no slot within the hour. If slots have no owners, any node may use the first one.

    Raises:
        Overflow: The weights' sum has more than 64 bits.
    """
    lottery = _lottery(frozenset(validators.items()))
    if lottery.heap.total and not validators.get(node_id):
        return None
    source = _source(chain_id) ^ height
    for slot in range(first, first + MAX_LOOK_AHEAD_SLOTS):
        if _owner(lottery, source, slot) in {node_id, None}:
            return slot
    return None


def window_owners(
    chain_id: ID, height: int, validators: Mapping[NodeID, int], windows: int = MAX_BUILD_WINDOWS
) -> tuple[NodeID, ...]:
    """Return the proposers of the windows before Durango; a node may be listed several times.

    Raises:
        Overflow: The weights' sum has more than 64 bits.
    """
    node_ids, heap = _lottery(frozenset(validators.items()))
    generator = words_of_64(_source(chain_id) ^ height)
    drawn = draw_without_replacement(generator, heap.total, min(windows, heap.total))
    return tuple(node_ids[heap.find(number)] for number in drawn)


def minimum_delay(owners: tuple[NodeID, ...], proposer: NodeID | None) -> int:
    """Return the seconds after the parent's time that a proposer must wait before Durango."""
    if proposer is None:
        return MAX_BUILD_WINDOWS * WINDOW_DURATION
    places = owners.index(proposer) if proposer in owners else len(owners)
    return places * WINDOW_DURATION


def _owner(lottery: _Lottery, source: int, slot: int) -> NodeID | None:
    total = lottery.heap.total
    if not total:
        return None
    if len(lottery.node_ids) == 1:
        return lottery.node_ids[0]
    return lottery.node_ids[lottery.heap.find(_drawn(source ^ _reversed(slot), total))]


@lru_cache(maxsize=_REMEMBERED_SETS)
def _lottery(validators: frozenset[tuple[NodeID, int]]) -> _Lottery:
    """Return validators sorted by node ID, without those of inactive L1s, which have no node ID."""
    ordered = sorted(pair for pair in validators if pair[0] != EMPTY_NODE_ID)
    return _Lottery(
        tuple(node_id for node_id, _ in ordered), WeightedHeap([weight for _, weight in ordered])
    )


@lru_cache(maxsize=_REMEMBERED_DRAWS)
def _drawn(seed: int, total: int) -> int:
    return draw(words(MT19937_64, seed), total - 1)


def _source(chain_id: ID) -> int:
    return int.from_bytes(chain_id[:8], "big")


def _reversed(slot: int) -> int:
    """Return the 64 bits of a slot in reverse, so that seeds of neighbouring slots differ widely."""
    return int(f"{slot:064b}"[::-1], 2)
