"""Proof-of-work rewards of a range of blocks. `blocks.rewards_in` has those of one block."""

from collections.abc import Iterator, Set
from typing import Final, NamedTuple

from cchain_app.blocks.accepted import decode_ommers
from cchain_app.chain import EvmChain
from cchain_app.foreign.credits import Reward, rewards_of
from cchain_app.selectors import blocks
from cchain_app.tracing.output import Deadline
from primitives import rlp
from primitives.evm import Address, Hash

HEIGHTS_AT_ONCE: Final = 2_000
"""Blocks that are searched between two checks of the deadline."""

_ROWS: Final = """
SELECT number, hash, header, ommers FROM cchain_app_block
WHERE number >= %s AND number < %s {condition} ORDER BY number
"""
_MINED_BY: Final = "AND (miner IN ({marks}) OR ommers IS NOT NULL)"


class PaidReward(NamedTuple):
    """A reward, and its block."""

    number: int
    block: Hash
    reward: Reward


def rewards_between(
    chain: EvmChain, heights: range, authors: Set[Address] | None, deadline: Deadline
) -> Iterator[PaidReward]:
    """Yield the proof-of-work rewards of blocks, in the order of the chain; blocks since the Merge have none.

    Args:
        chain: The chain.
        heights: The heights of the blocks, none above the head.
        authors: The recipients to search for; None for any.
        deadline: When to stop.

    Raises:
        TraceTimedOut: The deadline has passed.
    """
    if not heights or (authors is not None and not authors):
        return
    first = blocks.by_number(chain, max(heights.start, 1))
    if first is None or not blocks.rewards_in(chain, first):
        return
    known = sorted(authors or ())
    condition = _MINED_BY.format(marks=", ".join(["%s"] * len(known))) if known else ""
    statement = _ROWS.format(condition=condition)
    for start in range(first.number, heights.stop, HEIGHTS_AT_ONCE):
        deadline.left()
        stop = min(start + HEIGHTS_AT_ONCE, heights.stop)
        for number, block_hash, header, ommers in chain.db.rows(statement, [start, stop, *known]):
            found = _rewards(chain, bytes(header), ommers)
            if not found:
                return
            for reward in found:
                if authors is None or reward.author in authors:
                    yield PaidReward(number, Hash(bytes(block_hash)), reward)


def _rewards(chain: EvmChain, encoded: bytes, ommers: bytes | None) -> list[Reward]:
    header = chain.format.decode_header(encoded)
    if not header.difficulty:
        return []
    fork = chain.config.fork_at(header.number, header.timestamp, header.difficulty)
    uncles = () if ommers is None else decode_ommers(rlp.read_only_item(bytes(ommers)))
    return rewards_of(header, uncles, fork)
