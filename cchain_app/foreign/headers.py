"""The rules for a header, its parent and its uncles on Ethereum. Pure.

Unlike `blocks.verification`, which has the rules of this node's own blocks, this module accepts all values that
a miner or proposer may choose: coinbase, gas limit within its bounds, extra data, time, difficulty, PREVRANDAO,
beacon root. Unspecified: seals and difficulty are not verified. A block may have the same time as its parent, as on
Avalanche's chains; Ethereum requires a later time.

Uncles: Yellow paper 11.1. Unspecified: only the position of an uncle's header is verified, not its seal, difficulty or
fees.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from cchain_app.blocks.accepted import EMPTY_LIST, AcceptedBlock, encode_ommers
from cchain_app.blocks.assembly import excess_after
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, wrong_field
from cchain_app.blocks.verification import (
    EMPTY_NONCE,
    compare,
    verify_extra_data,
    verify_place,
)
from cchain_app.config import at_least
from cchain_app.feemarket import (
    ELASTICITY_MULTIPLIER,
    GAS_LIMIT_BOUND_DIVISOR,
    MIN_GAS_LIMIT,
)
from cchain_app.rules.port import ChainRules
from chainvm.errors import InvalidBlock
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data
from primitives.reasons import ErrorWithReason


class ForeignBlockReason(StrEnum):
    """Why an imported block is invalid by a rule that only foreign chains have."""

    # too far from the parent's, or below the minimum
    GAS_LIMIT = "invalid gasLimit: have {have}, want {lowest} to {highest}"
    GAS_USED = "invalid gasUsed: have {have}, want at most the gasLimit {limit}"
    # EIP-7934
    SIZE = "block RLP-encoded size exceeds maximum: have {have}, want at most {limit}"
    TOO_MANY_BLOBS = "too many blobs: have {have}, want at most {limit}"
    # of a format that a later fork introduced
    TRANSACTION_TOO_EARLY = "transaction {index}: {form} before {fork}"
    TOO_MANY_UNCLES = "too many uncles: have {have}, want at most {limit}"
    # included by the block or by an ancestor
    UNCLE_INCLUDED = "uncle {uncle} is an ancestor or was included already"
    # its parent is not a recent ancestor, or it is the block's own parent
    UNCLE_NOT_RECENT = (
        "uncle {uncle}: its parent {parent} is not an ancestor of the block within the limit"
    )


class InvalidForeignBlock(ErrorWithReason, InvalidBlock):
    """An imported block that breaks a rule of its chain."""


HIGHEST_GAS_LIMIT: Final = 2**63 - 1


def verify_header(candidate: CandidateBlock, parent: AcceptedBlock, rules: ChainRules) -> None:
    """Verify a block's header against its parent and the fork that follows from its number, time and difficulty.

    The fields that depend on the body and its execution are verified elsewhere.

    Raises:
        InvalidBlock: By a subclass.
    """
    header = candidate.header
    verify_place(header, parent, now=header.timestamp)
    verify_extra_data(header)
    fork = rules.config.fork_at(header.number, header.timestamp, header.difficulty)
    _verify_gas(candidate, parent, rules, fork)
    _verify_fees(candidate, parent, rules, fork)
    _verify_beacon_root(candidate, fork)
    if at_least(fork, "paris"):
        compare(
            [
                (BlockReason.WRONG_DIFFICULTY, header.difficulty, 0),
                (BlockReason.WRONG_NONCE, header.nonce, EMPTY_NONCE),
            ]
        )


def _verify_gas(
    candidate: CandidateBlock, parent: AcceptedBlock, rules: ChainRules, fork: str
) -> None:
    header, before = candidate.header, parent.header.gas_limit
    if at_least(fork, "london") and parent.header.base_fee is None:
        before *= ELASTICITY_MULTIPLIER
    step = before // GAS_LIMIT_BOUND_DIVISOR - 1
    lowest, highest = max(before - step, MIN_GAS_LIMIT), min(before + step, HIGHEST_GAS_LIMIT)
    if not lowest <= header.gas_limit <= highest:
        raise InvalidForeignBlock(
            ForeignBlockReason.GAS_LIMIT, have=header.gas_limit, lowest=lowest, highest=highest
        )
    if header.gas_used > rules.config.limits.in_block(header.gas_limit):
        raise InvalidForeignBlock(
            ForeignBlockReason.GAS_USED, have=header.gas_used, limit=header.gas_limit
        )


def _verify_fees(
    candidate: CandidateBlock, parent: AcceptedBlock, rules: ChainRules, fork: str
) -> None:
    header, excess = candidate.header, None
    blobs = rules.config.blob_params_at(header.number, header.timestamp)
    if blobs is not None:
        excess = excess_after(parent.header, blobs, fork)
    base_fee = rules.base_fee_after(parent, header.timestamp)
    compare(
        [
            (BlockReason.WRONG_BASE_FEE, header.base_fee, base_fee),
            (BlockReason.WRONG_EXCESS_BLOB_GAS, header.excess_blob_gas, excess),
        ]
    )


def _verify_beacon_root(candidate: CandidateBlock, fork: str) -> None:
    """Check that there is a beacon root since Cancun; its value cannot be verified here."""
    have = candidate.header.parent_beacon_block_root
    want = (have or ZERO_HASH) if at_least(fork, "cancun") else None
    compare([(BlockReason.WRONG_BEACON_ROOT, have, want)])


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
        BlockRefused: The header has another hash, or there are uncles after the Merge.
        InvalidForeignBlock: An uncle is not allowed in this block.
    """
    want = keccak256(encode_ommers(candidate.ommers))
    if candidate.ommers and at_least(fork, "paris"):
        raise wrong_field(BlockReason.WRONG_UNCLES_HASH, want, keccak256(EMPTY_LIST))
    compare([(BlockReason.WRONG_UNCLES_HASH, candidate.header.ommers_hash, want)])
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
        compare([(BlockReason.WRONG_NUMBER, ommer.number, of.number + 1)])
