"""Compare a candidate's header with the values that its parent, the rules and its execution require. Pure.

The same rules build and check blocks: the required values come from `rules.port.ChainRules`, as for a
block of this node. This module compares field by field, so that a refusal names the
field. Unspecified: geth lets a producer choose the gas limit near the parent's, and the coinbase;
here both follow from the genesis, and any other value is refused.
"""

from collections.abc import Iterable

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused, unknown_parent, wrong_field
from cchain_app.blocks.header import EMPTY_OMMERS_HASH, Header
from cchain_app.config import at_least
from cchain_app.evm.engine import BlockEnv
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT

MAX_FUTURE_BLOCK_TIME = 10
"""Seconds by which a block may be ahead of this node's clock (p2p.md 11.2)."""

MAXIMUM_EXTRA_DATA_SIZE = 32
"""Bytes."""

EMPTY_NONCE = bytes(8)
"""The nonce of every block since proof of work ended."""

Rule = tuple[BlockReason, int | bytes | None, int | bytes | None]
"""The reason to refuse the block if the next two values differ: the header's value and the required one."""


def verify_place(header: Header, parent: AcceptedBlock, *, now: int) -> None:
    """Check that a block follows another one, also in time.

    Args:
        header: The candidate's.
        parent: The block that it should follow.
        now: This node's time in Unix seconds.

    Raises:
        UnknownParent: It follows another block.
        BlockRefused: Its height is not the parent's plus one, it is older than its parent, or it is more than ten
            seconds ahead of `now`.
    """
    if header.parent_hash != parent.hash:
        raise unknown_parent(header, parent.hash)
    compare([(BlockReason.WRONG_NUMBER, header.number, parent.number + 1)])
    if header.timestamp < parent.header.timestamp:
        raise BlockRefused(
            BlockReason.BLOCK_BEFORE_PARENT, time=header.timestamp, parent=parent.header.timestamp
        )
    if header.timestamp > now + MAX_FUTURE_BLOCK_TIME:
        raise BlockRefused(
            BlockReason.BLOCK_IN_FUTURE, time=header.timestamp, latest=now + MAX_FUTURE_BLOCK_TIME
        )


def verify_extra_data(header: Header) -> None:
    """Check the length of a header's extra data.

    Raises:
        BlockRefused: It has more than 32 bytes.
    """
    if len(header.extra_data) > MAXIMUM_EXTRA_DATA_SIZE:
        raise BlockRefused(
            BlockReason.EXTRA_DATA_TOO_LONG,
            size=len(header.extra_data),
            most=MAXIMUM_EXTRA_DATA_SIZE,
        )


def verify_environment(header: Header, env: BlockEnv, *, has_withdrawals: bool = False) -> None:
    """Check the fields that are known before a block is executed.

    Args:
        header: The candidate's.
        env: The environment of the block after its parent, computed as for a block of this node.
        has_withdrawals: Whether the block may have withdrawals, whose root is compared later.

    Raises:
        BlockRefused: The reason names the first field that differs.
    """
    no_withdrawals = EMPTY_ROOT if at_least(env.fork, "shanghai") else None
    root = no_withdrawals if has_withdrawals else header.withdrawals_root
    compare(
        [
            (BlockReason.WRONG_GAS_LIMIT, header.gas_limit, env.gas_limit),
            (BlockReason.WRONG_BASE_FEE, header.base_fee, env.base_fee),
            (BlockReason.WRONG_COINBASE, header.coinbase, env.coinbase),
            (BlockReason.WRONG_DIFFICULTY, header.difficulty, env.difficulty),
            (BlockReason.WRONG_MIX_HASH, header.mix_hash, env.prev_randao),
            (BlockReason.WRONG_NONCE, header.nonce, EMPTY_NONCE),
            (BlockReason.WRONG_UNCLES_HASH, header.ommers_hash, EMPTY_OMMERS_HASH),
            (BlockReason.WRONG_WITHDRAWALS_ROOT, root, no_withdrawals),
            (BlockReason.WRONG_EXCESS_BLOB_GAS, header.excess_blob_gas, env.excess_blob_gas),
            (
                BlockReason.WRONG_BEACON_ROOT,
                header.parent_beacon_block_root,
                env.parent_beacon_block_root,
            ),
        ]
    )


def verify_body(header: Header, transactions_root: Hash) -> None:
    """Check that a header has the root of its transactions, which is given.

    Raises:
        BlockRefused: It does not.
    """
    compare([(BlockReason.WRONG_TRANSACTIONS_ROOT, header.transactions_root, transactions_root)])


def verify_outcome(candidate: CandidateBlock, made: AcceptedBlock) -> None:
    """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

    Raises:
        BlockRefused: The reason names the first field that differs.
    """
    if candidate.hash == made.hash:
        return
    have, want = candidate.header, made.header
    root = BlockReason.WRONG_WITHDRAWALS_ROOT, have.withdrawals_root, want.withdrawals_root
    compare(
        [
            root,
            (BlockReason.WRONG_GAS_USED, have.gas_used, want.gas_used),
            (BlockReason.WRONG_BLOB_GAS_USED, have.blob_gas_used, want.blob_gas_used),
            (BlockReason.WRONG_STATE_ROOT, have.state_root, want.state_root),
            (BlockReason.WRONG_RECEIPTS_ROOT, have.receipts_root, want.receipts_root),
            (BlockReason.WRONG_BLOOM, have.logs_bloom, want.logs_bloom),
            (BlockReason.WRONG_REQUESTS_HASH, have.requests_hash, want.requests_hash),
            (BlockReason.WRONG_HASH, candidate.hash, made.hash),
        ]
    )


def compare(rules: Iterable[Rule]) -> None:
    """Raise `BlockRefused` with the reason of the first rule whose two values differ."""
    for reason, have, want in rules:
        if have != want:
            raise wrong_field(reason, have, want)
