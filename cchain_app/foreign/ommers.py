"""Rules for the uncles of proof-of-work blocks. Pure.

Yellow paper 11.1. Unspecified: only the position of an uncle's header is verified, not its seal, difficulty or fees.
"""

from collections.abc import Sequence
from typing import Final

from cchain_app.blocks import errors
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.body import EMPTY_LIST, encode_ommers
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.verification import compare
from cchain_app.config import at_least
from cchain_app.foreign.errors import ForeignBlockReason, InvalidForeignBlock
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data

MAX_UNCLES: Final = 2

MAX_OMMER_DEPTH: Final = 7
"""Number of relevant ancestors: an uncle's parent is at most the seventh ancestor, so an uncle is at most six blocks old."""


def verify_ommers(candidate: CandidateBlock, ancestors: Sequence[AcceptedBlock], fork: str) -> None:
    """Verify a block's uncles against its header and its last ancestors.

    Args:
        candidate: The block.
        ancestors: The last `MAX_OMMER_DEPTH` blocks before it, or all if there are fewer; the parent is the last one.
        fork: The block's rule set.

    Raises:
        WrongUnclesHash: The header has another hash, or there are uncles after the Merge.
        InvalidForeignBlock: An uncle is not allowed in this block.
    """
    want = keccak256(encode_ommers(candidate.ommers))
    if candidate.ommers and at_least(fork, "paris"):
        raise errors.WrongUnclesHash(want, keccak256(EMPTY_LIST))
    compare([(errors.WrongUnclesHash, candidate.header.ommers_hash, want)])
    if len(candidate.ommers) > MAX_UNCLES:
        raise InvalidForeignBlock(
            ForeignBlockReason.TOO_MANY_UNCLES, have=len(candidate.ommers), limit=MAX_UNCLES
        )
    if candidate.ommers:
        _verify_places(candidate, ancestors)


def _verify_places(candidate: CandidateBlock, ancestors: Sequence[AcceptedBlock]) -> None:
    by_hash = {ancestor.hash: ancestor for ancestor in ancestors}
    parent = ancestors[-1]
    taken: set[Hash] = set(by_hash)
    for ancestor in ancestors:
        taken.update(ommer.hash for ommer in ancestor.ommers)
    for ommer in candidate.ommers:
        uncle = ommer.hash
        if uncle in taken:
            raise InvalidForeignBlock(ForeignBlockReason.UNCLE_INCLUDED, uncle=encode_data(uncle))
        taken.add(uncle)
        of = by_hash.get(ommer.parent_hash)
        if of is None or of is parent:
            raise InvalidForeignBlock(
                ForeignBlockReason.UNCLE_NOT_RECENT,
                uncle=encode_data(uncle),
                parent=encode_data(ommer.parent_hash),
            )
        compare([(errors.WrongNumber, ommer.number, of.number + 1)])
